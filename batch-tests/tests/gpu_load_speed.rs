//! How fast the images of products are under a load that lasts, where the power limit and not the clock of a rested chip decides.
//!
//! A measurement, so it is asked for: `cargo test --release -p batch-tests --test gpu_load_speed -- --ignored --nocapture`. `AUTOKERNEL_SEED`
//! draws the shapes, `AUTOKERNEL_CASES` so many. The images that a declared kernel carries are compiled when the test runs. Of each shape
//! those that the model predicts to lead are timed each after a rest, and then all in turn, a few milliseconds each, and cuBLASLt's fastest
//! with them; one whose result is not the first one's is a failure; `AUTOKERNEL_LIST=1` adds tiles that are not carried. A line is one image: shape, problem, milliseconds after a rest and under load, those predicted, and the schedule.

use std::cell::RefCell;
use std::time::Duration;

use autokernel::timing::{Cache, Timer, Work};
use autokernel::{Arch, Argument, CompiledKernel, Device, Dtype, Extents, Matrix, Number, Result, bf16, e4m3, matmul};
use autokernel_baseline::{CublasLt, Epilogue, GemmProblem, HEURISTICS, fastest};
use autokernel_codegen::matmul::Class;
use autokernel_codegen::matmul::schedule::{Mode, Raster, RasterOrder, Schedule, Sm90Schedule};
use autokernel_codegen::product;
use batch_tests::contenders::{Contender, Contenders};
use gpu_tests::timed::{self, Drawn, Rows};
use gpu_tests::{settings, skip};

/// Rows of the shapes.
const ROWS: Rows = 512..=6144;
/// Images within so much of the least predicted time are timed, and at most so many.
const WITHIN: f64 = 1.25;
const MOST: usize = 14;
const ROUNDS: usize = 12;
/// How long each runs at a turn, in milliseconds, unless `AUTOKERNEL_TURN_MS` says otherwise: shorter than it takes the clock to follow, so
/// that all meet at that of the mix.
const TURN_MS: u64 = 6;
/// How long the chip rests before a time after a rest.
const REST: Duration = Duration::from_millis(15);
/// Sets of operands, which rotate past the L2 cache.
const SETS: usize = 2;

/// Tiles of consumers that take turns, as deep as fits, beside what is carried: `AUTOKERNEL_LIST` is to be 1.
fn listed(class: &Class) -> Vec<Schedule> {
    if settings::number("AUTOKERNEL_LIST", 0) == 0 {
        return Vec::new();
    }
    let plain = Sm90Schedule { consumers: 2, mode: Mode::PingPong, ..Sm90Schedule::PLAIN };
    let transposed = |tile_m, tile_n| Sm90Schedule { tile_m, tile_n, swap_ab: true, ..plain };
    let others = |tile_m, tile_n| Sm90Schedule { tile_m, tile_n, ..plain };
    let mut tiles: Vec<Sm90Schedule> = Vec::new();
    tiles.extend([88, 104, 120, 136, 152, 168, 184, 192, 208].map(|rows| transposed(rows, 128)));
    tiles.extend([48, 56, 64, 72, 80, 88].map(|rows| transposed(rows, 256)));
    tiles.extend([64, 80, 96, 112, 128].map(|rows| transposed(rows, 192)));
    tiles.extend([96, 112, 120, 136, 144, 152, 168, 176, 192].map(|columns| others(128, columns)));
    tiles.extend([192, 224, 256].map(|columns| others(64, columns)));
    tiles.extend([64, 80, 96, 112].map(|columns| others(192, columns)));
    for (cluster_m, cluster_n) in [(2, 1), (1, 2)] {
        let shared = |tile: Sm90Schedule| Sm90Schedule { cluster_m, cluster_n, ..tile };
        tiles.extend([96, 112, 128, 144, 160].map(|rows| shared(transposed(rows, 128))));
        tiles.extend([128, 160].map(|columns| shared(others(128, columns))));
    }
    let raster = Raster { order: RasterOrder::AlongM, group: 6 };
    let deepest = |tile: &Sm90Schedule| {
        let deep = (2..=10).rev().map(|stages| Schedule::from(Sm90Schedule { stages, raster, ..*tile }));
        deep.into_iter().find(|schedule| schedule.check(class, Arch::SM_90A).is_ok())
    };
    tiles.iter().filter_map(deepest).collect()
}

/// A problem with what its kernel carries.
struct Timed {
    name: &'static str,
    /// How the second factor lies.
    layout: matmul::Layout,
    contenders: Contenders,
}

