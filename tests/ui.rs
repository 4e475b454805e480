//! What the attributes say of mistakes: each file in `tests/ui` is compiled and its messages compared.

#[test]
fn every_mistake_is_reported_where_it_stands_with_its_remedy() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
