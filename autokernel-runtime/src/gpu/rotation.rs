//! Copies of a launch's operands that take turns, so that launches find them in memory and not in L2.

use std::sync::Arc;

use cudarc::driver::result::memcpy_dtod_async;
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};

use super::pointers::Ordering;
use crate::launch::MAX_OPERANDS;
use crate::operands::alloc::device_zeros;
use crate::timing::sets_to_exceed_l2;
use crate::{Argument, Device, Error, Result};

/// How far from where an operand lies a launch takes it, in bytes, which wrap.
pub(crate) type Displacements = [u64; MAX_OPERANDS];

/// Where the operands are.
pub(crate) const HERE: &Displacements = &[0; MAX_OPERANDS];

/// A copy lies within such a block of bytes where its operand does: as far as kernels look at addresses, the two are alike.
const BLOCK: u64 = 512;
/// More sets of tiny operands than this are in L2 all the same, beside what else is there.
const MOST_SETS: usize = 128;

/// Sets of copies, of which each has its own memory.
pub(crate) struct Rotation {
    sets: Vec<Displacements>,
    _memory: CudaSlice<f32>,
}

impl Rotation {
    /// As many copies of the operands as pass the L2 cache of `device` twice between two uses of one; a single one of those that do so
    /// by themselves.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or the driver's own error.
    pub fn of(device: &Device, arguments: &mut [Argument<'_>]) -> Result<Self> {
        let stream = device.require_stream("copying operands")?;
        let bytes_of_set: u64 = arguments.iter().map(|argument| bytes(argument) + BLOCK).sum();
        let l2_bytes = device.info()?.l2_bytes;
        let count = if bytes_of_set > 2 * l2_bytes { 1 } else { sets_to_exceed_l2(bytes_of_set, l2_bytes) };
        let count = count.min(MOST_SETS);
        let total = bytes_of_set.saturating_mul(count as u64);
        let memory = device_zeros::<f32>(stream, usize::try_from(total.div_ceil(4)).unwrap_or(usize::MAX))?;
        let sets = fill(stream, &memory, count, arguments)?;
        Ok(Rotation { sets, _memory: memory })
    }

    /// The set of a launch of that number.
    pub fn set(&self, number: usize) -> &Displacements {
        &self.sets[number % self.sets.len()]
    }
}

/// Copies the operands to `count` sets in `memory`, one behind the other.
fn fill(
    stream: &Arc<CudaStream>,
    memory: &CudaSlice<f32>,
    count: usize,
    arguments: &mut [Argument<'_>],
) -> Result<Vec<Displacements>> {
    let order = Ordering::new(stream)?;
    let (mut free, _written) = memory.device_ptr(stream);
    let mut sets = vec![*HERE; count];
    for set in &mut sets {
        for (argument, displacement) in arguments.iter_mut().zip(set) {
            let bytes = bytes(argument);
            if bytes == 0 {
                continue;
            }
            let source = order.take(argument)?;
            let target = free + source.address.wrapping_sub(free) % BLOCK;
            // SAFETY: the operand's view spans so many bytes of a live buffer, which its guard keeps for this stream. In `memory`
            // each operand of each set has as many and a block, of which `target` leaves out a part.
            unsafe { memcpy_dtod_async(target, source.address, bytes as usize, stream.cu_stream()) }
                .map_err(Error::cuda("copying operands"))?;
            *displacement = target.wrapping_sub(source.address);
            free = target + bytes;
        }
    }
    order.release(arguments)?;
    Ok(sets)
}

/// The bytes between an operand's first element and the end of its last; none of a number.
fn bytes(argument: &Argument<'_>) -> u64 {
    match argument.scalar() {
        Some(_) => 0,
        None => argument.layout().span().unwrap_or(0) as u64 * u64::from(argument.dtype().bytes()),
    }
}
