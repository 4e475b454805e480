//! The operands of a launch in the emulated GPU's memory, and back.

use std::iter;

use autokernel_emulator::{DevicePointer, Gpu};

use crate::emulation::emulated;
use crate::launch::{MAX_OPERANDS, Region};
use crate::operands::types::with_view;
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

/// What an operand holds, from its first element to its last, and the host's address of it.
fn read(argument: &Argument<'_>) -> Result<(Vec<u8>, u64)> {
    debug_assert!(matches!(argument.role(), Role::Input | Role::Output));
    match argument {
        Argument::Read(any) => with_view!(AnyView, any, view => host(&view.storage).map(bytes_of)),
        Argument::Write(any) => with_view!(AnyViewMut, any, view => host_mut(&view.storage).map(bytes_of)),
        // Passed by value: nothing that a kernel could address.
        Argument::Scalar(_) => Ok((Vec::new(), 0)),
    }
}

/// The bytes of elements in host memory, and the address of the first.
fn bytes_of<T: Bytes>(data: &[T]) -> (Vec<u8>, u64) {
    (data.iter().flat_map(|element| element.to_bytes()).collect(), data.as_ptr().addr() as u64)
}

/// Writes what an output is to hold.
fn write(output: &mut AnyViewMut<'_>, bytes: &[u8]) -> Result<()> {
    with_view!(AnyViewMut, output, view => fill(&mut view.storage, bytes))
}

fn fill<T: Bytes>(storage: &mut StorageMut<'_, T>, bytes: &[u8]) -> Result<()> {
    let StorageMut::Host(data) = storage else { return Err(ON_A_GPU) };
    data.iter_mut().zip(bytes.chunks_exact(size_of::<T>())).for_each(|(slot, bytes)| *slot = T::from_bytes(bytes));
    Ok(())
}

/// An element as it lies in memory.
trait Bytes: Sized {
    fn to_bytes(&self) -> impl Iterator<Item = u8>;
    /// That of as many bytes as it has; of another number of them zero.
    fn from_bytes(bytes: &[u8]) -> Self;
}

/// [`Bytes`] for types by the functions that give and take them.
macro_rules! bytes {
    ($($ty:ty),+: $to:ident, $from:ident) => {
        $(impl Bytes for $ty {
            fn to_bytes(&self) -> impl Iterator<Item = u8> {
                self.$to().into_iter()
            }

            fn from_bytes(bytes: &[u8]) -> Self {
                Self::$from(bytes.try_into().unwrap_or_default())
            }
        })+
    };
}

bytes!(half::bf16, half::f16, f32, i8, i4x2, i32: to_le_bytes, from_le_bytes);

/// [`Bytes`] for types of one byte.
macro_rules! bits {
    ($($ty:ty),+) => {
        $(impl Bytes for $ty {
            fn to_bytes(&self) -> impl Iterator<Item = u8> {
                iter::once(self.to_bits())
            }

            fn from_bytes(bytes: &[u8]) -> Self {
                Self::from_bits(bytes.first().copied().unwrap_or_default())
            }
        })+
    };
}

bits!(e4m3, e5m2);

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
