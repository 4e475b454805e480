//! What the host must know of a schedule in order to launch it.

/// A kernel family: one template in CUDA, one way to launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// `mma.sync`, `ldmatrix`, `cp.async`: one thread block an output tile; plain pointers.
    Sm80,
    /// `wgmma` and TMA, warp-specialised: a persistent grid; tensor maps.
    Sm90,
}

/// The axis along which consecutive output tiles lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RasterOrder {
    /// Neighbours differ in M first, so they share a column block of B.
    AlongM,
    /// Neighbours differ in N first, so they share a row block of A.
    AlongN,
}

/// The order in which output tiles are visited: it decides what concurrent tiles share in L2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Raster {
    /// The fast axis.
    pub order: RasterOrder,
    /// Tiles of the fast axis that are visited before the slow axis moves on; at least 1.
    pub group: u32,
}

impl Raster {
    /// A raster order and its group, in tiles.
    pub const fn new(order: RasterOrder, group: u32) -> Self {
        Self { order, group }
    }
}

/// What the host must know of a schedule in order to launch it.
///
/// Everything else about a schedule is inside the compiled image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// The kernel family.
    pub family: Family,
    /// Rows of an output tile.
    pub tile_m: u32,
    /// Columns of an output tile.
    pub tile_n: u32,
    /// Extent of K that one pipeline stage holds.
    pub tile_k: u32,
    /// Thread blocks of a cluster along M; 1 without clusters.
    pub cluster_m: u32,
    /// Thread blocks of a cluster along N; 1 without clusters.
    pub cluster_n: u32,
    /// Whether the output tile is computed transposed, which decides how it is stored.
    pub swap_ab: bool,
    /// Thread blocks that share the sum over K of one output tile; 1 for none.
    pub split_k: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// The order in which output tiles are visited; free to change without a recompile.
    pub raster: Raster,
}

impl Geometry {
    /// Output tiles along M and along N.
    pub(crate) fn tiles(&self, m: u32, n: u32) -> (u32, u32) {
        (m.div_ceil(self.tile_m.max(1)), n.div_ceil(self.tile_n.max(1)))
    }

    /// Thread blocks of a cluster.
    pub(crate) fn cluster_size(&self) -> u32 {
        self.cluster_m.saturating_mul(self.cluster_n).saturating_mul(self.split_k)
    }
}
