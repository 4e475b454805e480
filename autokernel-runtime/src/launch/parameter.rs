//! A kernel's parameter: one struct, packed as its plan lists the fields and C lays them out.

use std::ffi::c_void;

use autokernel_core::{Arg, Field, TileBox};

use super::region::Region;
use super::transfer::{NO_MAP, TensorMap, Transfer};
use super::workspace::Addresses;
use crate::select::Knobs;
use crate::{Error, Extents, Operand, Result, Signature};

/// The longest parameter. CUDA takes 4 KiB; this holds the eight tensor maps of two products whose weights have scales and zero points, and
/// clears in a few nanoseconds.
pub(crate) const MAX_BYTES: usize = 1536;

/// The bytes of a parameter; 64 is the alignment of a tensor map.
#[repr(C, align(64))]
pub(crate) struct Parameter {
    bytes: [u8; MAX_BYTES],
    len: usize,
}

/// What the fields of a parameter are made of.
pub(crate) struct Sources<'s> {
    pub signature: &'s Signature,
    pub regions: &'s [Region],
    /// By the number of the operand; 0 for one that is no scalar.
    pub scalars: &'s [f32],
    pub extents: &'s Extents,
    /// Values of the knobs in the place of the plan's.
    pub knobs: &'s Knobs,
    /// By the number of the buffer.
    pub workspace: Addresses,
}

impl Parameter {
    pub const fn new() -> Self {
        Self { bytes: [0; MAX_BYTES], len: 0 }
    }

    /// Packs the fields; `map` finds or encodes the map of an operand that TMA can move, given the field's number.
    ///
    /// # Errors
    /// [`Error::Plan`] for fields that the plan's check would have refused, or what `map` returns.
    pub fn pack(
        &mut self,
        fields: &[Field],
        sources: &Sources<'_>,
        mut map: impl FnMut(usize, Transfer, &Region) -> Result<TensorMap>,
    ) -> Result<()> {
        for (number, Field { arg, .. }) in fields.iter().enumerate() {
            let align = arg.layout().align;
            match *arg {
                Arg::Map { operand, tile } => {
                    let (transfer, region) = (sources.transfer(operand, tile)?, sources.region(operand)?);
                    let words = if transfer.can_move(region) { map(number, transfer, region)? } else { NO_MAP };
                    self.align(align);
                    words.iter().try_for_each(|word| self.push(8, &word.to_ne_bytes()))?;
                }
                Arg::Pointer { operand } => {
                    self.push(align, &sources.region(operand)?.address.to_ne_bytes())?;
                }
                Arg::Stride { operand, axis } => {
                    let stride = {
                        let &Operand { dtype, ref axes, .. } = sources.operand(operand)?;
                        sources.region(operand)?.stride_along(axis, axes.len(), dtype)
                    };
                    self.push(align, &stride.to_ne_bytes())?;
                }
                Arg::Scalar { operand } => {
                    let value = sources.scalars.get(usize::from(operand));
                    let value = value.ok_or_else(|| unchecked("it names an operand that is not there"))?;
                    self.push(align, &value.to_ne_bytes())?;
                }
                // Sizes were checked to fit an `int`.
                Arg::Extent { dim } => self.push(align, &(sources.extents.size(dim) as i32).to_ne_bytes())?,
                // Checked as extents are.
                Arg::Rows { operand } => {
                    let region = sources.region(operand)?;
                    let rows = if sources.operand(operand)?.axes.len() > 1 { region.rows } else { region.columns };
                    self.push(align, &(rows as i32).to_ne_bytes())?;
                }
                Arg::Columns { operand } => {
                    self.push(align, &(sources.region(operand)?.columns as i32).to_ne_bytes())?;
                }
                Arg::Matrices { operand } => {
                    let outermost = if sources.operand(operand)?.axes.len() > 3 { 0 } else { 1 };
                    let matrices = sources.region(operand)?.outer[outermost].size;
                    self.push(align, &(matrices as i32).to_ne_bytes())?;
                }
                Arg::IsMapped { operand } => {
                    let is_mapped = i32::from(sources.is_mapped(fields, operand)?);
                    self.push(align, &is_mapped.to_ne_bytes())?;
                }
                Arg::Workspace { buffer } => {
                    let address = sources.workspace.get(usize::from(buffer));
                    let address = address.ok_or_else(|| unchecked("it names a buffer that is not there"))?;
                    self.push(align, &address.to_ne_bytes())?;
                }
                Arg::Knob { value } => {
                    let value = sources.knobs.value(number).unwrap_or(value);
                    self.push(align, &value.to_ne_bytes())?;
                }
            }
        }
        Ok(())
    }

    /// The bytes of a parameter of those fields.
    #[cfg(feature = "emulator")]
    pub fn into_bytes(self, fields: &[Field]) -> Vec<u8> {
        let bytes = autokernel_core::plan::Layout::of_struct(fields).bytes.min(MAX_BYTES);
        self.bytes[..bytes].to_vec()
    }

    /// Where the driver reads it from.
    pub fn as_mut_ptr(&mut self) -> *mut c_void {
        self.bytes.as_mut_ptr().cast()
    }

