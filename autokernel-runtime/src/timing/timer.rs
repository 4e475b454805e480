//! One clock for both kinds of device.

use std::time::Instant;

use cudarc::driver::{CudaEvent, CudaSlice, sys};

use super::Timing;
use super::brake::{Brake, HELD_LAUNCHES};
use crate::{Device, Error, Result, driver};

/// What a timed launch finds in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// Nothing of its own: a buffer of twice the L2's size is overwritten before each launch. What remains are lines
    /// of that buffer, some of which the launch must write back.
    Cold,
    /// What the same launch left: it is run once, untimed, immediately before.
    Warm,
}

/// Times launches on one device's stream: with CUDA events on a GPU, with the monotonic clock on the CPU.
///
/// The closures that it is given must launch on that stream (or, on the CPU, compute before they return). Events
/// resolve about half a microsecond; time shorter kernels in a batch.
#[derive(Debug)]
pub struct Timer {
    device: Device,
    cache: Cache,
    clock: Clock,
}

#[derive(Debug)]
enum Clock {
    Host { flush: Vec<u8> },
    Events { start: CudaEvent, end: CudaEvent, flush: Option<CudaSlice<u8>> },
}

/// What is overwritten before a cold run on the CPU, in bytes: more than the last-level cache of most.
const HOST_FLUSH_BYTES: usize = 128 << 20;

/// The first driver whose event timing cudarc's newer bindings can call, and the first such bindings.
const EVENT_TIMING_V2: u32 = 12080;
const BINDINGS_WITH_EVENT_TIMING_V2: u32 = 13000;

impl Timer {
    /// A timer on the stream of `device`.
    ///
    /// # Errors
    /// [`Error::DriverTooOld`], [`Error::OutOfMemory`] for the buffer that flushes the cache, or the driver's own error.
    pub fn new(device: &Device, cache: Cache) -> Result<Self> {
        let clock = match device.stream() {
            None => Clock::host(cache)?,
            Some(_) => Clock::events(device, cache)?,
        };
        Ok(Self { device: device.clone(), cache, clock })
    }

    /// The device whose stream is timed.
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// Time of one launch, in milliseconds. Waits for it.
    ///
    /// Something that the GPU must finish first is queued before (the cache flush, or the same launch), so that the
    /// host's launch latency does not count.
    ///
    /// # Errors
    /// What `work` returns, or the driver's own error.
    pub fn time_once(&mut self, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
        match self.cache {
            Cache::Cold => self.flush()?,
            Cache::Warm => work()?,
        }
        self.span(work)
    }

    /// Mean time of a launch within `launches` back to back, in milliseconds. Waits for them.
    ///
    /// `work` is given the number of the launch, so that it can rotate through sets of buffers; the cache is left to it.
    /// On a GPU the stream is held until the batch, or the first few hundred launches of it, is queued: launches shorter
    /// than the host needs to queue one are then timed without the gaps between them.
    ///
    /// # Errors
    /// [`Error::Captured`] while the stream is being captured, what `work` returns, or the driver's own error.
    pub fn time_batch(&mut self, launches: usize, mut work: impl FnMut(usize) -> Result<()>) -> Result<f64> {
        let launches = launches.max(1);
        let mut brake = self.device.stream().map(|stream| Brake::hold(stream)).transpose()?;
        let total = self.span(|| {
            for launch in 0..launches {
                work(launch)?;
                if launch + 1 == HELD_LAUNCHES.min(launches) {
                    brake = None;
                }
            }
            Ok(())
        })?;
        Ok(total / launches as f64)
    }

    /// Times `rounds` single launches.
    ///
    /// # Errors
    /// [`Error::NoSamples`] for 0 rounds, what `work` returns, or the driver's own error.
    pub fn sample(&mut self, rounds: usize, mut work: impl FnMut() -> Result<()>) -> Result<Timing> {
        let samples: Vec<f64> = (0..rounds).map(|_| self.time_once(&mut work)).collect::<Result<_>>()?;
        Timing::of_ms(&samples)
    }