impl Timed {
    fn compile(name: &'static str, layout: matmul::Layout, source: &str) -> Self {
        let problem = product::problem(&syn::parse_str(source).unwrap()).unwrap();
        let listed = listed(&problem.class());
        Timed { name, layout, contenders: Contenders::compile(problem, listed, env!("CARGO_TARGET_TMPDIR")) }
    }

    /// The rows and columns of the second factor.
    fn weights(&self, [_, n, k]: [usize; 3]) -> [usize; 2] {
        match self.layout {
            matmul::Layout::Nn => [k, n],
            _ => [n, k],
        }
    }
}

/// The operands of one launch.
struct Set<T> {
    x: Matrix<T>,
    w: Matrix<T>,
    out: Matrix<bf16>,
}

impl<T: Number> Set<T> {
    fn random(device: &Device, drawn: &Drawn<T>, sizes @ [m, n, k]: [usize; 3], timed: &Timed) -> Self {
        let w = drawn.matrix(device, timed.weights(sizes), 0);
        Set { x: drawn.matrix(device, [m, k], 0), w, out: Matrix::zeros(device, m, n).unwrap() }
    }
}

impl Set<bf16> {
    fn launch_theirs(&mut self, cublaslt: &mut CublasLt, gemm: &autokernel_baseline::Gemm, at: usize) -> Result<()> {
        gemm.launch(cublaslt, at, &self.x, &self.w, &mut self.out)?;
        Ok(())
    }
}

fn launch<T>(device: &Device, kernel: &CompiledKernel, set: &mut Set<T>) -> Result<()>
where
    for<'a> &'a Matrix<T>: Into<Argument<'a>>,
{
    let arguments: &mut [Argument<'_>] = &mut [(&set.x).into(), (&set.w).into(), (&mut set.out).into()];
    kernel.launch(device, arguments)
}

fn turn_ms() -> f64 {
    settings::number("AUTOKERNEL_TURN_MS", TURN_MS) as f64
}

/// The kernels that lead by the model, and what is listed.
fn leading<'c, 'k>(all: &'c [Contender<'k>]) -> Vec<&'c Contender<'k>> {
    let least = all.first().and_then(|first| first.predicted_ms).unwrap_or(f64::INFINITY);
    let near = all.iter().filter(|one| one.predicted_ms.is_some_and(|ms| ms <= WITHIN * least)).take(MOST);
    near.chain(all.iter().filter(|one| one.predicted_ms.is_none())).collect()
}

fn clear(device: &Device, out: &mut Matrix<bf16>) {
    *out = Matrix::zeros(device, out.nrows(), out.ncols()).unwrap();
}

/// All compute the same, but for roundings: an image that is wrong at some element is not what the first one is.
fn expect_alike<T: Number>(
    device: &Device,
    all: &[&Contender<'_>],
    sets: &RefCell<Vec<Set<T>>>,
    run: impl Fn(&CompiledKernel) -> Result<()>,
) {
    let result = |one: &Contender<'_>| {
        clear(device, &mut sets.borrow_mut()[0].out);
        run(one.kernel).unwrap();
        sets.borrow()[0].out.to_vec().unwrap()
    };
    let Some((first, others)) = all.split_first() else { return };
    let expected = result(first);
    // Sums of products of normal numbers are of about √k. Those of 8-bit floats lose low bits at each step, which are fewer where K is split.
    let nothing = (sets.borrow()[0].x.ncols() as f32).sqrt() / 256.0;
    let share = if T::DTYPE.bytes() == 1 { 1.0 / 16.0 } else { 1.0 / 64.0 };
    for other in others {
        let found = result(other);
        let alike = |(found, expected): (&bf16, &bf16)| {
            let (found, expected) = (found.to_f32(), expected.to_f32());
            (found - expected).abs() <= nothing + share * expected.abs()
        };
        let wrong = found.iter().zip(&expected).find(|both| !alike(*both));
        assert_eq!(wrong, None, "an element, and what {} computes: {}", first.told(), other.told());
    }
}

