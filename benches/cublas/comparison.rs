//! One comparison: autokernel's kernel and its opponent, interleaved.
//!
//! The opponent is cuBLASLt at its best: every heuristic it offers (up to 64) is timed first, and the fastest one
//! enters. Then both warm up until the clocks settle and run in turn, round after round, each round a batch of
//! launches on rotating buffers. A ratio is taken within each round, so that drift of the clocks cancels.

use std::cell::RefCell;

use autokernel::matmul;
use autokernel::roofline::Roofline;
use autokernel::timing::{Cache, Statistics, Timer, Timing, WarmUp, Work as Candidate};
use autokernel::{Device, DeviceInfo, Dtype, Element, Extents, Kernel, bf16, f16};
use autokernel_baseline::{CublasLt, Epilogue, Gemm, GemmProblem, HEURISTICS, LeakyRelu};

use crate::Outcome;
use crate::copy::Copy;
use crate::operands::{Buffers, Operands};

/// A batch lasts about this long: far above the resolution of events.
const BATCH_MS: f64 = 3.0;
const SLOPE: f32 = 0.01;

/// What autokernel is compared with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Opponent {
    /// cuBLASLt with an epilogue of its own.
    Gemm(Epilogue),
    /// cuBLASLt, then an elementwise kernel.
    GemmThenLeakyRelu,
}

impl Opponent {
    /// A short name for tables.
    pub fn name(self) -> &'static str {
        match self {
            Opponent::Gemm(Epilogue::Identity) => "cuBLASLt",
            Opponent::Gemm(Epilogue::Relu) => "cuBLASLt with its RELU epilogue",
            Opponent::Gemm(Epilogue::Bias | Epilogue::GeluTanhBias) => "cuBLASLt with a bias",
            Opponent::GemmThenLeakyRelu => "cuBLASLt, then a LeakyReLU kernel",
        }
    }
}

/// What else runs in each round.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    Nothing,
    /// A large copy, whose rate is what device memory gives.
    Copy,
}