    fn align(&mut self, align: usize) {
        self.len = self.len.next_multiple_of(align);
    }

    fn push(&mut self, align: usize, value: &[u8]) -> Result<()> {
        self.align(align);
        let end = self.len + value.len();
        self.bytes.get_mut(self.len..end).ok_or_else(|| unchecked("its parameter is too long"))?.copy_from_slice(value);
        self.len = end;
        Ok(())
    }
}

impl Sources<'_> {
    fn region(&self, operand: u8) -> Result<&Region> {
        self.regions.get(usize::from(operand)).ok_or_else(|| unchecked("it names an operand that is not there"))
    }

    fn operand(&self, operand: u8) -> Result<&Operand> {
        let found = self.signature.operands.get(usize::from(operand));
        found.ok_or_else(|| unchecked("it names an operand that is not there"))
    }

    fn transfer(&self, operand: u8, tile: TileBox) -> Result<Transfer> {
        let &Operand { dtype, role, ref axes, .. } = self.operand(operand)?;
        Ok(Transfer { tile, dtype, role, rank: axes.len() })
    }

    /// Whether one of the fields is the map of an operand, and TMA can move it.
    fn is_mapped(&self, fields: &[Field], operand: u8) -> Result<bool> {
        let tile = fields.iter().find_map(|field| match field.arg {
            Arg::Map { operand: mapped, tile } if mapped == operand => Some(tile),
            _ => None,
        });
        tile.map_or(Ok(false), |tile| Ok(self.transfer(operand, tile)?.can_move(self.region(operand)?)))
    }
}

