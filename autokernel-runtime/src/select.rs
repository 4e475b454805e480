//! Which compiled variant serves a shape on a GPU, and why.

use std::fmt;

use crate::shape::log_distance;
use crate::{ComputeCapability, Error, Image, KernelDescriptor, Result, Shape, Tuned, Variant};

/// What decides whether a variant runs on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The GPU's compute capability.
    pub capability: ComputeCapability,
    /// The most dynamic shared memory a block may use, in bytes.
    pub shared_bytes: u32,
}

/// Where a product would run, with which schedule, and why. Its `Display` is one sentence.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Plan<'k> {
    /// On the CPU, by the `gemm` crate.
    Cpu,
    /// On a GPU.
    Gpu {
        /// The schedule that was chosen.
        variant: &'k Variant,
        /// The image that would be loaded.
        image: Image<'k>,
        /// Why this schedule.
        reason: Reason,
    },
}

/// Why a variant was chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reason {
    /// It was tuned for exactly this shape.
    Exact,
    /// It was tuned for the nearest shape, at this distance; see [`Shape::distance`].
    Nearest {
        /// Distance in natural logarithms.
        distance: f64,
    },
    /// Nothing was tuned for this architecture: the safe default.
    Default,
}

impl fmt::Display for Plan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Gpu { variant, image, reason } = self else {
            return f.write_str("on the CPU, in f32 with the gemm crate");
        };
        write!(f, "{} ({} for {}): ", variant.symbol, image.kind(), variant.arch)?;
        match (reason, &variant.tuned) {
            (Reason::Exact, Some(tuned)) => write!(f, "tuned for this shape {}", Provenance(tuned)),
            (Reason::Nearest { distance }, Some(tuned)) => {
                let factor = distance.exp();
                write!(f, "tuned for the nearest shape, {} ({factor:.2}x away), {}", tuned.shape, Provenance(tuned))
            }
            _ => write!(f, "the safe default, as nothing was tuned for {}", variant.arch),
        }
    }
}

struct Provenance<'a>(&'a Tuned);

impl fmt::Display for Provenance<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tuned { gpu, date, median_ms, tflops, .. } = self.0;
        write!(f, "on {gpu}, {date}: {median_ms:.4} ms, {tflops:.1} TFLOP/s")
    }
}

/// The variants of one kernel that are candidates on one GPU: those of the best architecture that runs there.
#[derive(Debug)]
pub(crate) struct Candidates {
    /// Index of each tuned variant, with the logarithms of its shape.
    tuned: Vec<(usize, [f64; 3])>,
    /// Index of the safe default.
    fallback: Option<usize>,
}

impl Candidates {
    /// Collects the candidates.
    ///
    /// # Errors
    /// [`Error::NotCompiled`] without images, [`Error::WrongArch`] if none of them runs on this GPU.
    pub fn new(kernel: &KernelDescriptor, target: Target) -> Result<Self> {
        let variants = &kernel.variants;
        let has_image = |variant: &Variant| !variant.ptx.is_empty() || variant.cubin.is_some();
        if !variants.iter().any(has_image) {
            return Err(not_compiled(kernel));
        }
        let runs = |variant: &&Variant| {
            variant.geometry.shared_bytes <= target.shared_bytes && variant.image_for(target.capability).is_some()
        };
        let best = variants.iter().filter(runs).map(|variant| variant.arch.preference()).max();
        let best = best.ok_or_else(|| wrong_arch(kernel, target))?;

        let mut candidates = Self { tuned: Vec::new(), fallback: None };
        let serves = |variant: &&Variant| variant.arch.preference() == best && runs(variant);
        for (index, variant) in variants.iter().enumerate().filter(|(_, variant)| serves(variant)) {
            match &variant.tuned {
                Some(tuned) => candidates.tuned.push((index, tuned.shape.ln())),
                None => candidates.fallback = candidates.fallback.or(Some(index)),
            }
        }
        Ok(candidates)
    }

    /// The variant for a shape: the nearest tuned one (the first of equals), else the default.
    pub fn choose(&self, shape: Shape) -> Option<(usize, Reason)> {
        let wanted = shape.ln();
        let distances = self.tuned.iter().map(|(index, ln)| (*index, log_distance(*ln, wanted)));
        let nearest = distances.min_by(|(_, a), (_, b)| a.total_cmp(b));
        match nearest {
            Some((index, 0.0)) => Some((index, Reason::Exact)),
            Some((index, distance)) => Some((index, Reason::Nearest { distance })),
            None => self.fallback.map(|index| (index, Reason::Default)),
        }
    }
}

/// The plan for a shape on a GPU; pure, so that it can be asked of a GPU that is not there.
///
/// The best architecture that runs is taken first (the latest capability, then the most specific instructions),
/// then among its variants the tuned one with the nearest shape, else its safe default.
///
/// # Errors
/// [`Error::NotCompiled`] without images, [`Error::WrongArch`] if none runs on that GPU.
pub fn plan_for(kernel: &KernelDescriptor, target: Target, shape: Shape) -> Result<Plan<'_>> {
    let candidates = Candidates::new(kernel, target)?;
    plan(kernel, &candidates, target, shape)
}

/// The plan among candidates.
pub(crate) fn plan<'k>(
    kernel: &'k KernelDescriptor,
    candidates: &Candidates,
    target: Target,
    shape: Shape,
) -> Result<Plan<'k>> {
    let (index, reason) = candidates.choose(shape).ok_or_else(|| wrong_arch(kernel, target))?;
    let variant = kernel.variants.get(index).ok_or_else(|| wrong_arch(kernel, target))?;
    let image = variant.image_for(target.capability).ok_or_else(|| wrong_arch(kernel, target))?;
    Ok(Plan::Gpu { variant, image, reason })
}

fn not_compiled(kernel: &KernelDescriptor) -> Error {
    let reason = match &kernel.not_compiled {
        Some(reason) => reason.to_string(),
        None => "its build emitted none; rebuild with an nvcc (set AUTOKERNEL_NVCC or CUDA_HOME)".to_owned(),
    };
    Error::NotCompiled { kernel: kernel.name.to_string(), reason }
}

pub(crate) fn wrong_arch(kernel: &KernelDescriptor, target: Target) -> Error {
    let mut archs: Vec<String> = kernel.variants.iter().map(|variant| variant.arch.to_string()).collect();
    archs.sort();
    archs.dedup();
    Error::WrongArch {
        kernel: kernel.name.to_string(),
        compiled_for: archs.join(", "),
        gpu: target.capability,
        shared_bytes: target.shared_bytes,
    }
}
