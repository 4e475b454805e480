//! Timing launches on the GPU's own clock, with the host's latency hidden.

use std::time::Duration;

use autokernel_runtime::timing::Timing;
use cudarc::driver::sys::{self, CUevent_flags};
use cudarc::driver::{CudaEvent, CudaSlice, DevicePtr, PinnedHostSlice};

use super::error::{Result, WorkerError};
use super::instruments::Instruments;
use crate::gpu::sampling::{Batching, Effort, settled};

/// Times batches of launches that are queued behind a brake, so that the GPU runs them without a gap.
pub struct Stopwatch {
    released: PinnedHostSlice<u32>,
    events: Vec<CudaEvent>,
    /// Cycles and nanoseconds, before and after a batch.
    stamps: CudaSlice<u64>,
    max_sm_clock_mhz: f64,
    /// GPU time since the last rest, in milliseconds.
    busy_ms: f64,
}

/// What one batch gave.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Time of a launch in each sample, in milliseconds.
    pub samples_ms: Vec<f64>,
    /// All of it, in milliseconds.
    pub elapsed_ms: f64,
    /// The mean SM clock, in MHz; `None` if the counter could not be read.
    pub sm_clock_mhz: Option<f64>,
}

/// A candidate's time.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Statistics of the samples.
    pub timing: Timing,
    /// The mean SM clock over the samples, in MHz.
    pub sm_clock_mhz: Option<u32>,
}

/// A launch, given its number: launches rotate through sets of buffers.
pub type Launch<'l> = &'l mut dyn FnMut(usize) -> Result<()>;

/// Batches on a chip that runs below this share of its highest clock are thrown away, a few times.
const THROTTLED: f64 = 0.6;
const MAX_THROTTLED_BATCHES: usize = 5;
/// The longest warm-up, in batches and in milliseconds.
const MAX_WARM_UP_BATCHES: usize = 8;
const MAX_WARM_UP_MS: f64 = 40.0;
/// A rest is this many times as long as the work before it, up to a limit.
const REST_PER_BUSY: f64 = 1.5;
const MAX_REST_MS: f64 = 300.0;

impl Stopwatch {
    /// A stopwatch on the stream of `tools`.
    pub fn new(tools: &Instruments, max_sm_clock_mhz: f64) -> Result<Self> {
        let doing = WorkerError::driver("preparing the stopwatch");
        let context = tools.stream().context();
        // SAFETY: written by `batch` before the GPU reads it.
        let released = unsafe { context.alloc_pinned_with_flags::<u32>(1, sys::CU_MEMHOSTALLOC_DEVICEMAP) };
        Ok(Stopwatch {
            released: released.map_err(&doing)?,
            events: Vec::new(),
            stamps: tools.stream().alloc_zeros::<u64>(4).map_err(&doing)?,
            max_sm_clock_mhz,
            busy_ms: 0.0,
        })
    }

    /// Times a launch by the protocol of `effort`: rest, warm up until two batches agree, then sample until the noise is low
    /// enough. Batches of a throttled chip do not count.
    pub fn measure(&mut self, tools: &Instruments, effort: &Effort, launch: Launch<'_>) -> Result<Measured> {
        self.rest(tools, effort.rest_ms)?;
        let single = Batching { launches_per_sample: 1, samples_per_batch: 1 };
        let first = self.batch(tools, single, &mut 0, launch)?;
        let batching = Batching::new(first.elapsed_ms);
        let mut number = 1;

        let mut medians = Vec::new();
        let mut warm_up_ms = 0.0;
        let mut batch = self.batch(tools, batching, &mut number, launch)?;
        loop {
            medians.push(Timing::of_ms(&batch.samples_ms)?.median_ms);
            warm_up_ms += batch.elapsed_ms;
            if settled(&medians) || medians.len() >= MAX_WARM_UP_BATCHES || warm_up_ms >= MAX_WARM_UP_MS {
                break;
            }
            batch = self.batch(tools, batching, &mut number, launch)?;
        }

        let (mut samples, mut clocks) = (batch.samples_ms, vec![batch.sm_clock_mhz]);
        let (mut elapsed_ms, mut throttled) = (batch.elapsed_ms, 0);
        while !effort.is_met(&samples, elapsed_ms) {
            let batch = self.batch(tools, batching, &mut number, launch)?;
            let slow = batch.sm_clock_mhz.is_some_and(|clock| clock < THROTTLED * self.max_sm_clock_mhz);
            if slow && throttled < MAX_THROTTLED_BATCHES {
                throttled += 1;
                continue;
            }
            samples.extend(batch.samples_ms);
            clocks.push(batch.sm_clock_mhz);
            elapsed_ms += batch.elapsed_ms;
        }
        Ok(Measured { timing: Timing::of_ms(&samples)?, sm_clock_mhz: mean_mhz(clocks) })
    }

