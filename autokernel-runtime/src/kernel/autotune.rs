//! Choosing by measurement: what a kernel carries, timed on the operands at hand.

use std::cell::RefCell;

use super::any::AnyKernel;
use super::loaded::Loaded;
use crate::gpu::Rotation;
use crate::select::{self, Choice, Reason};
use crate::timing::{Cache, Interleaved, Timer, Work};
use crate::{Argument, Device, Error, Extents, KernelDescriptor, Plan, Result, check, driver};

/// Contenders that are timed: of 160 recorded batches the fastest of the first eight takes 0.2 % more than the fastest of all in the mean.
const MOST: usize = 8;
/// Rounds, in each of which all contenders run.
const ROUNDS: usize = 15;
/// How long a contender's launches of a round take, about, in milliseconds.
const TURN_MS: f64 = 0.5;
/// What the time of another one than the model's choice is at most, as a share of that one's: closer ones are within the noise.
const LEAD: f64 = 0.99;

impl AnyKernel {
    /// Launches, and makes sure that launches of the same extents on this GPU take the fastest schedule that the kernel carries, for the
    /// rest of the process. The first call for some extents times the eight that the model ranks first, which takes 60 to 400 ms and waits
    /// for the GPU; later calls only launch. Returns what launches take from then on.
    ///
    /// Timed are copies of the operands that take turns, so that none is in the L2 cache: they take twice the memory of that cache, or of
    /// larger operands as much as those, and are freed again. The outputs hold what one launch gives. Numbers should be like those of
    /// real use: a GPU takes less power, hence less time, for zeros. On the CPU and on an emulated GPU there is nothing to choose.
    ///
    /// # Errors
    /// As [`Kernel::launch`](crate::Kernel::launch); `Captured` while the stream is being captured; `OutOfMemory` for the copies.
    pub fn autotune(&self, device: &Device, arguments: &mut [Argument<'_>]) -> Result<Plan<'_>> {
        let descriptor = self.descriptor()?;
        let extents = check::launch(&descriptor.name, &descriptor.signature, arguments, device)?;
        if let Some(stream) = device.stream()
            && !check::has_no_parts(&descriptor.signature, &extents)
        {
            let loaded = self.loaded(descriptor, stream)?;
            if loaded.candidates.measured(&extents).is_none() {
                // SAFETY: the descriptor is this kernel's, and the arguments were checked.
                let choice = unsafe { fastest(&loaded, descriptor, device, &extents, arguments) }?;
                loaded.candidates.take_measured(&extents, choice);
            }
        }
        // SAFETY: as above.
        unsafe { self.launch_checked(descriptor, device, &extents, arguments) }?;
        self.plan(device, &extents)
    }
}

/// The fastest of what may serve.
///
/// # Safety
/// `loaded` is of the kernel that `descriptor` describes, as [`Loaded::kernel_for`] asks; `extents` and the device were checked against the
/// arguments.
unsafe fn fastest(
    loaded: &Loaded,
    descriptor: &KernelDescriptor,
    device: &Device,
    extents: &Extents,
    arguments: &mut [Argument<'_>],
) -> Result<Choice> {
    let stream = device.require_stream("autotuning")?;
    if driver::is_capturing(stream)? {
        return Err(Error::Captured { what: "autotuning" });
    }
    let mut contenders = loaded.candidates.contenders(extents);
    contenders.truncate(MOST);
    let Some((&chosen, others)) = contenders.split_first() else {
        return Err(select::wrong_arch(descriptor, &loaded.target));
    };
    if others.is_empty() {
        return Ok(chosen);
    }
    // SAFETY: by the caller's promise.
    let kernel = |choice: &Choice| unsafe { loaded.kernel(descriptor, stream, choice.variant) };
    let kernels = contenders.iter().map(kernel).collect::<Result<Vec<_>>>()?;
    let rotation = Rotation::of(device, arguments)?;
    let arguments = RefCell::new(arguments);
    let launch = |number: usize, turn: usize| {
        let (kernel, Choice { knobs, .. }) = (kernels[number], &contenders[number]);
        // SAFETY: by the caller's promise; the kernel was loaded into the stream's context and takes the knobs of its schedules. The copies
        // span what the operands do, and live until all launches were waited for.
        unsafe { kernel.launch_checked(stream, extents, knobs, &mut arguments.borrow_mut(), rotation.set(turn)) }
    };
    // What a first launch alone pays for is behind all of them.
    (0..contenders.len()).try_for_each(|number| launch(number, 0))?;
    let mut timer = Timer::new(device, Cache::Warm)?;
    let launches = launches_of_a_turn(timer.time_batch(2, |turn| launch(0, turn))?);
    let mut works: Vec<_> = (0..contenders.len()).map(|number| move |turn: usize| launch(number, turn)).collect();
    let mut works: Vec<Work<'_>> = works.iter_mut().map(|work| work as Work<'_>).collect();
    let times = timer.interleave(ROUNDS, launches, &mut works)?;

    let ms = |number: usize| times.timing(number).map(|timing| timing.median_ms);
    let number = first_or_faster(&times)?;
    let instead_of = if number == 0 { None } else { Some((chosen.variant, ms(0)?)) };
    Ok(Choice {
        reason: Reason::Measured { ms: ms(number)?, count: contenders.len(), instead_of },
        ..contenders[number]
    })
}

/// How many launches of that many milliseconds follow each other at once.
fn launches_of_a_turn(ms: f64) -> usize {
    (TURN_MS / ms).ceil().clamp(2.0, 128.0) as usize
}

/// The number of the fastest; 0 where no other one leads it within the rounds.
fn first_or_faster(times: &Interleaved) -> Result<usize> {
    let mut fastest = (LEAD, 0);
    for number in 1..times.round_ms.len() {
        let ratio = times.ratio(number, 0)?.median;
        if ratio < fastest.0 {
            fastest = (ratio, number);
        }
    }
    Ok(fastest.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_choice_stays_where_others_lead_by_less_than_noise() {
        let times = |others: [f64; 3]| Interleaved { round_ms: others.map(|ms| vec![ms; 5]).to_vec() };
        assert_eq!(first_or_faster(&times([1.0, 0.995, 1.2])).unwrap(), 0);
        assert_eq!(first_or_faster(&times([1.0, 0.95, 0.97])).unwrap(), 1);
        assert_eq!(first_or_faster(&times([1.0, 0.95, 0.90])).unwrap(), 2);
    }

    #[test]
    fn clocks_that_fall_from_round_to_round_decide_nothing() {
        let falling: Vec<f64> = (0..15).map(|round| 1.02f64.powi(round)).collect();
        let faster = falling.iter().map(|ms| 0.98 * ms).collect();
        assert_eq!(first_or_faster(&Interleaved { round_ms: vec![falling, faster] }).unwrap(), 1);
    }

    #[test]
    fn a_turn_has_as_many_launches_as_take_half_a_millisecond_and_two_at_least() {
        assert_eq!([0.0, 0.001, 0.01, 0.3, 5.0].map(launches_of_a_turn), [128, 128, 50, 2, 2]);
    }
}
