use autokernel_core::Arch;
use expect_test::{ExpectFile, expect_file};

use super::*;
use crate::matmul::emit;
use crate::matmul::schedule::Schedule;
use crate::rows::cases::{bind, name, reads, store, writes};
use crate::rows::emit::kernel;
use crate::rows::{self, Sm80Schedule};

/// `let z = dot(x, w.t()) + bias; h = gelu_tanh(z) + skip;`, as the parser puts the epilogue in.
fn problem() -> Problem {
    let epilogue = "gelu_tanh".parse::<Epilogue>().unwrap();
    let function = epilogue.function();
    let mut steps = vec![bind("z", name("dot") + name("bias")), bind(&function.parameter, name("z"))];
    steps.extend(function.bindings.iter().map(|binding| bind(&binding.name, binding.value.clone())));
    steps.push(store("h", function.result.clone() + name("skip")));
    let operands = vec![
        reads("x_", Kind::Matrix, Dtype::Bf16),
        reads("w", Kind::Matrix, Dtype::Bf16),
        reads("bias", Kind::Row, Dtype::Bf16),
        reads("skip", Kind::Matrix, Dtype::Bf16),
        writes("h", Kind::Matrix, Dtype::Bf16),
    ];
    let [x, w, dot] = ["x_", "w", "dot"].map(str::to_owned);
    let product = Product::plain(dot, x, w);
    let written = Written { product, second: None, body: Body { operands, steps, ..Body::default() } };
    of(written, Layout::Nt)
}

fn of(written: Written, layout: Layout) -> Problem {
    let body = body::Body::new(written).unwrap();
    Problem { body: Some(body.into()), ..Problem::new(Dtype::Bf16, layout, "identity".parse().unwrap()) }
}

fn kernels() -> Vec<Kernel> {
    let problem = problem();
    gradient(&problem, problem.body.as_deref().unwrap(), None).unwrap()
}

#[test]
fn kernels_of_gradients_of_a_product_are_as_golden() {
    let compare = |purpose: &str, expected: ExpectFile| {
        let kernels = kernels();
        let found = kernels.iter().find(|kernel| kernel.purpose.name() == purpose).unwrap();
        expected.assert_eq(&match &found.computes {
            Computes::Rows(body) => {
                let problem = rows::Problem::new(body.clone()).unwrap();
                kernel(&problem, &Sm80Schedule::default_for(&problem.class(), Arch::SM_80)).0.cuda
            }
            Computes::Product(chained) => {
                let problem = of(chained.written.clone(), chained.layout);
                emit::emit(&problem, &Schedule::default_for(&problem.class(), Arch::SM_90A)).cuda
            }
        });
    };
    compare("forward", expect_file!["golden/product_forward.cu"]);
    compare("backward", expect_file!["golden/product_backward.cu"]);
    compare("backward_fused", expect_file!["golden/product_fused.cu"]);
    compare("backward_rows", expect_file!["golden/product_rows.cu"]);
}

#[test]
fn a_factors_gradient_is_a_product_in_the_layout_of_that_factor() {
    let written = Written::from(*problem().body.unwrap());
    for (layout, of_x, of_w) in [
        (Layout::Nn, ("dproduct", "w", Layout::Nt), ("x_", "dproduct", Layout::Tn)),
        (Layout::Nt, ("dproduct", "w", Layout::Nn), ("dproduct", "x_", Layout::Tn)),
        (Layout::Tn, ("w", "dproduct", Layout::Nt), ("x_", "dproduct", Layout::Nn)),
        (Layout::Tt, ("w", "dproduct", Layout::Tt), ("dproduct", "x_", Layout::Tt)),
    ] {
        let problem = Problem { known_n: Some(64), known_k: Some(32), ..of(written.clone(), layout) };
        let kernels = gradient(&problem, problem.body.as_deref().unwrap(), None).unwrap();
        for (factor, (a, b, expected)) in [("x_", of_x), ("w", of_w)] {
            let is_it = |kernel: &&Kernel| kernel.purpose == Purpose::Factor(factor.to_owned());
            let Computes::Product(found) = &kernels.iter().find(is_it).unwrap().computes else { panic!("{factor}") };
            let Product { a: left, b: right, .. } = &found.written.product;
            assert_eq!((left.as_str(), right.as_str(), found.layout), (a, b, expected), "{layout}: {factor}");
        }
    }
}

#[test]
fn what_other_operands_have_their_gradients_from_is_not_written_twice() {
    let names: Vec<String> = kernels().iter().map(|kernel| kernel.purpose.name()).collect();
    assert_eq!(names, ["forward", "backward", "backward_fused", "backward_rows", "backward_x_", "backward_w"]);
    // The gradient of a residual is that of the output.
    let kernels = kernels();
    let written: Vec<&str> = kernels[1].computes.body().outputs().map(|output| output.name.as_str()).collect();
    assert_eq!(written, ["dproduct"]);
    let problem = problem();
    let named = gradient(&problem, problem.body.as_deref().unwrap(), Some(&[0, 3])).unwrap();
    let written: Vec<&str> = named[1].computes.body().outputs().map(|output| output.name.as_str()).collect();
    assert_eq!(written, ["dproduct", "dskip"]);
}
