//! Schedules drawn from the tuner's search space, on drawn shapes: what the rules allow must run right and clean.
//!
//! `AUTOKERNEL_SCHEDULES` sets how many are drawn, `AUTOKERNEL_SEED` draws others.

use crate::support::case::{Case, Variation, problem};
use crate::support::compile::Compiler;
use crate::support::host::shape;
use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype::{Bf16, F16, F32};
use autokernel_codegen::matmul::problem::Layout;
use autokernel_codegen::matmul::schedule::{Family, Schedule};
use autokernel_codegen::schedule::space::Space;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

/// Schedules that are drawn ordinarily.
const ORDINARY: u64 = 8;
/// Multiply-adds of the largest problem that is drawn: all tiles together, whole ones.
const LARGEST: u64 = 1 << 24;

fn number(name: &str, ordinary: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(ordinary)
}

fn draw(rng: &mut SmallRng, family: Family, arch: Arch) -> Case {
    let input = *[Bf16, F16].choose(rng).unwrap();
    let output = *[input, F32].choose(rng).unwrap();
    let epilogue = *["identity", "relu", "leaky_relu(0.25)"].choose(rng).unwrap();
    let layouts = if family == Family::SkinnySm80 { &Layout::OF_ROW_MAJOR_A[..] } else { &Layout::ALL[..] };
    let problem = problem(input, output, *layouts.choose(rng).unwrap(), epilogue);
    let space = Space::new(family, &problem.class(), arch);
    let schedule = Schedule::try_from(space.schedules().choose(rng).unwrap()).unwrap();
    Case { problem, schedule }
}

#[test]
fn drawn_schedules_are_right_on_drawn_shapes() {
    let Some(compiler) = Compiler::find("drawn_schedules_are_right_on_drawn_shapes") else { return };
    let mut rng = SmallRng::seed_from_u64(number("AUTOKERNEL_SEED", 1));
    let (mut runs, mut largest) = (0, 0);
    for at in 0..number("AUTOKERNEL_SCHEDULES", ORDINARY) {
        let (family, arch) = match at % 4 {
            0 => (Family::Sm80, Arch::SM_80),
            2 => (Family::SkinnySm80, Arch::SM_90A),
            _ => (Family::Sm90, Arch::SM_90A),
        };
        let case = draw(&mut rng, family, arch);
        let module = case.compile(&compiler, None).unwrap();
        for _ in 0..3 {
            let (m, n, k) = (rng.random_range(1..300), rng.random_range(1..300), rng.random_range(0..300));
            let geometry = case.schedule.geometry(&case.problem.class());
            let work = u64::from(u32::next_multiple_of(m, geometry.tile_m * geometry.cluster_m))
                * u64::from(u32::next_multiple_of(n, geometry.columns * geometry.cluster_n))
                * u64::from(k);
            if work > LARGEST {
                continue;
            }
            let seed = rng.random_range(0..1000);
            let padding = [rng.random_range(0..9), rng.random_range(0..9), rng.random_range(0..9)];
            let skew_c = if matches!(case.schedule, Schedule::Sm90(_)) { 4 * rng.random_range(0..5) } else { 0 };
            let variation = Variation { seed, padding, skew_c, ..Variation::default() };
            let what = format!("{} by {}, {m}x{n}x{k}, {variation:?}", case.problem, case.schedule);
            case.run(&module, shape(m, n, k), variation).expect_right(&what);
            (runs, largest) = (runs + 1, work.max(largest));
        }
    }
    println!("{runs} runs, of up to {largest} multiply-adds");
}