    /// Lets the GPU rest for `at_least_ms`, and for longer than the last measurement kept it busy; not at all for 0.
    fn rest(&mut self, tools: &Instruments, at_least_ms: f64) -> Result<()> {
        // What was launched before must be over for the rest to be one.
        tools.stream().synchronize().map_err(WorkerError::driver("waiting for the GPU"))?;
        let busy_ms = std::mem::take(&mut self.busy_ms);
        if at_least_ms > 0.0 {
            let rest_ms = at_least_ms.max(REST_PER_BUSY * busy_ms).min(MAX_REST_MS);
            std::thread::sleep(Duration::from_secs_f64(rest_ms / 1e3));
        }
        Ok(())
    }

    /// Runs one batch and waits for it; `number` counts launches on.
    pub fn batch(
        &mut self,
        tools: &Instruments,
        batching: Batching,
        number: &mut usize,
        launch: Launch<'_>,
    ) -> Result<Batch> {
        let Batching { launches_per_sample, samples_per_batch } = batching;
        self.reserve_events(tools, samples_per_batch + 1)?;
        self.set_released(0)?;
        let queued = self.queue(tools, batching, number, launch);
        // Whatever happened, the brake must let go, or the GPU would idle until its limit.
        self.set_released(1)?;
        queued?;

        let doing = WorkerError::driver("timing with events");
        let events = &self.events[..=samples_per_batch];
        let mut samples_ms = Vec::with_capacity(samples_per_batch);
        for pair in events.windows(2) {
            samples_ms.push(f64::from(pair[0].elapsed_ms(&pair[1]).map_err(&doing)?) / launches_per_sample as f64);
        }
        let elapsed_ms = samples_ms.iter().sum::<f64>() * launches_per_sample as f64;
        self.busy_ms += elapsed_ms;
        Ok(Batch { samples_ms, elapsed_ms, sm_clock_mhz: self.sm_clock_mhz(tools)? })
    }

    fn queue(&self, tools: &Instruments, batching: Batching, number: &mut usize, launch: Launch<'_>) -> Result<()> {
        let doing = WorkerError::driver("timing with events");
        let stamps = self.stamps.device_ptr(tools.stream()).0;
        let record = |event: &CudaEvent| event.record(tools.stream()).map_err(&doing);

        tools.brake(self.released.as_ptr().map_err(&doing)? as u64)?;
        tools.clock(stamps)?;
        record(&self.events[0])?;
        for sample in 1..=batching.samples_per_batch {
            for _ in 0..batching.launches_per_sample {
                launch(*number)?;
                *number += 1;
            }
            record(&self.events[sample])?;
        }
        tools.clock(stamps + 16)
    }

    fn set_released(&mut self, value: u32) -> Result<()> {
        let flag = self.released.as_mut_ptr().map_err(WorkerError::driver("preparing the stopwatch"))?;
        // SAFETY: one live, aligned u32 in pinned memory; the GPU only reads it, and each side's access is atomic.
        unsafe { flag.write_volatile(value) };
        Ok(())
    }

    fn reserve_events(&mut self, tools: &Instruments, count: usize) -> Result<()> {
        while self.events.len() < count {
            let event = tools.stream().context().new_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
            self.events.push(event.map_err(WorkerError::driver("preparing the stopwatch"))?);
        }
        Ok(())
    }

    fn sm_clock_mhz(&self, tools: &Instruments) -> Result<Option<f64>> {
        let stamps = tools.stream().clone_dtoh(&self.stamps).map_err(WorkerError::driver("reading the SM clock"))?;
        Ok(clock_rate_mhz([stamps[0], stamps[1]], [stamps[2], stamps[3]]))
    }
}

/// The mean clock rate between two stamps of (cycles, nanoseconds).
fn clock_rate_mhz(start: [u64; 2], end: [u64; 2]) -> Option<f64> {
    let (cycles, nanoseconds) = (end[0].checked_sub(start[0])?, end[1].checked_sub(start[1])?);
    (nanoseconds > 0).then(|| cycles as f64 * 1e3 / nanoseconds as f64)
}

/// The mean of the rates that could be read, in whole MHz.
pub fn mean_mhz(rates: impl IntoIterator<Item = Option<f64>>) -> Option<u32> {
    let rates: Vec<f64> = rates.into_iter().flatten().collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    (!rates.is_empty() && mean.is_finite()).then(|| mean.round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_rate_is_cycles_over_time() {
        assert_eq!(clock_rate_mhz([1_000, 0], [1_981_000, 1_000_000]), Some(1980.0));
        assert_eq!(clock_rate_mhz([5, 5], [5, 5]), None);
        assert_eq!(clock_rate_mhz([9, 0], [5, 5]), None, "another SM answered");
    }

    #[test]
    fn the_mean_rate_leaves_out_what_could_not_be_read() {
        assert_eq!(mean_mhz([Some(1700.0), None, Some(1801.0)]), Some(1751));
        assert_eq!(mean_mhz([None]), None);
    }
}
