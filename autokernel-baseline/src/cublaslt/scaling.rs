//! What the scales of a product's factors are of.

#[cfg(feature = "block-scales")]
use cudarc::cublaslt::sys;

/// What a scale is of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    Factors,
    #[cfg(feature = "block-scales")]
    Blocks,
    #[cfg(feature = "block-scales")]
    RowsAndColumns,
}

impl Scaling {
    /// Whether sums of fewer digits than fp32 are left as they are. Those of blocks are promoted as they are scaled.
    pub fn sums_may_be_short(self) -> bool {
        match self {
            Scaling::Factors => true,
            #[cfg(feature = "block-scales")]
            Scaling::RowsAndColumns => true,
            #[cfg(feature = "block-scales")]
            Scaling::Blocks => false,
        }
    }

    /// What the scales of our factors are of, where that is not all of one.
    #[cfg(feature = "block-scales")]
    pub fn modes(self) -> Option<[sys::cublasLtMatmulMatrixScale_t; 2]> {
        use sys::cublasLtMatmulMatrixScale_t as Scale;
        match self {
            Scaling::Factors => None,
            // 128 of each row of the first factor, and 128 by 128 of the second one.
            Scaling::Blocks => Some([
                Scale::CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F,
                Scale::CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F,
            ]),
            Scaling::RowsAndColumns => Some([Scale::CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F; 2]),
        }
    }

    /// How many numbers scale each factor of a product of those sizes.
    #[cfg_attr(not(feature = "block-scales"), allow(unused_variables, reason = "factors alone have one each"))]
    pub fn lengths(self, sizes: [usize; 3]) -> [usize; 2] {
        match self {
            Scaling::Factors => [1, 1],
            #[cfg(feature = "block-scales")]
            Scaling::Blocks => {
                let [m, n, k] = sizes;
                let along_k = k.div_ceil(128);
                [m * along_k, n.div_ceil(128) * along_k.next_multiple_of(4)]
            }
            #[cfg(feature = "block-scales")]
            Scaling::RowsAndColumns => {
                let [m, n, _] = sizes;
                [m, n]
            }
        }
    }
}
