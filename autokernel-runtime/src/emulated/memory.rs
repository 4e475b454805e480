//! The operands of a launch in the emulated GPU's memory, and back.

use autokernel_emulator::{DevicePointer, Gpu};

use crate::emulation::emulated;
use crate::launch::{MAX_OPERANDS, Region};
use crate::operands::view::{Storage, StorageMut};
use crate::{AnyView, AnyViewMut, Argument, Error, Result, Role, Signature, e4m3, e5m2, i4x2};

/// What the driver's allocations begin at, in bytes.
const ALLOCATION: u64 = 256;

const ON_A_GPU: Error = Error::NeedsHost { what: "launching on an emulated GPU" };

/// Where each operand lies.
pub(super) struct Operands {
    placed: Vec<Placed>,
}

/// One operand: as far behind a multiple of 16 bytes as on the host, so that a view that begins anywhere does so here.
struct Placed {
    first: DevicePointer,
    bytes: usize,
}

impl Operands {
    /// Copies every operand to memory of its own: whole, so that what lies between the rows of an output is there to be
    /// left alone.
    pub fn place(gpu: &mut Gpu, signature: &Signature, arguments: &[Argument<'_>]) -> Result<Self> {
        let names = signature.operands.iter().map(|operand| operand.name.as_str());
        let placed = names.zip(arguments).map(|(name, argument)| Placed::new(gpu, name, argument));
        Ok(Self { placed: placed.collect::<Result<_>>()? })
    }

    /// The operands as kernels address them.
    pub fn regions<'r>(&self, arguments: &[Argument<'_>], regions: &'r mut [Region; MAX_OPERANDS]) -> &'r mut [Region] {
        let count = arguments.len().min(MAX_OPERANDS);
        for ((region, argument), placed) in regions.iter_mut().zip(arguments).zip(&self.placed) {
            *region = Region::new(placed.first.0, argument.layout(), argument.dtype());
        }
        &mut regions[..count]
    }

    /// Copies the outputs back.
    pub fn fetch(&self, gpu: &mut Gpu, arguments: &mut [Argument<'_>]) -> Result<()> {
        for (argument, Placed { first, bytes }) in arguments.iter_mut().zip(&self.placed) {
            if let Argument::Write(output) = argument {
                let bytes = gpu.read(*first, *bytes as u64).map_err(|error| emulated("", error))?;
                write(output, &bytes)?;
            }
        }
        Ok(())
    }
}

impl Placed {
    fn new(gpu: &mut Gpu, name: &str, argument: &Argument<'_>) -> Result<Self> {
        let (data, address) = read(argument)?;
        let behind = address % 16;
        let out_of_memory = |error| emulated(name, error);
        let base = gpu.alloc_named(name, behind + data.len().max(1) as u64).map_err(out_of_memory)?;
        debug_assert!(base.0.is_multiple_of(ALLOCATION));
        let first = DevicePointer(base.0 + behind);
        gpu.write(first, &data).map_err(out_of_memory)?;
        Ok(Self { first, bytes: data.len() })
    }
}

/// The bytes of the elements in host memory, and the address of the first.
macro_rules! bytes_of {
    ($data:expr) => {
        bytes_of!($data, |element| element.to_le_bytes())
    };
    ($data:expr, $bytes:expr) => {
        ($data.iter().flat_map($bytes).collect(), $data.as_ptr().addr() as u64)
    };
}

/// What an operand holds, from its first element to its last, and the host's address of it.
fn read(argument: &Argument<'_>) -> Result<(Vec<u8>, u64)> {
    debug_assert!(matches!(argument.role(), Role::Input | Role::Output));
    Ok(match argument {
        Argument::Read(AnyView::Bf16(view)) => bytes_of!(host(&view.storage)?),
        Argument::Read(AnyView::F16(view)) => bytes_of!(host(&view.storage)?),
        Argument::Read(AnyView::F32(view)) => bytes_of!(host(&view.storage)?),
        Argument::Read(AnyView::E4m3(view)) => bytes_of!(host(&view.storage)?, |element| [element.to_bits()]),
        Argument::Read(AnyView::E5m2(view)) => bytes_of!(host(&view.storage)?, |element| [element.to_bits()]),
        Argument::Read(AnyView::I8(view)) => bytes_of!(host(&view.storage)?),
        Argument::Read(AnyView::I4x2(view)) => bytes_of!(host(&view.storage)?),
        Argument::Read(AnyView::I32(view)) => bytes_of!(host(&view.storage)?),
        Argument::Write(AnyViewMut::Bf16(view)) => bytes_of!(host_mut(&view.storage)?),
        Argument::Write(AnyViewMut::F16(view)) => bytes_of!(host_mut(&view.storage)?),
        Argument::Write(AnyViewMut::F32(view)) => bytes_of!(host_mut(&view.storage)?),
        Argument::Write(AnyViewMut::E4m3(view)) => bytes_of!(host_mut(&view.storage)?, |element| [element.to_bits()]),
        Argument::Write(AnyViewMut::E5m2(view)) => bytes_of!(host_mut(&view.storage)?, |element| [element.to_bits()]),
        Argument::Write(AnyViewMut::I8(view)) => bytes_of!(host_mut(&view.storage)?),
        Argument::Write(AnyViewMut::I32(view)) => bytes_of!(host_mut(&view.storage)?),
        Argument::Write(AnyViewMut::I4x2(view)) => bytes_of!(host_mut(&view.storage)?),
        // Passed by value: nothing that a kernel could address.
        Argument::Scalar(_) => (Vec::new(), 0),
    })
}

/// Writes what an output is to hold.
fn write(output: &mut AnyViewMut<'_>, bytes: &[u8]) -> Result<()> {
    match output {
        AnyViewMut::Bf16(view) => fill(&mut view.storage, bytes, half::bf16::from_le_bytes),
        AnyViewMut::F16(view) => fill(&mut view.storage, bytes, half::f16::from_le_bytes),
        AnyViewMut::F32(view) => fill(&mut view.storage, bytes, f32::from_le_bytes),
        AnyViewMut::E4m3(view) => fill(&mut view.storage, bytes, |[bits]| e4m3::from_bits(bits)),
        AnyViewMut::E5m2(view) => fill(&mut view.storage, bytes, |[bits]| e5m2::from_bits(bits)),
        AnyViewMut::I8(view) => fill(&mut view.storage, bytes, i8::from_le_bytes),
        AnyViewMut::I32(view) => fill(&mut view.storage, bytes, i32::from_le_bytes),
        AnyViewMut::I4x2(view) => fill(&mut view.storage, bytes, i4x2::from_le_bytes),
    }
}

fn fill<T, const N: usize>(storage: &mut StorageMut<'_, T>, bytes: &[u8], element: fn([u8; N]) -> T) -> Result<()> {
    let StorageMut::Host(data) = storage else { return Err(ON_A_GPU) };
    let (elements, _) = bytes.as_chunks::<N>();
    data.iter_mut().zip(elements).for_each(|(slot, bytes)| *slot = element(*bytes));
    Ok(())
}

fn host<'a, T>(storage: &'a Storage<'_, T>) -> Result<&'a [T]> {
    match storage {
        Storage::Host(data) => Ok(data),
        Storage::Cuda(_) => Err(ON_A_GPU),
    }
}

fn host_mut<'a, T>(storage: &'a StorageMut<'_, T>) -> Result<&'a [T]> {
    match storage {
        StorageMut::Host(data) => Ok(data),
        StorageMut::Cuda(_) => Err(ON_A_GPU),
    }
}
