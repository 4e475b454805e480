//! The launch of the `sm90` family; mirrors `sm90_matmul.cuh`.

use std::mem::offset_of;

use super::map_cache::MapCache;
use super::raster::RasterArgs;
use super::tensor_map::{CopyBox, Global, TensorMap};
use crate::{Dtype, Geometry, ProblemDescriptor, Result, Shape};

/// `autokernel::sm90::Args`.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Args {
    pub a: TensorMap,
    pub b: TensorMap,
    pub c: TensorMap,
    pub c_ptr: u64,
    pub ldc: i64,
    pub m: i32,
    pub n: i32,
    pub k: i32,
    pub raster: RasterArgs,
    pub store_with_tma: i32,
}

const _: () = {
    assert!(offset_of!(Args, c_ptr) == 384 && offset_of!(Args, m) == 400 && offset_of!(Args, raster) == 412);
    assert!(offset_of!(Args, store_with_tma) == 420 && size_of::<Args>() == 448);
};

/// Bytes of a row of an operand's box: one swizzle row of 64 elements.
const SWIZZLE_BYTES: u32 = 128;
const SWIZZLE_ELEMENTS: u32 = 64;
/// Rows of a `wgmma` block that one warp holds: rows of its store box, or columns when the operands are swapped.
const WARP_ROWS: u32 = 16;
/// The most rows of a store box when the operands are swapped.
const MAX_STORE_TOKENS: u32 = 64;

/// The boxes of the three operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Boxes {
    pub a: CopyBox,
    pub b: CopyBox,
    pub c: CopyBox,
}

impl Boxes {
    /// Boxes of a schedule. The geometry has been checked: nothing here is zero.
    pub fn new(problem: &ProblemDescriptor, geometry: &Geometry) -> Self {
        let operand = |rows| CopyBox {
            dtype: problem.input,
            columns: SWIZZLE_ELEMENTS,
            rows,
            swizzle: SWIZZLE_BYTES,
            loaded: true,
        };
        // Row-major B comes in panels of 64 columns, K-major B in one box of all its columns.
        let b_rows = if problem.transpose_b { geometry.tile_n / geometry.cluster_m } else { SWIZZLE_ELEMENTS };
        Self {
            a: operand(geometry.tile_m / geometry.cluster_n),
            b: operand(b_rows),
            c: store_box(problem.output, geometry),
        }
    }
}

/// A store box is as wide as the widest swizzle row that divides a row of the tile; of a transposed tile it is as high
/// as the most rows that divide the tile's.
fn store_box(output: Dtype, geometry: &Geometry) -> CopyBox {
    let element = output.bytes() as u32;
    let (width, rows) = if geometry.swap_ab {
        let divides = |rows: &u32| geometry.tile_m.is_multiple_of(*rows);
        (WARP_ROWS * element, (8..=MAX_STORE_TOKENS).rev().step_by(8).find(divides).unwrap_or(8))
    } else {
        let row = geometry.tile_n * element;
        (*[128, 64, 32].iter().find(|width| row.is_multiple_of(**width)).unwrap_or(&16), WARP_ROWS)
    };
    CopyBox { dtype: output, columns: width / element, rows, swizzle: width, loaded: false }
}

/// The cached maps of one kernel's operands.
#[derive(Debug, Default)]
pub(super) struct Maps {
    a: MapCache,
    b: MapCache,
    c: MapCache,
}

/// The encoded maps of one launch.
#[derive(Debug)]
pub(super) struct Encoded {
    pub a: TensorMap,
    pub b: TensorMap,
    pub c: TensorMap,
    pub store_with_tma: bool,
}

impl Maps {
    /// The maps of a launch. Without K there is nothing to load; C that TMA cannot store exactly is stored without it.
    pub fn encode(&mut self, boxes: &Boxes, a: Option<Global>, b: Option<Global>, c: Global) -> Result<Encoded> {
        let store_with_tma = c.is_storable(boxes.c.dtype);
        let optional = |cache: &mut MapCache, global: Option<Global>, part| {
            global.map_or(Ok(TensorMap::ZERO), |global| cache.get(global, part))
        };
        Ok(Encoded {
            a: optional(&mut self.a, a, boxes.a)?,
            b: optional(&mut self.b, b, boxes.b)?,
            c: optional(&mut self.c, store_with_tma.then_some(c), boxes.c)?,
            store_with_tma,
        })
    }
}

/// Clusters of output tiles along M and along N: the unit that is rastered.
pub(super) fn clusters(geometry: &Geometry, shape: Shape) -> (u32, u32) {
    let (tiles_m, tiles_n) = geometry.tiles(shape.m, shape.n);
    (tiles_m.div_ceil(geometry.cluster_m), tiles_n.div_ceil(geometry.cluster_n))
}

