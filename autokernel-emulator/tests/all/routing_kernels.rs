//! Routing by every schedule and by the reference, held against sorts on the host; and mistakes in its header, each of which shows.
//! Scores are small integers, so that many are alike.

use crate::support::arguments;
use crate::support::compile::{Change, Compiler};
use crate::support::host::{Matrix, allocate, download};
use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype::{self, Bf16, F16, F32, I32};
use autokernel_codegen::emit::KernelSource;
use autokernel_codegen::problem::{Problem, Routing};
use autokernel_core::{Extents, LaunchPlan, dim};
use autokernel_emulator::{Gpu, Module, Options};

/// More experts than two for each lane, and several tiles of tokens for some blocks.
const MANY: Routing = Routing { dtype: F32, experts: 70, top_k: 5, over_all: false };
/// Few of 16 bits, with shares among all.
const FEW: Routing = Routing { dtype: Bf16, experts: 8, top_k: 2, over_all: true };
/// All there are.
const ALL: Routing = Routing { dtype: F16, experts: 33, top_k: 32, over_all: false };
const TOKENS: [u32; 3] = [150, 32, 1];

/// What routing gives: weights, offsets, the order of tokens and the rows of choices.
fn expected(routing: &Routing, scores: &Matrix) -> [Vec<f64>; 4] {
    let (tokens, choices) = (scores.rows, routing.top_k as usize);
    let [mut weights, mut rows] = [vec![0.0; tokens as usize * choices], vec![0.0; tokens as usize * choices]];
    let mut chosen = Vec::new();
    for token in 0..tokens {
        let score = |expert: &u32| scores.at(token, *expert);
        let mut ranked: Vec<u32> = (0..routing.experts).collect();
        ranked.sort_by(|left, right| score(right).total_cmp(&score(left)));
        let among = if routing.over_all { &ranked[..] } else { &ranked[..choices] };
        let sum: f64 = among.iter().map(|expert| score(expert).exp()).sum();
        for (choice, expert) in ranked[..choices].iter().enumerate() {
            let place = choice * tokens as usize + token as usize;
            weights[place] = score(expert).exp() / sum;
            chosen.push((*expert, token, place));
        }
    }
    chosen.sort_unstable();
    let begins = |expert| chosen.iter().filter(|(of, ..)| *of < expert).count() as f64;
    let offsets = (0..=routing.experts).map(begins).collect();
    chosen.iter().enumerate().for_each(|(row, (.., place))| rows[*place] = row as f64);
    [weights, offsets, chosen.iter().map(|(_, token, _)| f64::from(*token)).collect(), rows]
}

/// Runs a kernel that gives indices of that type, twice in the same workspace, and says what is wrong.
fn run(
    routing: &Routing,
    (kernel, plan, module): (&KernelSource, &LaunchPlan, &Module),
    (arch, tokens, seed): (Arch, u32, u64),
    index: Dtype,
) -> Result<(), String> {
    let mut gpu = Gpu::new(match arch {
        Arch::SM_80 => autokernel_emulator::Arch::Sm80,
        _ => autokernel_emulator::Arch::Sm90a,
    });
    let &Routing { dtype, experts, top_k, .. } = routing;
    let scores = Matrix::integers(tokens, experts, experts + 3, seed + 1);
    let placed = scores.upload(&mut gpu, "scores", dtype);
    let mut of_choices = |name, dtype, gap| allocate(&mut gpu, name, dtype, top_k, tokens, tokens + gap, 0);
    let [weights, order, rows] =
        [of_choices("weights", F32, 1), of_choices("order", index, 2), of_choices("rows", index, 0)];
    let offsets = allocate(&mut gpu, "offsets", index, 1, experts + 1, experts + 1, 0);
    let operands = [placed, weights, offsets, order, rows];
    let extents = Extents::new([(dim("tokens"), tokens), (dim("experts"), experts), (dim("top_k"), top_k)]);
    let signature = Problem::from(routing.clone()).signature();
    let (launches, _workspace) =
        arguments::steps(&mut gpu, arguments::MULTIPROCESSORS, &signature, plan, extents, &operands);
    let options = Options { seed, instruction_budget: 1 << 26, ..Options::default() };
    for (step, launch) in [0, 1].iter().flat_map(|_| plan.kernels.iter().zip(&launches)) {
        gpu.launch(module, &step.symbol, launch, &options).map_err(|error| format!("{}: {error}", kernel.symbol))?;
    }
    let [of_weights, exact @ ..] = expected(routing, &scores);
    let got = download(&mut gpu, weights, F32);
    if let Some((got, expected)) = got.iter().zip(&of_weights).find(|(got, weight)| (**got - **weight).abs() > 2e-6) {
        return Err(format!("{}: a weight is {got}, not {expected}", kernel.symbol));
    }
    for ((name, placed), expected) in [("offsets", offsets), ("order", order), ("rows", rows)].into_iter().zip(exact) {
        let got = download(&mut gpu, placed, index);
        if got != expected {
            return Err(format!("{}, {tokens} tokens: {name} are {got:?}, not {expected:?}", kernel.symbol));
        }
    }
    Ok(())
}

