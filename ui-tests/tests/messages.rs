//! What the attributes and the types of launches say of mistakes: each case is compiled and its messages compared.

#[test]
fn every_mistake_is_reported_where_it_stands_with_its_remedy() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
    // Launches, whose types rustc checks.
    cases.compile_fail("tests/ui_rows/*.rs");
}