/// Times all that leads at one shape; `theirs` launches what they are compared with.
fn time<T: Number>(
    (device, timer): (&Device, &mut Timer),
    (timed, extents): (&Timed, Extents),
    sets: &RefCell<Vec<Set<T>>>,
    theirs: Option<Work<'_>>,
) where
    for<'a> &'a Matrix<T>: Into<Argument<'a>>,
{
    let listed = timed.contenders.load(device);
    let at_shape = timed.contenders.at(device, &extents, &listed);
    let all = at_shape.all();
    let leading = leading(&all);
    let run = |kernel: &CompiledKernel, number: usize| launch(device, kernel, &mut sets.borrow_mut()[number % SETS]);
    expect_alike(device, &leading, sets, |kernel| run(kernel, 0));
    let rested: Vec<f64> = leading
        .iter()
        .map(|one| {
            timer.time_batch(2, |number| run(one.kernel, number)).unwrap();
            std::thread::sleep(REST);
            timer.time_batch(4, |number| run(one.kernel, number)).unwrap()
        })
        .collect();
    let launches = (turn_ms() / rested[0]).ceil().max(2.0) as usize;
    let mut ours: Vec<_> = leading.iter().map(|one| move |number: usize| run(one.kernel, number)).collect();
    let mut work: Vec<Work<'_>> = ours.iter_mut().map(|work| work as Work<'_>).collect();
    let mut theirs = theirs.map(|launch| move |number: usize| launch(number));
    let is_compared = theirs.is_some();
    work.extend(theirs.as_mut().map(|work| work as Work<'_>));
    // What comes first finds the chip rested.
    timer.interleave(2, launches, &mut work).unwrap();
    let times = timer.interleave(ROUNDS, launches, &mut work).unwrap();
    for (number, (one, rested)) in leading.iter().zip(&rested).enumerate() {
        let ms = times.timing(number).unwrap().median_ms;
        println!("{extents} {} {rested:.4} {ms:.4} {}", timed.name, one.told());
    }
    if is_compared {
        println!("{extents} {} cublaslt {:.4}", timed.name, times.timing(leading.len()).unwrap().median_ms);
    }
}

fn beside_cublaslt(on: (&Device, &mut Timer), timed: &Timed, extents: Extents, sets: Vec<Set<bf16>>) {
    let (device, timer) = on;
    let mut cublaslt = CublasLt::new(device).unwrap();
    let (dtype, layout, epilogue) = (Dtype::Bf16, timed.layout, Epilogue::Identity);
    let gemm = cublaslt.gemm(GemmProblem { extents, dtype, output: dtype, layout, epilogue }, HEURISTICS).unwrap();
    let sets = RefCell::new(sets);
    let mut launch =
        |at: usize, number: usize| sets.borrow_mut()[number % SETS].launch_theirs(&mut cublaslt, &gemm, at);
    let found = fastest(gemm.algorithms(), |at, launches| {
        Ok::<_, autokernel::Error>(timer.time_batch(launches, |number| launch(at, number)).ok())
    });
    let at = found.unwrap().expect("an algorithm of cuBLASLt runs").0;
    time((device, timer), (timed, extents), &sets, Some(&mut |number| launch(at, number)));
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn what_images_take_under_load() {
    // Before it looks for a GPU, so that another machine can compile them.
    let of_bf16 = [
        (
            "bf16:nt",
            matmul::Layout::Nt,
            "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) { out = dot(x, w.t()); }",
        ),
        (
            "bf16:nn",
            matmul::Layout::Nn,
            "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) { out = dot(x, w); }",
        ),
    ]
    .map(|(name, layout, source)| Timed::compile(name, layout, source));
    let of_e4m3 = Timed::compile(
        "e4m3:nt",
        matmul::Layout::Nt,
        "fn f(x: &Matrix<e4m3>, w: &Matrix<e4m3>, out: &mut Matrix<bf16>) { out = dot(x, w.t()); }",
    );
    let Some(device) = skip::gpu_of_one_stream("gpu_load_speed::what_images_take_under_load") else {
        return;
    };
    println!("{device}; medians of {ROUNDS} rounds of {} ms each", turn_ms());
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    let drawn = [Drawn::normal(1), Drawn::normal(2)];
    let eighths = drawn.each_ref().map(|drawn| drawn.each(|number| e4m3::from_f32(number.to_f32())));
    for (m, n, k) in timed::shapes(&[], &[ROWS]) {
        let (extents, sizes) = (matmul::extents(m, n, k), [m, n, k].map(|size| size as usize));
        for timed in &of_bf16 {
            let sets = drawn.iter().map(|drawn| Set::random(&device, drawn, sizes, timed)).collect();
            beside_cublaslt((&device, &mut timer), timed, extents, sets);
        }
        let sets = eighths.iter().map(|drawn| Set::random(&device, drawn, sizes, &of_e4m3)).collect();
        time((&device, &mut timer), (&of_e4m3, extents), &RefCell::new(sets), None);
    }
}
