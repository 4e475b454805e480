//! How our kernels take their arguments: the one place of the tests that knows the layout of each `Args`.

use autokernel_codegen::problem::Problem;
use autokernel_codegen::schedule::{Family, Geometry, Raster, RasterOrder, Schedule};
use autokernel_emulator::{DevicePointer, Element, Fill, Gpu, HANDLE_BYTES, Launch, Swizzle, TensorMap};

use super::host::{Shape, element_of};

/// A row-major matrix on the emulated GPU.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    pub pointer: DevicePointer,
    pub rows: u32,
    pub columns: u32,
    /// Elements from one row to the next.
    pub ld: u32,
}

/// Multiprocessors of the emulated GPU: few, so that small grids are persistent too.
const MULTIPROCESSORS: u32 = 4;

/// The launch of the kernel of `schedule` for `problem`.
pub fn launch(gpu: &Gpu, problem: &Problem, schedule: &Schedule, shape: Shape, matrices: [Placed; 3]) -> Launch {
    let geometry = schedule.geometry(&problem.class());
    match geometry.family {
        Family::Sm80 => sm80(&geometry, shape, matrices),
        Family::Sm90 => sm90(gpu, problem, &geometry, shape, matrices),
    }
}

/// Parameters, field by field.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn u32s(mut self, values: &[u32]) -> Self {
        values.iter().for_each(|value| self.0.extend(value.to_le_bytes()));
        self
    }

    fn map(mut self, map: [u8; HANDLE_BYTES]) -> Self {
        self.0.extend(map);
        self
    }

    /// Filled up to a size.
    fn end(mut self, bytes: usize) -> Vec<u8> {
        assert!(self.0.len() <= bytes);
        self.0.resize(bytes, 0);
        self.0
    }
}

fn tiles(geometry: &Geometry, shape: Shape) -> (u32, u32) {
    (shape.m.div_ceil(geometry.tile_m), shape.n.div_ceil(geometry.tile_n))
}

/// `autokernel::Raster`.
fn raster(raster: Raster, (tiles_m, tiles_n): (u32, u32)) -> [u32; 2] {
    match raster.order {
        RasterOrder::AlongM => [0, raster.group.clamp(1, tiles_m.max(1))],
        RasterOrder::AlongN => [1, raster.group.clamp(1, tiles_n.max(1))],
    }
}

fn block(threads: u32) -> [u32; 3] {
    [threads, 1, 1]
}

/// `autokernel::sm80::Args`.
fn sm80(geometry: &Geometry, shape: Shape, [a, b, c]: [Placed; 3]) -> Launch {
    let (tiles_m, tiles_n) = tiles(geometry, shape);
    let parameters = Bytes::default()
        .u64(a.pointer.0)
        .u64(b.pointer.0)
        .u64(c.pointer.0)
        .u64(a.ld.into())
        .u64(b.ld.into())
        .u64(c.ld.into())
        .u32s(&[shape.m, shape.n, shape.k])
        .u32s(&raster(geometry.raster, (tiles_m, tiles_n)))
        .end(72);
    Launch {
        grid: [tiles_m * tiles_n, 1, 1],
        block: block(geometry.threads),
        cluster: None,
        dynamic_shared: geometry.shared_bytes,
        overlaps_previous: false,
        parameters,
    }
}