#[test]
fn every_schedule_routes_as_the_host_sorts() {
    let Some(compiler) = Compiler::find("every_schedule_routes_as_the_host_sorts") else { return };
    for (routing, arch) in [(MANY, Arch::SM_90A), (FEW, Arch::SM_80), (ALL, Arch::SM_90A)] {
        let problem = Problem::from(routing.clone());
        let class = problem.class();
        let schedules = class.families(arch).iter().flat_map(|&family| class.schedules(family, arch));
        for schedule in schedules {
            let (kernel, plan) = problem.emit(&schedule).unwrap();
            let module = Module::parse(&compiler.ptx(&kernel, arch, None).unwrap()).unwrap();
            for (seed, tokens) in (0..).zip(TOKENS) {
                run(&routing, (&kernel, &plan, &module), (arch, tokens, seed), I32)
                    .unwrap_or_else(|reason| panic!("{schedule}: {reason}"));
            }
        }
    }
}

#[test]
fn the_reference_routes_as_the_host_sorts() {
    let Some(compiler) = Compiler::find("the_reference_routes_as_the_host_sorts") else { return };
    for routing in [MANY, FEW, ALL] {
        let (kernel, plan) = Problem::from(routing.clone()).reference();
        let module = Module::parse(&compiler.ptx(&kernel, Arch::SM_80, None).unwrap()).unwrap();
        run(&routing, (&kernel, &plan, &module), (Arch::SM_80, 40, 0), F32).unwrap();
    }
}

/// What is replaced by what in `routing.cuh`.
const MUTANTS: [(&str, &str, &str); 8] = [
    ("equal scores of a lane", "if (keys[i] >= best) best", "if (keys[i] > best) best"),
    (
        "equal scores of lanes",
        "int(ptx::warp_min(best == greatest ? place * kWarpSize + lane : ~0u))",
        "int(ptx::warp_max(best == greatest ? place * kWarpSize + lane : 0u))",
    ),
    ("a choice is left there", "== chosen) keys[i] = kTaken;", "== chosen) keys[i] = best;"),
    ("a token before itself", "& ((1u << lane) - 1)", "& ((2u << lane) - 1)"),
    ("counts of this block are before it", "if (at < own) ptx", "if (at < own + kExperts) ptx"),
    ("tiles of a block in one place", "next[expert] += ptx::count_bits(tile[expert]);", ""),
    (
        "experts beyond a warp",
        "begin += __shfl_sync(~0u, end, kWarpSize - 1);",
        "begin += __shfl_sync(~0u, end, kWarpSize - 2);",
    ),
    ("no wait for the bits of a tile", "1u << lane);\n      });\n      __syncthreads();", "1u << lane);\n      });"),
];

#[test]
fn mistakes_in_routing_show() {
    let Some(compiler) = Compiler::find("mistakes_in_routing_show") else { return };
    let problem = Problem::from(MANY);
    let (kernel, plan) = problem.emit(&problem.class().default_schedule(Arch::SM_90A)).unwrap();
    for (name, before, after) in MUTANTS {
        let change = Change { file: "routing.cuh", before, after };
        let module = Module::parse(&compiler.ptx(&kernel, Arch::SM_90A, Some(change)).unwrap()).unwrap();
        let shows = (0..)
            .zip(TOKENS)
            .any(|(seed, tokens)| run(&MANY, (&kernel, &plan, &module), (Arch::SM_90A, tokens, seed), I32).is_err());
        assert!(shows, "`{name}` gives the same");
    }
}
