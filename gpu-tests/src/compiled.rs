//! Compiled variants: those of a declared kernel, and schedules that are compiled while a test runs.

use std::path::Path;

use autokernel::{
    CompiledKernel, Device, Dtype, Error, Family, Geometry, Image, KernelDescriptor, ProblemDescriptor, Raster,
    RasterOrder, Result, Variant,
};
use autokernel_codegen::problem::Problem;
use autokernel_codegen::schedule::{self, Schedule};
use autokernel_codegen::{dtype, nvcc};

use crate::check::Launch;
use crate::host::Sample;

/// The loaded variants of one declared kernel.
#[derive(Debug, Default)]
pub struct Variants {
    kernels: Vec<(String, CompiledKernel)>,
}

impl Variants {
    /// None: only the kernel itself is run.
    pub fn none() -> Self {
        Self::default()
    }

    /// Every variant of `descriptor` that runs on `device`, so of every family and not of the best alone.
    ///
    /// # Errors
    /// An image cannot be loaded.
    pub fn load(device: &Device, descriptor: &KernelDescriptor) -> Result<Self> {
        let gpu = device.info()?.compute_capability;
        let runs = |variant: &&Variant| variant.image_for(gpu).is_some();
        let load = |variant: &Variant| {
            let image = variant.image_for(gpu).ok_or(Error::NeedsGpu { what: "an image for this GPU" })?;
            // SAFETY: the descriptor was emitted by autokernel's build together with its images.
            let kernel = unsafe {
                CompiledKernel::load(device, &descriptor.problem, &variant.geometry, &variant.symbol, image)
            }?;
            let label = format!("`{}` as {} {} ({})", descriptor.name, variant.arch, variant.schedule, variant.symbol);
            Ok((label, kernel))
        };
        let kernels = descriptor.variants.iter().filter(runs).map(load).collect::<Result<_>>()?;
        Ok(Self { kernels })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.kernels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }

    /// The families that they belong to.
    pub fn families(&self) -> impl Iterator<Item = Family> + '_ {
        self.kernels.iter().map(|(_, kernel)| kernel.geometry().family)
    }

    /// A launch of each, with its name.
    pub fn launches<I: Sample, O: Sample>(&self) -> Vec<(String, Launch<'_, I, O>)> {
        self.kernels.iter().map(|(label, kernel)| (label.clone(), launch_of(kernel))).collect()
    }
}

/// The launch of one compiled kernel.
pub fn launch_of<I: Sample, O: Sample>(kernel: &CompiledKernel) -> Launch<'_, I, O> {
    Box::new(|a, b, out| kernel.launch(a, b, out))
}

/// Loads what nvcc made of `problem` and `schedule`.
///
/// # Errors
/// A text: the cubin cannot be read or loaded.
pub fn load(
    device: &Device,
    problem: &Problem,
    schedule: &Schedule,
    symbol: &str,
    image: &nvcc::Image,
) -> Result<CompiledKernel, String> {
    let cubin = read(&image.cubin)?;
    let (described, geometry) = (describe(problem), geometry(&schedule.geometry(&problem.class())));
    // SAFETY: the image was compiled from the emitted source of exactly this problem and schedule.
    unsafe { CompiledKernel::load(device, &described, &geometry, symbol, Image::Cubin(&cubin)) }
        .map_err(|error| format!("{schedule}: {error}"))
}

/// The bytes of a file.
///
/// # Errors
/// A text with the file's path.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// A problem as the runtime knows it.
pub fn describe(problem: &Problem) -> ProblemDescriptor {
    ProblemDescriptor {
        input: runtime_dtype(problem.input),
        output: runtime_dtype(problem.output),
        transpose_b: problem.layout.transpose_b(),
        known_n: problem.known_n,
        known_k: problem.known_k,
        epilogue: problem.epilogue.to_string().into(),
    }
}

fn runtime_dtype(dtype: dtype::Dtype) -> Dtype {
    match dtype {
        dtype::Dtype::Bf16 => Dtype::Bf16,
        dtype::Dtype::F16 => Dtype::F16,
        dtype::Dtype::F32 => Dtype::F32,
    }
}

fn geometry(geometry: &schedule::Geometry) -> Geometry {
    let schedule::Geometry { tile_m, tile_n, tile_k, cluster_m, cluster_n, .. } = *geometry;
    let schedule::Geometry { family, swap_ab, split_k, threads, shared_bytes, raster, .. } = *geometry;
    let family = match family {
        schedule::Family::Sm80 => Family::Sm80,
        schedule::Family::Sm90 => Family::Sm90,
    };
    let order = match raster.order {
        schedule::RasterOrder::AlongM => RasterOrder::AlongM,
        schedule::RasterOrder::AlongN => RasterOrder::AlongN,
    };
    let raster = Raster::new(order, raster.group);
    Geometry { family, tile_m, tile_n, tile_k, cluster_m, cluster_n, swap_ab, split_k, threads, shared_bytes, raster }
}
