//! How much faster launches of products are behind `autotune`, at shapes that nobody tuned.
//!
//! A measurement, so it is asked for: `cargo test --release -p batch-tests --test gpu_autotune_speed -- --ignored --nocapture`.
//! `AUTOKERNEL_SEED` draws the shapes, `AUTOKERNEL_CASES` so many of each range of rows. The images that a declared kernel carries are compiled when the test runs. Of
//! two kernels that are alike one is autotuned, and both are launched in the same rounds, by random normal operands that rotate past the L2
//! cache. A line is one shape: by how much the model's choice takes longer, and what `autotune` says.

use std::cell::RefCell;
use std::time::Instant;

use autokernel::timing::{Cache, Timer};
use autokernel::{AnyKernel, Argument, Device, Matrix, bf16, matmul};
use autokernel_codegen::product;
use batch_tests::contenders::Contenders;
use gpu_tests::timed::{self, Drawn, Rows};
use gpu_tests::{settings, skip};

/// Rows of the shapes: few, some and many.
const ROWS: [Rows; 3] = [1..=64, 65..=1024, 1025..=8192];
const ROUNDS: usize = 12;
/// How long each runs at a turn, in milliseconds.
const TURN_MS: f64 = 2.0;
/// Bytes of the sets together: past the L2 cache.
const ROTATED: usize = 160 << 20;

/// The operands of one launch.
struct Set {
    x: Matrix<bf16>,
    w: Matrix<bf16>,
    out: Matrix<bf16>,
}

impl Set {
    fn arguments(&mut self) -> [Argument<'_>; 3] {
        [(&self.x).into(), (&self.w).into(), (&mut self.out).into()]
    }
}

/// One layout, by two kernels that are alike.
struct Both {
    name: &'static str,
    layout: matmul::Layout,
    chosen: AnyKernel,
    autotuned: AnyKernel,
}

impl Both {
    fn compile(name: &'static str, layout: matmul::Layout, source: &str) -> Self {
        let problem = product::problem(&syn::parse_str(source).unwrap()).unwrap();
        let contenders = Contenders::compile(problem, Vec::new(), env!("CARGO_TARGET_TMPDIR"));
        Both { name, layout, chosen: contenders.declared(), autotuned: contenders.declared() }
    }

    fn sets(&self, device: &Device, drawn: &Drawn<bf16>, [m, n, k]: [usize; 3]) -> RefCell<Vec<Set>> {
        let weights = if self.layout == matmul::Layout::Nn { [k, n] } else { [n, k] };
        let count = ROTATED.div_ceil(2 * (m * k + n * k + m * n)).clamp(2, 32);
        let set = |number| Set {
            x: drawn.matrix(device, [m, k], number),
            w: drawn.matrix(device, weights, number),
            out: Matrix::zeros(device, m, n).unwrap(),
        };
        RefCell::new((0..count).map(set).collect())
    }

    /// The model's choice over what was measured to lead, at one shape.
    fn ratio(&self, device: &Device, timer: &mut Timer, shape: &str, sets: &RefCell<Vec<Set>>) -> f64 {
        let count = sets.borrow().len();
        let run = |kernel: &AnyKernel, number: usize| {
            kernel.launch(device, &mut sets.borrow_mut()[number % count].arguments())
        };
        let begun = Instant::now();
        let plan = self.autotuned.autotune(device, &mut sets.borrow_mut()[0].arguments()).unwrap();
        let took_ms = begun.elapsed().as_secs_f64() * 1e3;
        let first_ms = timer.time_batch(count, |number| run(&self.chosen, number)).unwrap();
        let launches = ((TURN_MS / first_ms).ceil() as usize).clamp(4, 256);
        let (mut chosen, mut autotuned) =
            (|number: usize| run(&self.chosen, number), |number: usize| run(&self.autotuned, number));
        let times = timer.interleave(ROUNDS, launches, &mut [&mut chosen, &mut autotuned]).unwrap();
        let ratio = times.ratio(0, 1).unwrap();
        println!(
            "{shape} {} {:.4} ms, {:.3} ({:.1} %), autotuned in {took_ms:.0} ms: {plan}",
            self.name,
            times.timing(0).unwrap().median_ms,
            ratio.median,
            ratio.spread_pct
        );
        ratio.median
    }
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn autotuned_products_beside_what_the_model_chooses() {
    // Before it looks for a GPU, so that another machine can compile them.
    let layouts = [
        (
            "nt",
            matmul::Layout::Nt,
            "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) { out = dot(x, w.t()); }",
        ),
        (
            "nn",
            matmul::Layout::Nn,
            "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) { out = dot(x, w); }",
        ),
    ]
    .map(|(name, layout, source)| Both::compile(name, layout, source));
    let name = "gpu_autotune_speed::autotuned_products_beside_what_the_model_chooses";
    let Some(device) = skip::gpu_of_one_stream(name) else { return };
    println!(
        "{device}; seed {}, {ROUNDS} rounds; above 1 is faster than what the model chooses",
        settings::number("AUTOKERNEL_SEED", 14)
    );
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    let drawn = Drawn::normal(1);
    let mut ratios = Vec::new();
    for (m, n, k) in timed::shapes(&[], &ROWS) {
        for both in &layouts {
            let sets = both.sets(&device, &drawn, [m, n, k].map(|size| size as usize));
            ratios.push(both.ratio(&device, &mut timer, &format!("{m}x{n}x{k}"), &sets));
        }
    }
    println!("{}", timed::mean_and_least(&ratios));
}
