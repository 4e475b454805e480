//! What a crate is told of kernels that it does not use, and of those and of functions that stand where none can.

use super::consumer::{Consumer, Toolkit};

/// Every form of a declaration, and `CALLS` in its `main`.
const PROGRAM: &str = r#"
    #![deny(dead_code)]
    use autokernel::{Matrix, bf16, f16};

    #[autokernel::fused_matmul(relu)]
    fn product(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

    #[autokernel::rows]
    fn shifted(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
        out = x - row_max(x);
    }

    #[autokernel::rows(T = [bf16, f16])]
    fn doubled<T>(x: &Matrix<T>, out: &mut Matrix<T>) {
        out = 2.0 * x;
    }

    #[allow(dead_code)]
    #[autokernel::rows]
    fn allowed(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
        out = -x;
    }

    mod inner {
        #[autokernel::matmul]
        pub(crate) fn product(
            a: &autokernel::Matrix<autokernel::bf16>, b: &autokernel::Matrix<autokernel::bf16>,
            out: &mut autokernel::Matrix<f32>,
        );
    }

    fn main() {
        CALLS
    }
"#;

#[test]
fn kernels_that_nobody_uses_are_dead_code_under_their_own_names() {
    let Some(toolkit) = Toolkit::none("kernels_that_nobody_uses_are_dead_code") else { return };
    let message = Consumer::new("dead-code", &PROGRAM.replace("CALLS", "")).refused(&toolkit);
    for name in ["product", "shifted", "doubled"] {
        assert!(message.contains(&format!("function `{name}` is never used")), "{name}: {message}");
    }
    assert_eq!(message.matches("is never used").count(), 4, "each once, and nothing else: {message}");
}

#[test]
fn kernels_of_which_the_module_alone_is_used_are_no_dead_code() {
    let Some(toolkit) = Toolkit::none("kernels_of_which_the_module_alone_is_used") else { return };
    let calls = r#"
        let names = [product::KERNEL.descriptor(), shifted::KERNEL.descriptor(), doubled::kernel::<f16>().descriptor()];
        let names = names.map(|descriptor| descriptor.unwrap().name.clone());
        println!("{names:?} {:?}", inner::product::KERNEL.descriptor().unwrap().name);
    "#;
    let printed = Consumer::new("live-code", &PROGRAM.replace("CALLS", calls)).run(&toolkit);
    assert_eq!(printed, "[\"product\", \"shifted\", \"doubled<f16>\"] \"product\"\n");
}

#[test]
fn a_kernel_where_no_module_can_stand_is_an_error_at_its_name_that_says_where_it_can() {
    let Some(toolkit) = Toolkit::none("a_kernel_where_no_module_can_stand") else { return };
    let parameters = "(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>)";
    let program = format!(
        "use autokernel::{{Matrix, bf16}};
        struct Layer;
        impl Layer {{
            #[autokernel::matmul] fn method{parameters};
            #[autokernel::rows] pub fn with_a_body(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {{ out = x; }}
            pub fn run() {{ #[autokernel::matmul(n = 8)] fn within{parameters}; let _ = &within::KERNEL; }}
        }}
        pub trait Run {{
            #[autokernel::matmul(k = 8)] fn provided{parameters};
        }}
        fn main() {{}}"
    );
    let message = Consumer::new("misplaced", &program).refused(&toolkit);
    let said = "a kernel comes with a module of its own, which ";
    assert_eq!(message.matches(&format!("{said}an `impl` block cannot hold")).count(), 2, "{message}");
    assert_eq!(message.matches(&format!("{said}a trait cannot hold")).count(), 1, "{message}");
    assert_eq!(message.matches("error: ").count(), 4, "those three and cargo's: {message}");
}

#[test]
fn a_function_that_stands_in_no_module_is_an_error_at_its_name_that_says_where_it_can() {
    let Some(toolkit) = Toolkit::none("a_function_that_stands_in_no_module") else { return };
    let program = "use autokernel::Matrix;
        struct Layer;
        impl Layer {
            #[autokernel::function] fn associated(x: f32) -> f32 { x + 1.0 }
        }
        mod other {
            #[autokernel::function] pub fn twice(x: f32) -> f32 { x + x }
            #[autokernel::function] pub fn four_times(x: f32) -> f32 { twice(twice(x)) }
        }
        fn main() {
            use other::four_times;
            #[autokernel::function] fn local(x: f32) -> f32 { -x }
            #[autokernel::rows] fn kernel(x: &Matrix<f32>, out: &mut Matrix<f32>) { out = local(x); }
            let _ = (local(1.0), four_times(1.0), Layer::associated(1.0));
        }";
    let message = Consumer::new("misplaced-function", program).refused(&toolkit);
    let said = "kernels import what they call from modules: move it out";
    assert_eq!(message.matches(&format!("`associated` stands in an `impl` block, and {said}")).count(), 1, "{message}");
    let of_local = format!("`local` stands in a function, and {said}");
    assert_eq!(message.matches(&of_local).count(), 2, "where it stands and where it is called: {message}");
    assert_eq!(message.matches("error: ").count(), 4, "those three and cargo's: {message}");
}
