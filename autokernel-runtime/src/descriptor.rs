//! What a build knows of one declared kernel: plain data that a `static` can hold.

use std::borrow::Cow;

use crate::{Arch, ComputeCapability, Dtype, Geometry, Shape};

/// Everything a build knows of one declared kernel.
///
/// Plain data; every field can be written in a `const`, so that generated code is a `static` and costs nothing at start.
#[derive(Debug, Clone)]
pub struct KernelDescriptor {
    /// The declared function's name.
    pub name: Cow<'static, str>,
    /// What is computed.
    pub problem: ProblemDescriptor,
    /// The compiled schedules; empty when nothing was compiled.
    pub variants: Cow<'static, [Variant]>,
    /// Why there are no images, with the remedy in the text; `None` when there are.
    pub not_compiled: Option<Cow<'static, str>>,
    /// The epilogue in Rust: what the CPU backend applies to each `f32` sum.
    pub epilogue: fn(f32) -> f32,
}

/// What is computed: `C = epilogue(A · B)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProblemDescriptor {
    /// Element type of A and B.
    pub input: Dtype,
    /// Element type of C.
    pub output: Dtype,
    /// `false`: B is stored as `[K, N]`; `true`: B is stored as `[N, K]`, as in `x · Wᵀ`.
    pub transpose_b: bool,
    /// N, if it was compiled in.
    pub known_n: Option<u32>,
    /// K, if it was compiled in.
    pub known_k: Option<u32>,
    /// The epilogue as written, for people: `leaky_relu(0.01)`.
    pub epilogue: Cow<'static, str>,
}

/// One compiled schedule.
#[derive(Debug, Clone)]
pub struct Variant {
    /// What the images were compiled for.
    pub arch: Arch,
    /// What it was tuned for; `None` is the architecture's safe default.
    pub tuned: Option<Tuned>,
    /// What a launch must know of the schedule.
    pub geometry: Geometry,
    /// The whole schedule as JSON, for people.
    pub schedule: Cow<'static, str>,
    /// The kernel's name inside the images.
    pub symbol: Cow<'static, str>,
    /// PTX text; may be empty if there is a cubin.
    pub ptx: Cow<'static, [u8]>,
    /// Machine code for exactly `arch`.
    pub cubin: Option<Cow<'static, [u8]>>,
}

/// What a schedule was tuned for, and how it was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuned {
    /// The shape it won.
    pub shape: Shape,
    /// The GPU it was measured on.
    pub gpu: Cow<'static, str>,
    /// The driver's version.
    pub driver: Cow<'static, str>,
    /// The nvcc version.
    pub nvcc: Cow<'static, str>,
    /// The day, as `YYYY-MM-DD`.
    pub date: Cow<'static, str>,
    /// Median time of a launch, in milliseconds.
    pub median_ms: f64,
    /// Interquartile range over median, in percent.
    pub spread_pct: f64,
    /// 2·M·N·K over the median time, in 10¹² FLOP/s.
    pub tflops: f64,
    /// Which strategy proposed it.
    pub proposed_by: Cow<'static, str>,
}

/// One compiled image, as the driver takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Image<'a> {
    /// PTX text: the driver compiles it when it is loaded.
    Ptx(&'a [u8]),
    /// Machine code: loaded as it is.
    Cubin(&'a [u8]),
}

impl Image<'_> {
    /// `PTX` or `cubin`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Ptx(_) => "PTX",
            Self::Cubin(_) => "cubin",
        }
    }
}

impl Variant {
    /// The image that runs on a GPU of that compute capability: the cubin if it does, else the PTX, else none.
    pub fn image_for(&self, gpu: ComputeCapability) -> Option<Image<'_>> {
        let cubin = self.cubin.as_deref().filter(|_| self.arch.cubin_runs_on(gpu));
        let ptx = || Some(&*self.ptx).filter(|ptx| !ptx.is_empty() && self.arch.ptx_runs_on(gpu));
        cubin.map(Image::Cubin).or_else(|| ptx().map(Image::Ptx))
    }
}