/// What [`super::rules`] lets nobody see.
fn unchecked(reason: &str) -> Error {
    Error::Plan { symbol: String::new(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use autokernel_core::plan::Layout;
    use autokernel_core::{Dimension, Passed, Role};

    use crate::Dtype;

    use super::*;
    use crate::matmul;

    /// A matrix product's struct with tensor maps, as C lays it out.
    #[repr(C, align(64))]
    #[derive(Clone, Copy)]
    struct Mapped {
        a: [u64; 16],
        b: [u64; 16],
        c: [u64; 16],
        c_ptr: u64,
        ldc: i64,
        m: i32,
        n: i32,
        k: i32,
        order: i32,
        group: i32,
        store_with_tma: i32,
    }

    /// One with pointers alone.
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Plain {
        m: i32,
        a: u64,
        lda: i64,
        group: i32,
    }

    const TILE: TileBox = TileBox { rows: 64, columns: 64, swizzle: 128 };

    fn product() -> Signature {
        let dims = matmul::DIMS.map(|name| Dimension { name, known: None }).to_vec();
        let operand = |name: &str, role, axes: [u8; 2]| Operand {
            name: name.to_owned(),
            role,
            dtype: Dtype::Bf16,
            axes: axes.to_vec(),
            passed: Passed::ByAddress,
        };
        let [a, b] = [("a", [0, 2]), ("b", [2, 1])].map(|(name, axes)| operand(name, Role::Input, axes));
        Signature { dims, operands: vec![a, b, operand("c", Role::Output, [0, 1])], ..Signature::default() }
    }

    fn fields(args: &[Arg]) -> Vec<Field> {
        args.iter().map(|arg| Field { name: String::new(), arg: arg.clone() }).collect()
    }

    fn mapped_fields() -> Vec<Field> {
        fields(&[
            Arg::Map { operand: 0, tile: TILE },
            Arg::Map { operand: 1, tile: TILE },
            Arg::Map { operand: 2, tile: TILE },
            Arg::Pointer { operand: 2 },
            Arg::Stride { operand: 2, axis: 0 },
            Arg::Extent { dim: 0 },
            Arg::Extent { dim: 1 },
            Arg::Extent { dim: 2 },
            Arg::Knob { value: 1 },
            Arg::Knob { value: 8 },
            Arg::IsMapped { operand: 2 },
        ])
    }

    fn dense(address: u64, rows: u64, columns: u64) -> Region {
        Region { address, rows, columns, stride: 2 * columns, ..Region::default() }
    }

    /// Packs for a 300x`n`x`k` product; a map is its address over and over.
    fn packed(fields: &[Field], n: u32, k: u32) -> Parameter {
        let (signature, extents) = (product(), matmul::extents(300, n, k));
        let [n, k] = [n, k].map(u64::from);
        let regions = [dense(0x1000, 300, k), dense(0x2000, k, n), dense(0x3000, 300, n)];
        let (signature, extents) = (&signature, &extents);
        let sources = Sources {
            signature,
            regions: &regions,
            scalars: &[],
            extents,
            knobs: &Knobs::NONE,
            workspace: Addresses::default(),
        };
        let mut parameter = Parameter::new();
        parameter.pack(fields, &sources, |_, _, region| Ok([region.address; 16])).unwrap();
        parameter
    }

    fn read<T: Copy>(parameter: &Parameter) -> T {
        assert!(size_of::<T>() <= MAX_BYTES && align_of::<T>() <= align_of::<Parameter>());
        // SAFETY: the bytes are as many and aligned as asserted, and the tests' structs are numbers alone.
        unsafe { parameter.bytes.as_ptr().cast::<T>().read() }
    }

    #[test]
    fn a_struct_with_maps_is_packed_as_c_lays_it_out() {
        let found: Mapped = read(&packed(&mapped_fields(), 512, 64));
        assert_eq!((found.a, found.b, found.c), ([0x1000; 16], [0x2000; 16], [0x3000; 16]));
        assert_eq!((found.c_ptr, found.ldc), (0x3000, 512));
        assert_eq!((found.m, found.n, found.k), (300, 512, 64));
        assert_eq!((found.order, found.group), (1, 8));
        assert_eq!(found.store_with_tma, 1);
        assert_eq!((size_of::<Mapped>(), offset_of!(Mapped, store_with_tma)), (448, 420));
        assert_eq!(Layout::of_struct(&mapped_fields()).bytes, 448);
    }

    #[test]
    fn a_struct_with_gaps_is_packed_as_c_lays_it_out() {
        let plain = fields(&[
            Arg::Extent { dim: 0 },
            Arg::Pointer { operand: 0 },
            Arg::Stride { operand: 0, axis: 0 },
            Arg::Knob { value: -5 },
        ]);
        let found: Plain = read(&packed(&plain, 512, 48));
        assert_eq!((found.m, found.a, found.lda, found.group), (300, 0x1000, 48, -5));
    }

    #[test]
    fn a_scalar_is_the_value_of_its_operand() {
        let (signature, extents) = (&product(), &matmul::extents(1, 1, 1));
        let scalars = [0.0, 0.0, -1.5];
        let sources = Sources {
            signature,
            regions: &[],
            scalars: &scalars,
            extents,
            knobs: &Knobs::NONE,
            workspace: Addresses::default(),
        };
        let mut parameter = Parameter::new();
        let none = |_, _, _: &Region| -> Result<TensorMap> { panic!("no map is asked for") };
        parameter.pack(&fields(&[Arg::Scalar { operand: 2 }]), &sources, none).unwrap();
        assert_eq!(read::<f32>(&parameter), -1.5);
        assert!(parameter.pack(&fields(&[Arg::Scalar { operand: 3 }]), &sources, none).is_err());
    }

    #[test]
    fn a_buffer_of_the_workspace_is_its_address() {
        let (signature, extents) = (&product(), &matmul::extents(1, 1, 1));
        let workspace = [0, 0x4000, 0, 0, 0, 0];
        let sources = Sources { signature, regions: &[], scalars: &[], extents, knobs: &Knobs::NONE, workspace };
        let mut parameter = Parameter::new();
        let none = |_, _, _: &Region| -> Result<TensorMap> { panic!("no map is asked for") };
        parameter.pack(&fields(&[Arg::Workspace { buffer: 1 }]), &sources, none).unwrap();
        assert_eq!(read::<u64>(&parameter), 0x4000);
    }

    #[test]
    fn the_matrices_of_an_operand_are_those_along_its_outermost_axis() {
        let span = |size| crate::launch::region::Span { size, stride: 1 << 20 };
        let region = Region { outer: [span(7), span(3)], ..dense(0x1000, 16, 64) };
        let of_rank = |axes: &[u8]| {
            let mut signature = product();
            signature.operands[0].axes = axes.to_vec();
            let extents = matmul::extents(300, 512, 64);
            let (signature, regions, extents) = (&signature, &[region], &extents);
            let sources = Sources {
                signature,
                regions,
                scalars: &[],
                extents,
                knobs: &Knobs::NONE,
                workspace: Addresses::default(),
            };
            let mut parameter = Parameter::new();
            let none = |_, _, _: &Region| -> Result<TensorMap> { panic!("no map is asked for") };
            parameter.pack(&fields(&[Arg::Matrices { operand: 0 }]), &sources, none).unwrap();
            read::<i32>(&parameter)
        };
        assert_eq!((of_rank(&[0, 1, 0, 2]), of_rank(&[1, 0, 2])), (7, 3));
    }

    #[test]
    fn without_k_and_with_a_ragged_c_there_are_no_maps() {
        let found: Mapped = read(&packed(&mapped_fields(), 12, 0));
        assert_eq!((found.a, found.b, found.c), (NO_MAP, NO_MAP, NO_MAP));
        assert_eq!((found.store_with_tma, found.k, found.ldc), (0, 0, 12));
    }

    #[test]
    fn more_than_a_parameter_holds_is_an_error_and_no_overflow() {
        let (signature, extents) = (product(), matmul::extents(1, 1, 1));
        let sources = Sources {
            signature: &signature,
            regions: &[Region::default(); 3],
            scalars: &[],
            extents: &extents,
            knobs: &Knobs::NONE,
            workspace: Addresses::default(),
        };
        let many = fields(&vec![Arg::Pointer { operand: 0 }; MAX_BYTES / 8 + 1]);
        assert!(matches!(Parameter::new().pack(&many, &sources, |_, _, _| Ok(NO_MAP)), Err(Error::Plan { .. })));
    }
}
