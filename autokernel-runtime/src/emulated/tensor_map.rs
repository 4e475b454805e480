//! Tensor maps as the emulator encodes them: the description that the driver would be given.

use autokernel_core::TileBox;
use autokernel_emulator::{Element, Fill, Gpu, Swizzle, TensorMap as Description};

use crate::emulation::emulated;
use crate::launch::{Region, TensorMap, Transfer};
use crate::{Dtype, Result};

/// Encodes the map of a transfer.
///
/// # Errors
/// [`Error::TooLarge`](crate::Error::TooLarge) as on a GPU, or what the driver would refuse.
pub(super) fn encode(gpu: &Gpu, symbol: &str, transfer: &Transfer, region: &Region) -> Result<TensorMap> {
    Transfer::check(region)?;
    let TileBox { rows, columns, swizzle } = transfer.tile;
    let (rank, [outer, inner]) = (transfer.map_rank(), transfer.outer(region));
    let description = Description {
        base: region.address,
        element: element(transfer.dtype),
        // Innermost first.
        dimensions: [region.columns, region.rows, inner.size, outer.size][..rank].to_vec(),
        strides: [region.stride, inner.stride, outer.stride][..rank - 1].to_vec(),
        extents: [columns, rows, 1, 1][..rank].to_vec(),
        swizzle: swizzle_of(swizzle),
        fill: Fill::Zeros,
    };
    let bytes = gpu.encode(&description).map_err(|error| emulated(symbol, error))?;
    let (words, _) = bytes.as_chunks::<8>();
    let mut map = TensorMap::default();
    map.iter_mut().zip(words).for_each(|(word, bytes)| *word = u64::from_ne_bytes(*bytes));
    Ok(map)
}

fn element(dtype: Dtype) -> Element {
    match dtype {
        Dtype::Bf16 => Element::Bf16,
        Dtype::F16 => Element::F16,
        // No kernel maps an index: the words are what counts.
        Dtype::F32 | Dtype::I32 => Element::F32,
        Dtype::E4m3 | Dtype::E5m2 | Dtype::I8 | Dtype::I4x2 => Element::U8,
    }
}

fn swizzle_of(bytes: u32) -> Swizzle {
    match bytes {
        128 => Swizzle::Bytes128,
        64 => Swizzle::Bytes64,
        32 => Swizzle::Bytes32,
        _ => Swizzle::None,
    }
}
