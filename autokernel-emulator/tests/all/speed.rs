//! How long a product takes: small shapes must stay quick, or nobody tests with them.

use std::time::{Duration, Instant};

use crate::support::case::{Case, SM80, SM90, Variation, problem};
use crate::support::compile::Compiler;
use crate::support::host::shape;
use autokernel_codegen::dtype::Dtype::Bf16;
use autokernel_codegen::matmul::problem::Layout::Nt;
use autokernel_codegen::matmul::schedule::{Schedule, Sm80Schedule, Sm90Schedule};

/// Far more than either takes alone, for machines that do other work.
const LIMIT: Duration = Duration::from_secs(10);

#[test]
fn a_product_of_256_cubed_takes_no_noticeable_time() {
    let Some(compiler) = Compiler::find("a_product_of_256_cubed_takes_no_noticeable_time") else { return };
    let schedules = [
        Schedule::Sm90(Sm90Schedule { tile_m: 128, tile_n: 128, consumers: 2, stages: 4, ..SM90 }),
        Schedule::Sm80(Sm80Schedule { tile_m: 128, tile_n: 128, ..SM80 }),
    ];
    for schedule in schedules {
        let case = Case { problem: problem(Bf16, Bf16, Nt, "identity"), schedule };
        let module = case.compile(&compiler, None).unwrap();
        let start = Instant::now();
        case.run(&module, shape(256, 256, 256), Variation::default()).expect_right("256 cubed");
        let taken = start.elapsed();
        println!("{schedule}: {taken:?}");
        assert!(taken < LIMIT, "{schedule} took {taken:?}");
    }
}
