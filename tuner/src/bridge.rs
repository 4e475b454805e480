//! From what codegen calls a thing to what the runtime calls it.

use std::borrow::Cow;

use autokernel_codegen::arch::ComputeCapability;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::matmul::sizes;
use autokernel_codegen::problem::Problem;
use autokernel_codegen::schedule::{self, Schedule};
use autokernel_core::Extents;
use autokernel_runtime as runtime;

/// The compute capability that a driver gives as two numbers.
pub fn capability((major, minor): (u32, u32)) -> ComputeCapability {
    let part = |number| u8::try_from(number).unwrap_or(u8::MAX);
    ComputeCapability::new(part(major), part(minor))
}

/// The runtime's element type.
pub fn dtype(dtype: Dtype) -> runtime::Dtype {
    match dtype {
        Dtype::Bf16 => runtime::Dtype::Bf16,
        Dtype::F16 => runtime::Dtype::F16,
        Dtype::F32 => runtime::Dtype::F32,
    }
}

/// The runtime's shape.
pub fn shape(shape: Extents) -> runtime::Shape {
    let [m, n, k] = sizes(&shape);
    runtime::Shape::new(m, n, k)
}

/// How far apart two shapes are, as the runtime chooses the nearest entry: a factor counts, not a difference.
pub fn distance(a: Extents, b: Extents) -> f64 {
    shape(a).distance(shape(b))
}

/// The runtime's description of a problem.
pub fn descriptor(problem: &Problem) -> runtime::ProblemDescriptor {
    runtime::ProblemDescriptor {
        input: dtype(problem.input),
        output: dtype(problem.output),
        transpose_b: problem.layout.transpose_b(),
        known_n: problem.known_n,
        known_k: problem.known_k,
        epilogue: Cow::Owned(problem.epilogue.to_string()),
    }
}

/// The runtime's order of tiles.
pub fn raster(raster: schedule::Raster) -> runtime::Raster {
    let order = match raster.order {
        schedule::RasterOrder::AlongM => runtime::RasterOrder::AlongM,
        schedule::RasterOrder::AlongN => runtime::RasterOrder::AlongN,
    };
    runtime::Raster::new(order, raster.group)
}

/// The runtime's launch geometry of a schedule.
pub fn geometry(problem: &Problem, schedule: &Schedule) -> runtime::Geometry {
    let geometry = schedule.geometry(&problem.class());
    runtime::Geometry {
        family: match geometry.family {
            schedule::Family::Sm80 => runtime::Family::Sm80,
            schedule::Family::Sm90 => runtime::Family::Sm90,
        },
        tile_m: geometry.tile_m,
        tile_n: geometry.tile_n,
        tile_k: geometry.tile_k,
        cluster_m: geometry.cluster_m,
        cluster_n: geometry.cluster_n,
        swap_ab: geometry.swap_ab,
        split_k: geometry.split_k,
        threads: geometry.threads,
        shared_bytes: geometry.shared_bytes,
        raster: raster(geometry.raster),
    }
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::problem::Layout;

    use super::*;

    #[test]
    fn the_geometry_is_the_schedules() {
        let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
        let arch = autokernel_codegen::arch::Arch::SM_90A;
        let schedule = Schedule::default_for(&problem.class(), arch);
        let geometry = geometry(&problem, &schedule);
        assert_eq!((geometry.tile_m, geometry.threads), (128, 384));
        assert_eq!(geometry.family, runtime::Family::Sm90);
    }
}