/// Thread blocks of the grid: as many clusters as there are, or, persistent, as fit the GPU at once. With a split K a
/// cluster computes one tile, so there are as many as tiles.
///
/// # Errors
/// [`crate::Error::TooLarge`] if a kernel cannot count the tiles, or a grid the blocks.
pub(super) fn grid(geometry: &Geometry, shape: Shape, sm_count: u32) -> Result<u32> {
    let cluster = geometry.cluster_size().max(1);
    let (clusters_m, clusters_n) = clusters(geometry, shape);
    if geometry.split_k > 1 {
        return super::raster::count((clusters_m.saturating_mul(cluster), clusters_n));
    }
    let fitting = (sm_count / cluster).max(1);
    Ok(fitting.min(super::raster::count((clusters_m, clusters_n))?) * cluster)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::{Family, Raster, RasterOrder};

    fn geometry(tile_m: u32, tile_n: u32, cluster_m: u32, cluster_n: u32) -> Geometry {
        Geometry {
            family: Family::Sm90,
            tile_m,
            tile_n,
            tile_k: 64,
            cluster_m,
            cluster_n,
            swap_ab: false,
            split_k: 1,
            threads: 384,
            shared_bytes: 200_000,
            raster: Raster::new(RasterOrder::AlongM, 8),
        }
    }

    fn problem(output: Dtype, transpose_b: bool) -> ProblemDescriptor {
        ProblemDescriptor {
            input: Dtype::Bf16,
            output,
            transpose_b,
            known_n: None,
            known_k: None,
            epilogue: Cow::Borrowed("identity"),
        }
    }

    #[test]
    fn blocks_of_a_cluster_share_the_load_of_an_operand() {
        let boxes = Boxes::new(&problem(Dtype::Bf16, true), &geometry(128, 256, 2, 1));
        assert_eq!((boxes.a.columns, boxes.a.rows), (64, 128));
        assert_eq!((boxes.b.columns, boxes.b.rows), (64, 128));
        let boxes = Boxes::new(&problem(Dtype::Bf16, false), &geometry(128, 256, 1, 2));
        assert_eq!((boxes.a.rows, boxes.b.rows), (64, 64));
    }

    #[test]
    fn a_store_box_is_the_widest_swizzle_row_that_divides_the_tile() {
        let width = |output, tile_n| {
            let c = Boxes::new(&problem(output, true), &geometry(128, tile_n, 1, 1)).c;
            (c.columns, c.rows, c.swizzle)
        };
        assert_eq!(width(Dtype::Bf16, 256), (64, 16, 128));
        assert_eq!(width(Dtype::F32, 256), (32, 16, 128));
        assert_eq!(width(Dtype::Bf16, 96), (32, 16, 64));
        assert_eq!(width(Dtype::Bf16, 208), (16, 16, 32));
        assert_eq!(width(Dtype::Bf16, 24), (8, 16, 16));
        assert_eq!(width(Dtype::F32, 24), (8, 16, 32));
    }

    #[test]
    fn a_store_box_of_a_transposed_tile_is_one_warps_columns_by_the_most_rows_that_divide_the_tile() {
        let part = |output, tile_m| {
            let geometry = Geometry { swap_ab: true, ..geometry(tile_m, 128, 1, 1) };
            let c = Boxes::new(&problem(output, true), &geometry).c;
            (c.columns, c.rows, c.swizzle)
        };
        assert_eq!(part(Dtype::Bf16, 8), (16, 8, 32));
        assert_eq!(part(Dtype::F32, 64), (16, 64, 64));
        assert_eq!(part(Dtype::F32, 96), (16, 48, 64));
        assert_eq!(part(Dtype::Bf16, 88), (16, 8, 32));
        assert_eq!(part(Dtype::Bf16, 256), (16, 64, 32));
    }

    #[test]
    fn a_split_k_grid_has_a_cluster_for_each_tile() {
        let split = Geometry { split_k: 4, ..geometry(128, 256, 1, 1) };
        assert_eq!(grid(&split, Shape::new(1, 1, 64), 132).unwrap(), 4);
        assert_eq!(grid(&split, Shape::new(8192, 8192, 64), 132).unwrap(), 4 * 64 * 32);
        assert!(grid(&split, Shape::new(1 << 23, 1 << 22, 64), 132).is_err());
    }

    #[test]
    fn the_grid_is_persistent_and_whole_clusters() {
        let shape = |m, n| Shape::new(m, n, 64);
        let single = geometry(128, 256, 1, 1);
        assert_eq!(grid(&single, shape(8192, 8192), 132).unwrap(), 132);
        assert_eq!(grid(&single, shape(1, 1), 132).unwrap(), 1);
        let paired = geometry(128, 256, 2, 1);
        assert_eq!(grid(&paired, shape(1, 1), 132).unwrap(), 2);
        assert_eq!(grid(&paired, shape(8192, 8192), 133).unwrap(), 132);
        assert_eq!(grid(&paired, shape(300, 300), 132).unwrap(), 2 * 2 * 2);
    }

    #[test]
    fn without_k_and_with_an_unaligned_c_nothing_is_encoded() {
        let boxes = Boxes::new(&problem(Dtype::Bf16, true), &geometry(128, 256, 1, 1));
        let c = Global { address: 2, columns: 4, rows: 4, stride: 8 };
        let maps = Maps::default().encode(&boxes, None, None, c).unwrap();
        assert_eq!((maps.a, maps.b, maps.c), (TensorMap::ZERO, TensorMap::ZERO, TensorMap::ZERO));
        assert!(!maps.store_with_tma);
    }
}
