//! What it saves to gather rows within the product of experts: SwiGLU of tokens where they lie, beside the same product of rows that a
//! kernel put side by side before, and that kernel, in the same rounds.
//!
//! A measurement, so it is asked for: `cargo test --release -p batch-tests --test gpu_gathered_speed -- --ignored --nocapture`.
//! Images are those that a declared kernel carries, compiled when the test runs. All are timed, which goes to stderr with what the model
//! predicts; what it chooses and the fastest on either side meet in rounds. Weights are many times the L2 cache. `AUTOKERNEL_SEED` draws
//! other sizes of groups and other tokens.

use autokernel::timing::{Cache, Statistics, Timer};
use autokernel::{Arch, Argument, Batch, CompiledKernel, Device, Extents, Index, Matrix, Result, bf16, matmul};
use autokernel_codegen::problem;
use autokernel_codegen::product::{self, Problem};
use autokernel_codegen::rows::{self, AnySchedule};
use batch_tests::carried::machine;
use batch_tests::compiler::compiler;
use batch_tests::contenders::{CHOSEN, Contenders, rank};
use batch_tests::images::{self, Compiled};
use batch_tests::{row_wise, timed};
use gpu_tests::{settings, skip};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const ROUNDS: usize = 12;
const LAUNCHES: usize = 6;
/// Experts of each token.
const TOP_K: usize = 6;

/// Experts, tokens, hidden columns and features.
const SHAPES: [[usize; 4]; 4] =
    [[64, 4096, 1408, 2048], [64, 64, 1408, 2048], [32, 2048, 2048, 4096], [128, 8192, 768, 2048]];

fn within() -> Problem {
    let function = syn::parse_quote! {
        fn within(
            x: &Matrix<bf16>,
            tokens: &Index,
            gate: &Batch<bf16>,
            up: &Batch<bf16>,
            offsets: &Index,
            out: &mut Matrix<bf16>,
        ) {
            out = silu(dot(x[tokens], gate.t())) * dot(x[tokens], up.t());
        }
    };
    product::problem(&function).unwrap()
}

fn behind() -> Problem {
    let function = syn::parse_quote! {
        fn behind(rows: &Matrix<bf16>, gate: &Batch<bf16>, up: &Batch<bf16>, offsets: &Index, out: &mut Matrix<bf16>) {
            out = silu(dot(rows, gate.t())) * dot(rows, up.t());
        }
    };
    product::problem(&function).unwrap()
}

/// The kernel that gathers before, by each of what it carries.
struct Gather {
    problem: problem::Problem,
    images: Vec<Compiled<AnySchedule>>,
}

impl Gather {
    fn compiled() -> Self {
        let function = syn::parse_quote! {
            fn gather(x: &Matrix<bf16>, tokens: &Index, rows: &mut Matrix<bf16>) {
                rows = x[tokens];
            }
        };
        let problem = problem::Problem::Rows(rows::problem(&function).unwrap());
        let carried = problem.class().portfolio(Arch::SM_90A);
        let images = row_wise::compile(&compiler(env!("CARGO_TARGET_TMPDIR")).unwrap(), &problem, carried);
        Gather { problem, images }
    }

    /// As a launch takes it.
    fn at(&self, device: &Device, extents: &Extents) -> CompiledKernel {
        let carried = self.images.iter().map(|(schedule, ..)| *schedule);
        let chosen = row_wise::chosen(&self.problem, carried, extents, machine(device));
        let image = self.images.iter().find(|(schedule, ..)| *schedule == chosen).unwrap();
        images::load(device, &self.problem.signature(), image)
    }
}

/// The operands of a shape.
struct Operands {
    x: Matrix<bf16>,
    rows: Matrix<bf16>,
    tokens: Index,
    offsets: Index,
    weights: [Batch<bf16>; 2],
    out: Matrix<bf16>,
}