enum AnyKernel {
    Bf16(&'static Kernel<bf16, bf16>),
    F16(&'static Kernel<f16, f16>),
}

/// A built-in kernel and its opponent.
pub struct Comparison {
    pub name: &'static str,
    kernel: AnyKernel,
    pub opponent: Opponent,
}

impl Comparison {
    pub const fn new(name: &'static str, kernel: &'static Kernel<bf16, bf16>, opponent: Opponent) -> Self {
        Comparison { name, kernel: AnyKernel::Bf16(kernel), opponent }
    }

    pub const fn half(name: &'static str, kernel: &'static Kernel<f16, f16>, opponent: Opponent) -> Self {
        Comparison { name, kernel: AnyKernel::F16(kernel), opponent }
    }
}

/// What one comparison found.
pub struct Row {
    pub name: &'static str,
    pub opponent: &'static str,
    pub shape: Extents,
    pub buffers: Buffers,
    pub schedule: String,
    pub sets: usize,
    pub launches_per_round: usize,
    pub ours: Timing,
    pub theirs: Timing,
    /// Their time over ours, by rounds: above 1 where autokernel is faster.
    pub speedup: Statistics,
    pub tflops: f64,
    pub roofline_pct: f64,
    /// Operands and output once, over our time, in 10⁹ bytes a second.
    pub gb_s: f64,
    /// That rate over the rate of a large copy in the same round, where one ran.
    pub copy_share: Option<Statistics>,
    pub heuristics: usize,
}

/// The GPU with its opponents at hand.
pub struct Bench {
    device: Device,
    info: DeviceInfo,
    roofline: Roofline,
    cublaslt: RefCell<CublasLt>,
    leaky_relu: LeakyRelu,
    copy: RefCell<Copy>,
    rounds: usize,
}

impl Bench {
    pub fn new(device: &Device) -> Outcome<Self> {
        let info = device.info()?;
        let roofline = Roofline::of(&info).ok_or("the peak rate of this GPU is not known")?;
        let rounds = std::env::var("AUTOKERNEL_BENCH_ROUNDS").map_or(Ok(30), |rounds| rounds.parse())?;
        let cublaslt = RefCell::new(CublasLt::new(device)?);
        let leaky_relu = LeakyRelu::new(device)?;
        let copy = RefCell::new(Copy::new(device)?);
        Ok(Bench { device: device.clone(), info, roofline, cublaslt, leaky_relu, copy, rounds })
    }

    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    pub fn run(&self, case: &Comparison, shape: Extents, buffers: Buffers, beside: Beside) -> Outcome<Row> {
        match case.kernel {
            AnyKernel::Bf16(kernel) => self.compare(case, kernel, shape, buffers, beside),
            AnyKernel::F16(kernel) => self.compare(case, kernel, shape, buffers, beside),
        }
    }

    fn compare<T: Element>(
        &self,
        case: &Comparison,
        kernel: &Kernel<T, T>,
        shape: Extents,
        buffers: Buffers,
        beside: Beside,
    ) -> Outcome<Row> {
        let layout = matmul::layout(&kernel.descriptor()?.signature);
        let operands = RefCell::new(Operands::<T>::new(&self.device, shape, layout, buffers)?);
        let (gemm, algorithm) = self.best_gemm(case.opponent, shape, layout, &operands)?;

        let mut ours = |launch| {
            let mut operands = operands.borrow_mut();
            let (a, b, out) = operands.set(launch);
            kernel.launch(a, b, out)
        };
        let mut theirs = |launch| self.launch_opponent(case.opponent, &gemm, algorithm, &operands, launch);
        let mut timer = Timer::new(&self.device, Cache::Warm)?;
        let launch_ms = timer.warm_up(WarmUp::default(), &mut ours)?.last_ms;
        timer.warm_up(WarmUp::default(), &mut theirs)?;
        let launches = (BATCH_MS / launch_ms).ceil().clamp(2.0, 1000.0) as usize;
        let mut copy = |_| self.copy.borrow_mut().run();
        let mut candidates: Vec<Candidate<'_>> = vec![&mut ours, &mut theirs];
        if beside == Beside::Copy {
            candidates.push(&mut copy);
        }
        let found = timer.interleave(self.rounds, launches, &mut candidates)?;

        let timing = found.timing(0)?;
        let work = matmul::work(&shape, T::DTYPE, T::DTYPE);
        let copy_share = || {
            let bytes = self.copy.borrow().bytes();
            let shares: Vec<f64> = found.ratios(2, 0).iter().map(|ratio| ratio * work.bytes / bytes).collect();
            Statistics::of(&shares)
        };
        Ok(Row {
            name: case.name,
            opponent: case.opponent.name(),
            shape,
            buffers,
            schedule: kernel.plan(&self.device, &shape)?.to_string(),
            sets: operands.borrow().count(),
            launches_per_round: launches,
            ours: timing,
            theirs: found.timing(1)?,
            speedup: found.ratio(1, 0)?,
            tflops: work.tflops(timing.median_ms),
            roofline_pct: self.roofline.percent(&work, timing.median_ms),
            gb_s: work.gb_s(timing.median_ms),
            copy_share: (beside == Beside::Copy).then(copy_share).transpose()?,
            heuristics: gemm.algorithms(),
        })
    }

    /// cuBLASLt's product with the algorithm that makes the opponent as a whole fastest.
    fn best_gemm<T: Element>(
        &self,
        opponent: Opponent,
        shape: Extents,
        layout: matmul::Layout,
        operands: &RefCell<Operands<T>>,
    ) -> Outcome<(Gemm, usize)> {
        let epilogue = match opponent {
            Opponent::Gemm(epilogue) => epilogue,
            Opponent::GemmThenLeakyRelu => Epilogue::Identity,
        };
        let dtype: Dtype = T::DTYPE;
        let gemm = self
            .cublaslt
            .borrow()
            .gemm(GemmProblem { extents: shape, dtype, output: dtype, layout, epilogue }, HEURISTICS)?;
        let mut timer = Timer::new(&self.device, Cache::Warm)?;
        let best = autokernel_baseline::fastest(gemm.algorithms(), |algorithm, launches| {
            let mut work = |launch| self.launch_opponent(opponent, &gemm, algorithm, operands, launch);
            // Algorithms that refuse these operands are out of the race.
            Ok::<_, autokernel::Error>(timer.time_batch(launches, &mut work).ok())
        })?;
        Ok((gemm, best.ok_or("no algorithm of cuBLASLt runs")?.0))
    }

    fn launch_gemm<T: Element>(
        &self,
        gemm: &Gemm,
        algorithm: usize,
        operands: &RefCell<Operands<T>>,
        launch: usize,
    ) -> autokernel::Result<()> {
        let mut operands = operands.borrow_mut();
        let (a, b, out) = operands.set(launch);
        gemm.launch(&mut self.cublaslt.borrow_mut(), algorithm, a, b, out).map_err(Into::into)
    }

    fn launch_opponent<T: Element>(
        &self,
        opponent: Opponent,
        gemm: &Gemm,
        algorithm: usize,
        operands: &RefCell<Operands<T>>,
        launch: usize,
    ) -> autokernel::Result<()> {
        self.launch_gemm(gemm, algorithm, operands, launch)?;
        if opponent == Opponent::GemmThenLeakyRelu {
            let mut operands = operands.borrow_mut();
            self.leaky_relu.launch(SLOPE, operands.set(launch).2)?;
        }
        Ok(())
    }
}
