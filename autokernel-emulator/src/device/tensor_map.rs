//! Tensor maps (CUDA driver API, "cuTensorMapEncodeTiled"; PTX ISA, "Tensors").

/// Bytes of a map in a kernel's parameters; they must be 64-byte aligned there.
pub const HANDLE_BYTES: usize = 128;

/// What begins the bytes of every map of the emulator.
const MAGIC: [u8; 8] = *b"AKEmuMap";

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// Unsigned, 8 bits; fp8 too.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 32 bits.
    S32,
    /// Unsigned, 64 bits.
    U64,
    /// IEEE 754 half precision.
    F16,
    /// bfloat16.
    Bf16,
    /// IEEE 754 single precision.
    F32,
    /// IEEE 754 double precision.
    F64,
}

const ELEMENTS: [Element; 9] = [
    Element::U8,
    Element::U16,
    Element::U32,
    Element::S32,
    Element::U64,
    Element::F16,
    Element::Bf16,
    Element::F32,
    Element::F64,
];

impl Element {
    /// Size in bytes.
    pub fn bytes(self) -> u32 {
        match self {
            Element::U8 => 1,
            Element::U16 | Element::F16 | Element::Bf16 => 2,
            Element::U32 | Element::S32 | Element::F32 => 4,
            Element::U64 | Element::F64 => 8,
        }
    }

    /// The NaN that fills what lies outside the tensor.
    fn nan(self) -> Option<&'static [u8]> {
        match self {
            Element::F16 | Element::Bf16 => Some(&[0xff, 0x7f]),
            Element::F32 => Some(&[0xff, 0xff, 0xff, 0x7f]),
            Element::F64 => Some(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
            _ => None,
        }
    }
}

/// How 16-byte units are exchanged in shared memory (PTX ISA, "Swizzling Modes").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Swizzle {
    /// Not at all.
    None,
    /// Within 32 bytes.
    Bytes32,
    /// Within 64 bytes.
    Bytes64,
    /// Within 128 bytes.
    Bytes128,
}

const SWIZZLES: [Swizzle; 4] = [Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128];

impl Swizzle {
    /// Where the byte at `address` in shared memory lies. The pattern is one of addresses, not of offsets in a box.
    pub(crate) fn apply(self, address: u32) -> u32 {
        let mask = match self {
            Swizzle::None => 0,
            Swizzle::Bytes32 => 1,
            Swizzle::Bytes64 => 3,
            Swizzle::Bytes128 => 7,
        };
        address ^ ((address >> 7 & mask) << 4)
    }

    /// The widest row of a box, in bytes.
    fn max_row(self) -> u64 {
        match self {
            Swizzle::None => u64::MAX,
            Swizzle::Bytes32 => 32,
            Swizzle::Bytes64 => 64,
            Swizzle::Bytes128 => 128,
        }
    }
}

/// What a load gives outside the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fill {
    /// Zeros.
    Zeros,
    /// A NaN; floating-point elements alone.
    Nan,
}

/// A tensor in global memory and the box of it that one copy moves. Dimensions are innermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// Address of the first element; 16-byte aligned.
    pub base: u64,
    /// The element type.
    pub element: Element,
    /// Elements along each of 1 to 5 dimensions.
    pub dimensions: Vec<u64>,
    /// Bytes from one index to the next of each dimension but the innermost; multiples of 16 below 2⁴⁰.
    pub strides: Vec<u64>,
    /// Elements of the box along each dimension, 1 to 256.
    pub extents: Vec<u32>,
    /// How the box lies in shared memory.
    pub swizzle: Swizzle,
    /// What fills the box outside the tensor.
    pub fill: Fill,
}