impl Operands {
    fn new(device: &Device, [experts, tokens, n, k]: [usize; 4], drawn: &[bf16]) -> Result<Self> {
        let offsets = timed::offsets(experts, tokens * TOP_K / experts, true);
        let rows = offsets[experts] as usize;
        let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 9));
        let picked: Vec<i32> = (0..rows).map(|_| rng.random_range(0..tokens as i32)).collect();
        let weights = || Batch::from_slice(device, &drawn[..experts * n * k], [experts, n, k]);
        Ok(Operands {
            x: Matrix::from_slice(device, &drawn[..tokens * k], tokens, k)?,
            rows: Matrix::zeros(device, rows, k)?,
            tokens: Index::from_slice(device, &picked)?,
            offsets: Index::from_slice(device, &offsets)?,
            weights: [weights()?, weights()?],
            out: Matrix::zeros(device, rows, n)?,
        })
    }

    /// Of rows that are picked within the product.
    fn within(&mut self, device: &Device, kernel: &CompiledKernel) -> Result<()> {
        let [gate, up] = &self.weights;
        let arguments: &mut [Argument<'_>] = &mut [
            (&self.x).into(),
            self.tokens.view().into(),
            gate.into(),
            up.into(),
            self.offsets.view().into(),
            (&mut self.out).into(),
        ];
        kernel.launch(device, arguments)
    }

    /// Of rows that lie side by side.
    fn behind(&mut self, device: &Device, kernel: &CompiledKernel) -> Result<()> {
        let [gate, up] = &self.weights;
        let arguments: &mut [Argument<'_>] =
            &mut [(&self.rows).into(), gate.into(), up.into(), self.offsets.view().into(), (&mut self.out).into()];
        kernel.launch(device, arguments)
    }

    fn gathered(&mut self, device: &Device, gather: &CompiledKernel) -> Result<()> {
        gather.launch(device, &mut [(&self.x).into(), self.tokens.view().into(), (&mut self.rows).into()])
    }
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn experts_that_gather_their_tokens() {
    // Before it looks for a GPU, so that another machine can compile them.
    let [within, behind] =
        [within(), behind()].map(|problem| Contenders::compile(problem, Vec::new(), env!("CARGO_TARGET_TMPDIR")));
    let gather = Gather::compiled();
    let Some(device) = skip::gpu_of_one_stream("gpu_gathered_speed::experts_that_gather_their_tokens") else { return };
    println!("{device}; bf16, {TOP_K} experts a token, medians of {ROUNDS} rounds of {LAUNCHES} launches");
    let most = SHAPES.map(|[experts, tokens, n, k]| (experts * n * k).max(tokens * k)).into_iter().max();
    let drawn: Vec<bf16> = timed::drawn().into_iter().cycle().take(most.unwrap_or(0)).collect();
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    for shape @ [experts, tokens, n, k] in SHAPES {
        let mut operands = Operands::new(&device, shape, &drawn).unwrap();
        let rows = operands.out.nrows() as u32;
        let gather = gather.at(&device, &autokernel::rows::extents(rows, k as u32));
        operands.gathered(&device, &gather).unwrap();
        let extents = matmul::grouped_extents(experts as u32, rows, n as u32, k as u32);
        let name = format!("{experts} experts, {tokens} tokens, {n} of {k}");
        let sides = [&within, &behind].map(|side| side.at(&device, &extents, &[]));
        let [inside, outside] = [&sides[0], &sides[1]].map(|side| side.all());
        let _ = timer.time_batch(200, |_| operands.within(&device, inside[CHOSEN].kernel)).unwrap();
        let fastest_inside = rank(&format!("{name}, within"), &inside, |kernel| {
            timer.time_batch(3, |_| operands.within(&device, kernel))
        });
        let fastest_outside = rank(&format!("{name}, before"), &outside, |kernel| {
            timer.time_batch(3, |_| operands.behind(&device, kernel))
        });
        let [inside_best, outside_best] = [fastest_inside, fastest_outside].map(|ranked| ranked.unwrap()[0].1);
        let mut times: [Vec<f64>; 5] = Default::default();
        for _ in 0..ROUNDS {
            let mut time = |place: usize, launch: &mut dyn FnMut(&mut Operands) -> Result<()>| {
                times[place].push(timer.time_batch(LAUNCHES, |_| launch(&mut operands)).unwrap());
            };
            for (place, number) in [(0, CHOSEN), (1, inside_best)] {
                time(place, &mut |operands| operands.within(&device, inside[number].kernel));
            }
            for (place, number) in [(2, CHOSEN), (3, outside_best)] {
                time(place, &mut |operands| {
                    operands.gathered(&device, &gather)?;
                    operands.behind(&device, outside[number].kernel)
                });
            }
            time(4, &mut |operands| operands.gathered(&device, &gather));
        }
        let [chosen_within, best_within, chosen_before, best_before, gathering] =
            [0, 1, 2, 3, 4].map(|place: usize| Statistics::of(&times[place]).unwrap().median);
        let ratio = |over: usize, under: usize| {
            let pairs = times[over].iter().zip(&times[under]).map(|(over, under)| over / under);
            Statistics::of(&pairs.collect::<Vec<_>>()).unwrap()
        };
        let (chosen, fastest) = (ratio(2, 0), ratio(3, 1));
        println!(
            "{name}, {rows} rows: within {chosen_within:.4} ms as chosen, {best_within:.4} the fastest; before {chosen_before:.4} and \
             {best_before:.4}, of which gathering {gathering:.4}; × {:.3} ({:.1} %) as chosen, {:.3} ({:.1} %) the fastest; {} · {}",
            chosen.median,
            chosen.spread_pct,
            fastest.median,
            fastest.spread_pct,
            inside[inside_best].schedule,
            outside[outside_best].schedule,
        );
    }
}
