//! Declarations for several types, as a downstream crate writes and calls them.

use super::consumer::{Consumer, Toolkit};

/// Each form of declaration, with lints that generated code must keep, and `CALLS` in its `main`.
const PROGRAM: &str = r#"
    //! Warns of everything.
    #![forbid(unsafe_code, unused, missing_docs, unreachable_pub, nonstandard_style, rust_2018_idioms)]

    use autokernel::{Device, Matrix, Row, bf16, f16};

    #[autokernel::function]
    fn halved(x: f32) -> f32 {
        0.5 * x
    }

    /// Another type out, a type that stays, and a function of the crate's own.
    #[autokernel::rows(T = [bf16, f32], O = [f16, f32])]
    fn scale<T, O>(x: &Matrix<T>, weight: &Row<f32>, by: f32, out: &mut Matrix<O>) {
        out = halved(x) * weight * by;
    }

    mod inner {
        //! Other visibilities.
        use autokernel::{Matrix, bf16, f16};

        #[autokernel::fused_matmul(T = [bf16, f16])]
        pub(crate) fn linear<T>(x: &Matrix<T>, w: &Matrix<T>, out: &mut Matrix<T>) {
            out = relu(dot(x, w.t()));
        }

        #[autokernel::fused_matmul(relu, Element = [bf16, f16], Out = [f32], transpose_b)]
        pub(super) fn plain<Element, Out>(x: &Matrix<Element>, w: &Matrix<Element>, out: &mut Matrix<Out>);
    }

    /// What fills in types and values of a declaration, whose attribute stands where it is called.
    macro_rules! filled_in {
        ($(#[$attribute:meta])* fn $name:ident($x:ident: &Matrix<$type:ty>, $out:ident: $written:ty) {
            $output:ident = $value:expr;
        }) => {
            $(#[$attribute])*
            fn $name($x: &Matrix<$type>, $out: $written) { $output = $value; }
        };
    }
    filled_in! {
        #[autokernel::rows]
        fn filled(x: &Matrix<f32>, out: &mut Matrix<f32>) { out = x + 1.0; }
    }

    fn main() -> autokernel::Result<()> {
        let device = Device::cpu();
        CALLS
        Ok(())
    }
"#;

#[test]
fn a_declaration_for_several_types_is_called_with_any_of_them() {
    let Some(toolkit) = Toolkit::none("a_declaration_for_several_types") else { return };
    let calls = r#"
        let weight = Row::from_slice(&device, &[2.0, -4.0])?;
        let wide = Matrix::from_slice(&device, &[1.0f32, 3.0], 1, 2)?;
        let mut narrow = Matrix::<f16>::zeros(&device, 1, 2)?;
        scale(&wide, &weight, 1.0, &mut narrow)?;
        let short = Matrix::from_slice(&device, &[1.0, 3.0].map(bf16::from_f32), 1, 2)?;
        let mut out = Matrix::<f32>::zeros(&device, 1, 2)?;
        scale::launch(short.view(), weight.view(), 2.0, out.view_mut())?;
        println!("{:?} {:?}", narrow.to_vec()?, out.to_vec()?);
        let mut more = Matrix::<f32>::zeros(&device, 1, 2)?;
        filled(&wide, &mut more)?;
        println!("{:?}", more.to_vec()?);

        let x = Matrix::from_slice(&device, &[1.0, -2.0].map(f16::from_f32), 1, 2)?;
        let mut sum = Matrix::<f16>::zeros(&device, 1, 1)?;
        inner::linear(&x, &x, &mut sum)?;
        let mut plain = Matrix::<f32>::zeros(&device, 1, 1)?;
        inner::plain(&x, &x, &mut plain)?;
        println!("{:?} {:?} {}", sum.to_vec()?, plain.to_vec()?, inner::plain::epilogue(-1.0));

        inner::linear::kernel::<bf16>().prepare(&device, &autokernel::matmul::extents(1, 1, 1))?;
        let names = [
            &scale::kernel::<f32, f16>().descriptor()?.name,
            &inner::linear::kernel::<bf16>().descriptor()?.name,
            &inner::plain::kernel::<f16, f32>().descriptor()?.name,
        ];
        println!("{names:?}");
    "#;
    let printed = Consumer::new("typed", &PROGRAM.replace("CALLS", calls)).run(&toolkit);
    let names = r#"["scale<f32, f16>", "linear<bf16>", "plain<f16, f32>"]"#;
    assert_eq!(printed, format!("[1.0, -6.0] [2.0, -12.0]\n[2.0, 4.0]\n[5.0] [5.0] 0\n{names}\n"));
}

#[test]
fn a_type_that_is_not_listed_is_an_error_of_rustc_that_names_those_that_are() {
    let Some(toolkit) = Toolkit::none("a_type_that_is_not_listed") else { return };
    let calls = r#"
        let x = Matrix::<f32>::zeros(&device, 1, 2)?;
        let mut out = Matrix::<bf16>::zeros(&device, 1, 2)?;
        let _ = inner::linear(&x, &x, &mut Matrix::zeros(&device, 1, 1)?);
        scale(&x, &Row::zeros(&device, 2)?, 1.0, &mut out)?;
    "#;
    let message = Consumer::new("not-listed", &PROGRAM.replace("CALLS", calls)).refused(&toolkit);
    for part in [
        "`linear` is not compiled for `f32`",
        "there are kernels for `T` = bf16, f16",
        "`scale` is not compiled for `f32`, `autokernel::bf16`",
        "there are kernels for `T` = bf16, f32 and `O` = f16, f32",
        "add the type to the list above the function, or convert the operand",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
}