/// A map that the driver or the hardware would refuse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorMapError {
    /// Not 1 to 5 dimensions, or lists of different lengths.
    #[error(
        "{dimensions} dimensions with {strides} strides and {extents} extents; 1 to 5, one stride fewer, one extent each"
    )]
    Rank {
        /// How many dimensions.
        dimensions: usize,
        /// How many strides.
        strides: usize,
        /// How many extents of the box.
        extents: usize,
    },
    /// The base.
    #[error("the base {0:#x} is not a multiple of 16 bytes")]
    Base(u64),
    /// A dimension.
    #[error("a dimension of {0} elements; 1 to 2^32 are allowed")]
    Dimension(u64),
    /// A stride.
    #[error("a stride of {0} bytes; multiples of 16 below 2^40 are allowed")]
    Stride(u64),
    /// An extent of the box.
    #[error("a box of {0} elements along a dimension; 1 to 256 are allowed")]
    Extent(u32),
    /// The innermost extent in bytes.
    #[error("a row of the box has {0} bytes; a multiple of 16, and no more than the swizzle's width, is allowed")]
    Row(u64),
    /// NaN for integers.
    #[error("integers cannot be filled with NaN")]
    Fill,
    /// Bytes that no map of the emulator begins with.
    #[error("these 128 bytes are not a tensor map of the emulator; pass what `Gpu::encode` returned, unchanged")]
    NotAMap,
}

impl TensorMap {
    fn check(&self) -> Result<(), TensorMapError> {
        let rank = self.dimensions.len();
        if !(1..=5).contains(&rank) || self.strides.len() + 1 != rank || self.extents.len() != rank {
            let (strides, extents) = (self.strides.len(), self.extents.len());
            return Err(TensorMapError::Rank { dimensions: rank, strides, extents });
        }
        if !self.base.is_multiple_of(16) {
            return Err(TensorMapError::Base(self.base));
        }
        if let Some(&wrong) = self.dimensions.iter().find(|&&extent| extent == 0 || extent > 1 << 32) {
            return Err(TensorMapError::Dimension(wrong));
        }
        if let Some(&wrong) = self.strides.iter().find(|&&stride| !stride.is_multiple_of(16) || stride >= 1 << 40) {
            return Err(TensorMapError::Stride(wrong));
        }
        if let Some(&wrong) = self.extents.iter().find(|&&extent| !(1..=256).contains(&extent)) {
            return Err(TensorMapError::Extent(wrong));
        }
        let row = self.row_bytes();
        if !row.is_multiple_of(16) || row > self.swizzle.max_row() {
            return Err(TensorMapError::Row(row));
        }
        if self.fill == Fill::Nan && self.element.nan().is_none() {
            return Err(TensorMapError::Fill);
        }
        Ok(())
    }

    /// Bytes of an innermost row of the box.
    pub(crate) fn row_bytes(&self) -> u64 {
        u64::from(self.extents.first().copied().unwrap_or(0)) * u64::from(self.element.bytes())
    }

    /// Bytes of the whole box, which a load announces whatever lies outside.
    pub(crate) fn box_bytes(&self) -> u64 {
        self.extents.iter().map(|&extent| u64::from(extent)).product::<u64>() * u64::from(self.element.bytes())
    }

    /// What an element outside the tensor is, as bytes.
    pub(crate) fn fill_bytes(&self) -> &'static [u8] {
        match self.fill {
            Fill::Nan => self.element.nan().unwrap_or(&[0]),
            Fill::Zeros => &[0],
        }
    }

    pub(crate) fn encode(&self) -> Result<[u8; HANDLE_BYTES], TensorMapError> {
        self.check()?;
        let position = |found: Option<usize>| found.unwrap_or(0) as u8;
        let mut bytes = Vec::with_capacity(HANDLE_BYTES);
        bytes.extend(MAGIC);
        bytes.extend(self.base.to_le_bytes());
        bytes.extend([
            position(ELEMENTS.iter().position(|element| *element == self.element)),
            position(SWIZZLES.iter().position(|swizzle| *swizzle == self.swizzle)),
            u8::from(self.fill == Fill::Nan),
            self.dimensions.len() as u8,
        ]);
        // A dimension of 2³² does not fit 32 bits, one less does.
        bytes.extend(self.dimensions.iter().flat_map(|&extent| ((extent - 1) as u32).to_le_bytes()));
        bytes.extend(self.strides.iter().flat_map(|stride| stride.to_le_bytes()));
        bytes.extend(self.extents.iter().map(|&extent| (extent - 1) as u8));
        bytes.resize(HANDLE_BYTES, 0);
        bytes.try_into().map_err(|_| TensorMapError::NotAMap)
    }

    /// The map that 128 bytes stand for.
    pub(crate) fn decode(bytes: &[u8]) -> Result<TensorMap, TensorMapError> {
        let map = Reader(bytes).map().ok_or(TensorMapError::NotAMap)?;
        map.check()?;
        Ok(map)
    }
}

