use expect_test::expect;

use super::*;
use crate::rows::problem;

/// The generated function, a statement a line.
fn twin(source: &str) -> String {
    let function: syn::ItemFn = syn::parse_str(source).unwrap();
    let tokens = rust_function(&function.block, problem(&function).unwrap().body(), &[]).unwrap();
    let function: syn::ItemFn = syn::parse2(tokens).expect("what is generated is a function");
    let signature = &function.sig;
    let statements = function.block.stmts.iter().map(|statement| format!("    {}\n", quote!(#statement)));
    format!("{}\n{}", quote!(#signature), statements.collect::<String>())
}

#[test]
fn each_reduction_is_a_loop_and_each_statement_another() {
    let source = "fn softmax(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
        let e = (x - row_max(x)).exp();
        out = e / row_sum(e);
    }";
    expect![[r#"
        fn row (_number_of_the_row : :: autokernel :: __private :: Place , x : & [f32] , out_written : & mut [f32])
            let columns = x . len () ;
            let reduction_0_of_the_row = :: autokernel :: __private :: row_max ((0 .. columns) . map (| column | { let x = x [column] ; x })) ;
            let e : :: std :: vec :: Vec < f32 > = (0 .. columns) . map (| column | { let x = x [column] ; (x - reduction_0_of_the_row) . exp () }) . collect () ;
            let reduction_1_of_the_row = :: autokernel :: __private :: row_sum ((0 .. columns) . map (| column | { let e = e [column] ; e })) ;
            for column in 0 .. columns { let e = e [column] ; out_written [column] = e / reduction_1_of_the_row ; }
    "#]]
    .assert_eq(&twin(source));
}

#[test]
fn what_is_one_number_a_row_is_computed_once() {
    let source = "fn f(x: &Matrix<f32>, scale: &Column<f32>, eps: f32, out: &mut Column<f32>) {
        const TWO: f32 = 2.0;
        let shift = scale * TWO + eps;
        out = row_sum(x * row_max(x + shift)) - erf(shift);
    }";
    expect![[r#"
        fn row (_number_of_the_row : :: autokernel :: __private :: Place , x : & [f32] , scale : f32 , eps : f32 , out_written : & mut f32)
            use :: autokernel :: __private :: erf ;
            let columns = x . len () ;
            const TWO : f32 = 2.0f32 ;
            let shift : f32 = scale * TWO + eps ;
            let reduction_0_of_the_row = :: autokernel :: __private :: row_max ((0 .. columns) . map (| column | { let x = x [column] ; x + shift })) ;
            let reduction_1_of_the_row = :: autokernel :: __private :: row_sum ((0 .. columns) . map (| column | { let x = x [column] ; x * reduction_0_of_the_row })) ;
            * out_written = reduction_1_of_the_row - erf (shift) ;
    "#]]
    .assert_eq(&twin(source));
}

#[test]
fn a_name_that_a_block_hides_is_no_element_of_the_row() {
    let source = "fn f(x: &Matrix<f32>, s: f32, out: &mut Matrix<f32>) {
        let y = { let x = s; x * 2.0 };
        let x = if x > y { x } else { y };
        out = x;
    }";
    let twin = twin(source);
    assert!(twin.contains("let y : f32 = { let x = s ; x * 2.0f32 } ;"), "{twin}");
    assert!(twin.contains("let x : :: std :: vec :: Vec < f32 >"), "{twin}");
}

#[test]
fn an_output_may_have_a_name_that_the_function_on_a_row_gives_to_something_else() {
    let source = "fn f(columns: &mut Matrix<f32>, column: &mut Column<f32>, x: &Matrix<f32>) {
        columns = x;
        column = row_sum(x);
    }";
    let twin = twin(source);
    assert!(twin.contains("columns_written : & mut [f32] , column_written : & mut f32"), "{twin}");
    assert!(
        twin.contains("columns_written [column] = x") && twin.contains("* column_written = reduction_0_of_the_row"),
        "{twin}"
    );
}

#[test]
fn an_operand_may_have_any_name_a_reduction_has_another() {
    let twin = twin("fn f(reduced0: &Matrix<f32>, out: &mut Matrix<f32>) { out = reduced0 - row_max(reduced0); }");
    let expected = "{ let reduced0 = reduced0 [column] ; out_written [column] = reduced0 - reduction_0_of_the_row ; }";
    assert!(twin.contains(expected), "{twin}");
}

#[test]
fn an_element_knows_its_row_and_its_column() {
    let source = "fn f(x: &Matrix<f32>, out: &mut Matrix<f32>) {
        let behind = row_index() - column_index();
        out = if behind < 0.0 { 0.0 } else { x };
    }";
    expect![[r#"
        fn row (_number_of_the_row : :: autokernel :: __private :: Place , x : & [f32] , out_written : & mut [f32])
            let columns = x . len () ;
            let index_of_the_row = _number_of_the_row . row as f32 ;
            let indices_of_the_columns : :: std :: vec :: Vec < f32 > = (0 .. columns) . map (| column | column as f32) . collect () ;
            let behind : :: std :: vec :: Vec < f32 > = (0 .. columns) . map (| column | { let indices_of_the_columns = indices_of_the_columns [column] ; index_of_the_row - indices_of_the_columns }) . collect () ;
            for column in 0 .. columns { let behind = behind [column] ; let x = x [column] ; out_written [column] = if behind < 0.0f32 { 0.0f32 } else { x } ; }
    "#]].assert_eq(&twin(source));
}