    /// Milliseconds between what was queued before `work` and the end of `work`.
    fn span(&mut self, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
        let Clock::Events { start, end, .. } = &self.clock else {
            let start = Instant::now();
            work()?;
            return Ok(start.elapsed().as_secs_f64() * 1e3);
        };
        let stream = self.device.require_stream("timing with events")?;
        let doing = Error::cuda("timing with events");
        start.record(stream).map_err(&doing)?;
        work()?;
        end.record(stream).map_err(&doing)?;
        end.synchronize().map_err(&doing)?;
        start.elapsed_ms(end).map(f64::from).map_err(&doing)
    }

    fn flush(&mut self) -> Result<()> {
        match &mut self.clock {
            Clock::Host { flush } => flush.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1)),
            Clock::Events { flush: Some(flush), .. } => {
                let stream = self.device.require_stream("flushing the cache")?;
                stream.memset_zeros(flush).map_err(Error::cuda("flushing the cache"))?;
            }
            Clock::Events { flush: None, .. } => {}
        }
        Ok(())
    }
}

impl Clock {
    fn host(cache: Cache) -> Result<Self> {
        let mut flush = Vec::new();
        if cache == Cache::Cold {
            let out_of_memory = |_| Error::out_of_memory::<u8>(&Device::cpu(), HOST_FLUSH_BYTES as u128);
            flush.try_reserve_exact(HOST_FLUSH_BYTES).map_err(out_of_memory)?;
            flush.resize(HOST_FLUSH_BYTES, 0);
        }
        Ok(Self::Host { flush })
    }

    fn events(device: &Device, cache: Cache) -> Result<Self> {
        // Calling a function that the driver lacks would panic inside cudarc.
        if sys::CUDA_VERSION >= BINDINGS_WITH_EVENT_TIMING_V2 {
            driver::require_version("event timing", EVENT_TIMING_V2)?;
        }
        let stream = device.require_stream("timing with events")?;
        let event = || {
            let flags = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
            stream.context().new_event(flags).map_err(Error::cuda("creating an event"))
        };
        let flush = match cache {
            Cache::Warm => None,
            Cache::Cold => {
                let bytes = usize::try_from(2 * device.info()?.l2_bytes).unwrap_or(0).max(1);
                Some(stream.alloc_zeros(bytes).map_err(Error::cuda("allocating a buffer to flush the cache"))?)
            }
        };
        Ok(Self::Events { start: event()?, end: event()?, flush })
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_warm_launch_is_preceded_by_the_same_launch_untimed() {
        let mut timer = Timer::new(&Device::cpu(), Cache::Warm).unwrap();
        let mut runs = 0;
        timer
            .time_once(|| {
                runs += 1;
                Ok(())
            })
            .unwrap();
        assert_eq!(runs, 2);
    }

    #[test]
    fn a_batch_numbers_its_launches_and_returns_the_mean() {
        let mut timer = Timer::new(&Device::cpu(), Cache::Warm).unwrap();
        let mut seen = Vec::new();
        let mean_ms = timer
            .time_batch(4, |launch| {
                seen.push(launch);
                sleep(Duration::from_millis(2));
                Ok(())
            })
            .unwrap();
        assert_eq!(seen, [0, 1, 2, 3]);
        assert!(mean_ms >= 2.0, "{mean_ms}");
    }

    #[test]
    fn an_error_of_the_work_is_the_error_of_the_timing() {
        let mut timer = Timer::new(&Device::cpu(), Cache::Cold).unwrap();
        let failed = timer.time_once(|| Err(Error::NoDriver));
        assert!(matches!(failed, Err(Error::NoDriver)));
        assert!(matches!(timer.sample(0, || Ok(())), Err(Error::NoSamples { .. })));
    }

    #[test]
    fn sampling_takes_as_many_rounds_as_asked() {
        let mut timer = Timer::new(&Device::cpu(), Cache::Warm).unwrap();
        let timing = timer.sample(7, || Ok(())).unwrap();
        assert_eq!(timing.samples, 7);
        assert!(timing.min_ms <= timing.median_ms && timing.median_ms <= timing.max_ms);
    }
}