/// What of the bytes is still to be read.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn map(&mut self) -> Option<TensorMap> {
        if self.take()? != MAGIC {
            return None;
        }
        let base = u64::from_le_bytes(self.take()?);
        let [element, swizzle, nan, rank] = self.take()?;
        let rank = usize::from(rank).min(5);
        let dimensions: Option<Vec<u64>> =
            (0..rank).map(|_| Some(u64::from(u32::from_le_bytes(self.take()?)) + 1)).collect();
        let strides: Option<Vec<u64>> = (1..rank).map(|_| Some(u64::from_le_bytes(self.take()?))).collect();
        let extents: Option<Vec<u32>> = (0..rank).map(|_| Some(u32::from(self.take::<1>()?[0]) + 1)).collect();
        Some(TensorMap {
            base,
            element: *ELEMENTS.get(usize::from(element))?,
            dimensions: dimensions?,
            strides: strides?,
            extents: extents?,
            swizzle: *SWIZZLES.get(usize::from(swizzle))?,
            fill: if nan == 1 { Fill::Nan } else { Fill::Zeros },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix() -> TensorMap {
        TensorMap {
            base: 0x1000,
            element: Element::Bf16,
            dimensions: vec![100, 1 << 32],
            strides: vec![208],
            extents: vec![64, 256],
            swizzle: Swizzle::Bytes128,
            fill: Fill::Zeros,
        }
    }

    #[test]
    fn a_map_reads_back_what_was_encoded() {
        for map in [matrix(), TensorMap { fill: Fill::Nan, swizzle: Swizzle::None, ..matrix() }] {
            assert_eq!(TensorMap::decode(&map.encode().unwrap()), Ok(map));
        }
        assert_eq!(TensorMap::decode(&[0; HANDLE_BYTES]), Err(TensorMapError::NotAMap));
        assert_eq!(TensorMap::decode(&[]), Err(TensorMapError::NotAMap));
    }

    #[test]
    fn a_map_that_the_hardware_refuses_is_refused() {
        let wrong = [
            TensorMap { base: 8, ..matrix() },
            TensorMap { strides: vec![200], ..matrix() },
            TensorMap { extents: vec![64, 257], ..matrix() },
            TensorMap { extents: vec![128, 8], ..matrix() },
            TensorMap { extents: vec![4, 8], ..matrix() },
            TensorMap { dimensions: vec![0, 8], ..matrix() },
            TensorMap { element: Element::U16, fill: Fill::Nan, ..matrix() },
        ];
        for map in wrong {
            assert!(map.encode().is_err(), "{map:?}");
        }
    }

    #[test]
    fn the_swizzle_exchanges_units_by_the_row_of_128_bytes() {
        assert_eq!(Swizzle::Bytes128.apply(0x400 + 3 * 128), 0x400 + 3 * 128 + 3 * 16);
        assert_eq!(Swizzle::Bytes32.apply(0x400 + 3 * 128 + 7), 0x400 + 3 * 128 + 16 + 7);
        assert_eq!(Swizzle::None.apply(12345), 12345);
    }
}