/// `autokernel::sm90::Args`.
fn sm90(gpu: &Gpu, problem: &Problem, geometry: &Geometry, shape: Shape, [a, b, c]: [Placed; 3]) -> Launch {
    let (input, output) = (element_of(problem.input), element_of(problem.output));
    let b_rows = if problem.layout.transpose_b() { geometry.tile_n / geometry.cluster_m } else { 64 };
    let (c_width, c_rows) = store_box(output.bytes(), geometry);
    let stored_by_tma = is_storable(c, output.bytes());
    let loads = |matrix: Placed, rows: u32| match shape.k {
        0 => [0; HANDLE_BYTES],
        _ => encode(gpu, matrix, input, [64, rows], 128),
    };
    let c_map = match stored_by_tma {
        true => encode(gpu, c, output, [c_width / output.bytes(), c_rows], c_width),
        false => [0; HANDLE_BYTES],
    };
    let (tiles_m, tiles_n) = tiles(geometry, shape);
    let clusters = (tiles_m.div_ceil(geometry.cluster_m), tiles_n.div_ceil(geometry.cluster_n));
    let parameters = Bytes::default()
        .map(loads(a, geometry.tile_m / geometry.cluster_n))
        .map(loads(b, b_rows))
        .map(c_map)
        .u64(c.pointer.0)
        .u64(c.ld.into())
        .u32s(&[shape.m, shape.n, shape.k])
        .u32s(&raster(geometry.raster, clusters))
        .u32s(&[u32::from(stored_by_tma)])
        .end(448);

    let cluster = geometry.cluster_m * geometry.cluster_n * geometry.split_k;
    let count = clusters.0 * clusters.1;
    let running = if geometry.split_k > 1 { count } else { count.min((MULTIPROCESSORS / cluster).max(1)) };
    Launch {
        grid: [running * cluster, 1, 1],
        block: block(geometry.threads),
        cluster: None,
        dynamic_shared: geometry.shared_bytes,
        overlaps_previous: true,
        parameters,
    }
}

/// Bytes of a row of a store box, and its rows.
fn store_box(element: u32, geometry: &Geometry) -> (u32, u32) {
    if geometry.swap_ab {
        let divides = |rows: &u32| geometry.tile_m.is_multiple_of(*rows);
        return (16 * element, (8..=64).rev().step_by(8).find(divides).unwrap_or(8));
    }
    let row = geometry.tile_n * element;
    (*[128, 64, 32].iter().find(|width| row.is_multiple_of(**width)).unwrap_or(&16), 16)
}

fn is_storable(c: Placed, element: u32) -> bool {
    c.pointer.0.is_multiple_of(16) && (c.ld * element).is_multiple_of(16) && (c.columns * element).is_multiple_of(16)
}

fn encode(gpu: &Gpu, matrix: Placed, element: Element, extents: [u32; 2], swizzle: u32) -> [u8; HANDLE_BYTES] {
    let map = TensorMap {
        base: matrix.pointer.0,
        element,
        dimensions: vec![matrix.columns.into(), matrix.rows.into()],
        strides: vec![u64::from(matrix.ld) * u64::from(element.bytes())],
        extents: extents.to_vec(),
        swizzle: match swizzle {
            128 => Swizzle::Bytes128,
            64 => Swizzle::Bytes64,
            32 => Swizzle::Bytes32,
            _ => Swizzle::None,
        },
        fill: Fill::Zeros,
    };
    gpu.encode(&map).unwrap()
}

/// `autokernel::reference::Args`.
pub fn reference(shape: Shape, [a, b, c]: [Placed; 3]) -> Launch {
    let parameters = Bytes::default()
        .u64(a.pointer.0)
        .u64(b.pointer.0)
        .u64(c.pointer.0)
        .u64(a.ld.into())
        .u64(b.ld.into())
        .u64(c.ld.into())
        .u32s(&[shape.m, shape.n, shape.k])
        .end(64);
    let grid = [shape.n.div_ceil(16), shape.m.div_ceil(16), 1];
    Launch { grid, block: block(256), cluster: None, dynamic_shared: 0, overlaps_previous: false, parameters }
}

/// `autokernel::PadRowsArgs` with one matrix.
pub fn pad_rows(source: Placed, target: Placed) -> Launch {
    let parameters = Bytes::default()
        .u64(source.pointer.0)
        .u64(target.pointer.0)
        .u64(source.ld.into())
        .u64(target.ld.into())
        .u64(source.rows.into())
        .u64(source.columns.into())
        .end(96);
    let grid = [source.rows.div_ceil(8).clamp(1, 3), source.columns.div_ceil(256).clamp(1, 2), 1];
    Launch { grid, block: block(256), cluster: None, dynamic_shared: 0, overlaps_previous: false, parameters }
}
