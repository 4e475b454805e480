//! Timing launches on the GPU's own clock, with the host's latency hidden.

use std::time::{Duration, Instant};

use autokernel_runtime::timing::Timing;
use cudarc::driver::sys::{self, CUevent_flags};
use cudarc::driver::{CudaEvent, CudaSlice, DevicePtr, PinnedHostSlice};

use super::error::{Result, WorkerError};
use super::instruments::Instruments;
use super::sensors::Sensors;
use crate::gpu::meter::{self, Board, Ran};
use crate::gpu::sampling::{Batching, Effort, is_throttled, settled};

/// Times batches of launches that are queued behind a brake, so that the GPU runs them without a gap.
pub struct Stopwatch {
    released: PinnedHostSlice<u32>,
    events: Vec<CudaEvent>,
    /// Cycles and nanoseconds, before and after a batch.
    stamps: CudaSlice<u64>,
    sensors: Sensors,
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
    /// The mean SM clock, in MHz: by the SM's own counter, or by NVML's sensor if that could not be read.
    pub sm_clock_mhz: Option<f64>,
    /// Whether NVML says that heat or the power supply slowed the chip down.
    pub slowed: bool,
}

/// A candidate's time.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Statistics of the samples.
    pub timing: Timing,
    /// The mean SM clock over the samples, in MHz.
    pub sm_clock_mhz: Option<u32>,
    /// The energy of a launch, in millijoules, where it was asked for.
    pub energy_mj: Option<f64>,
    /// Samples that were thrown away.
    pub throttled: u32,
}

/// A launch, given its number: launches rotate through sets of buffers.
pub type Launch<'l> = &'l mut dyn FnMut(usize) -> Result<()>;

/// Sampling ends after this many times its limit on the GPU, however it passed.
const WALL_PER_LIMIT: f64 = 20.0;
/// The longest warm-up, in batches and in milliseconds.
const MAX_WARM_UP_BATCHES: usize = 8;
const MAX_WARM_UP_MS: f64 = 40.0;
/// A rest is this many times as long as the work before it, up to a limit.
const REST_PER_BUSY: f64 = 1.5;
const MAX_REST_MS: f64 = 300.0;
/// Launches that run between two looks at the counter of energy, in milliseconds.
const ENERGY_BATCH_MS: f64 = 10.0;

impl Stopwatch {
    /// A stopwatch on the stream of `tools`.
    pub fn new(tools: &Instruments, sensors: Sensors) -> Result<Self> {
        let doing = WorkerError::driver("preparing the stopwatch");
        let context = tools.stream().context();
        // SAFETY: written by `batch` before the GPU reads it.
        let released = unsafe { context.alloc_pinned_with_flags::<u32>(1, sys::CU_MEMHOSTALLOC_DEVICEMAP) };
        Ok(Stopwatch {
            released: released.map_err(&doing)?,
            events: Vec::new(),
            stamps: tools.stream().alloc_zeros::<u64>(4).map_err(&doing)?,
            sensors,
            busy_ms: 0.0,
        })
    }

    /// Times a launch by the protocol of `effort`: rest, warm up until two batches agree, then sample until the noise is low
    /// enough or the limit is reached. Samples of a throttled chip do not count.
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

        let begun = Instant::now();
        let wall = Duration::from_secs_f64(WALL_PER_LIMIT * effort.limit_ms / 1e3);
        let mut elapsed_ms = batch.elapsed_ms;
        let mut batches = vec![batch];
        let mut kept = Kept::of(&batches);
        while !effort.is_met(&kept.samples_ms, elapsed_ms) && begun.elapsed() < wall {
            let batch = self.batch(tools, batching, &mut number, launch)?;
            elapsed_ms += batch.elapsed_ms;
            batches.push(batch);
            kept = Kept::of(&batches);
        }
        let Kept { samples_ms, clocks, throttled } = kept;
        let timing = Timing::of_ms(&samples_ms)?;
        let energy_mj = if effort.energy_ms > 0.0 {
            let batching = Batching::for_round(timing.median_ms, ENERGY_BATCH_MS);
            Some(self.energy_mj(tools, batching, effort.energy_ms, launch)?)
        } else {
            None
        };
        Ok(Measured { timing, sm_clock_mhz: mean_mhz(clocks), energy_mj, throttled })
    }

    /// The energy of a launch under load, in millijoules, by launches of at least `at_least_ms`.
    ///
    /// # Errors
    /// The counter cannot be read, or stands still.
    pub fn energy_mj(
        &mut self,
        tools: &Instruments,
        batching: Batching,
        at_least_ms: f64,
        launch: Launch<'_>,
    ) -> Result<f64> {
        let Batching { launches_per_sample, samples_per_batch } = batching;
        let batch = launches_per_sample * samples_per_batch;
        let (sensors, since) = (&self.sensors, Instant::now());
        let mut board = Loaded { sensors, tools, batch, number: 0, launch, running: None, since };
        let still = || WorkerError::Request("the board's counter of energy stands still".to_owned());
        let energy = meter::of_a_launch(&mut board, at_least_ms);
        self.busy_ms += since.elapsed().as_secs_f64() * 1e3;
        energy?.ok_or_else(still)
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
        let reading = self.sensors.read();
        let sm_clock_mhz = self.sm_clock_mhz(tools)?.or(reading.sm_clock_mhz.map(f64::from));
        Ok(Batch { samples_ms, elapsed_ms, sm_clock_mhz, slowed: reading.slowed })
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

/// The board with a launch that is repeated without a gap: a batch is queued while the one before it runs, and the counter is read
/// meanwhile.
struct Loaded<'b, 'l> {
    sensors: &'b Sensors,
    tools: &'b Instruments,
    /// Launches of a batch.
    batch: usize,
    number: usize,
    launch: Launch<'l>,
    /// The end of the batch that runs.
    running: Option<CudaEvent>,
    /// When the batch before it ended.
    since: Instant,
}

impl Board for Loaded<'_, '_> {
    type Error = WorkerError;

    fn counter_mj(&mut self) -> Result<u64> {
        let unread = |reason| WorkerError::Request(format!("the board's counter of energy cannot be read: {reason}"));
        self.sensors.energy_mj().map_err(unread)
    }

    fn run(&mut self) -> Result<Ran> {
        let doing = WorkerError::driver("running launches for their energy");
        for _ in 0..self.batch {
            (self.launch)(self.number)?;
            self.number += 1;
        }
        let stream = self.tools.stream();
        let end = stream.context().new_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).map_err(&doing)?;
        end.record(stream).map_err(&doing)?;
        if let Some(before) = self.running.replace(end) {
            before.synchronize().map_err(&doing)?;
        }
        let elapsed = self.since.elapsed();
        self.since += elapsed;
        Ok(Ran { launches: self.batch, elapsed_ms: elapsed.as_secs_f64() * 1e3 })
    }
}

/// The samples that count.
struct Kept {
    samples_ms: Vec<f64>,
    clocks: Vec<Option<f64>>,
    throttled: u32,
}

impl Kept {
    /// Those of batches whose clock is not clearly below that of the run. Were all batches slowed down, all would count:
    /// there is nothing better.
    fn of(batches: &[Batch]) -> Self {
        let clocks: Vec<Option<f64>> = batches.iter().map(|batch| batch.sm_clock_mhz).collect();
        let fair = |batch: &&Batch| !batch.slowed && !is_throttled(batch.sm_clock_mhz, &clocks);
        let mut counting: Vec<&Batch> = batches.iter().filter(fair).collect();
        if counting.is_empty() {
            counting = batches.iter().collect();
        }
        let samples =
            |batches: &mut dyn Iterator<Item = &Batch>| batches.map(|batch| batch.samples_ms.len()).sum::<usize>();
        let throttled = samples(&mut batches.iter()) - samples(&mut counting.iter().copied());
        Kept {
            samples_ms: counting.iter().flat_map(|batch| &batch.samples_ms).copied().collect(),
            clocks: counting.iter().map(|batch| batch.sm_clock_mhz).collect(),
            throttled: u32::try_from(throttled).unwrap_or(u32::MAX),
        }
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
    fn samples_of_a_throttled_chip_are_counted_and_do_not_count() {
        let batch =
            |ms, clock, slowed| Batch { samples_ms: vec![ms; 4], elapsed_ms: 4.0 * ms, sm_clock_mhz: clock, slowed };
        let fair = || batch(1.0, Some(1700.0), false);
        let kept = Kept::of(&[fair(), batch(1.4, Some(1200.0), false), fair(), batch(1.1, Some(1690.0), true), fair()]);
        assert_eq!((kept.samples_ms, kept.throttled), (vec![1.0; 12], 8));
        let kept = Kept::of(&[batch(1.4, None, true)]);
        assert_eq!((kept.samples_ms.len(), kept.throttled), (4, 0), "all of them are slow alike");
    }

    #[test]
    fn the_mean_rate_leaves_out_what_could_not_be_read() {
        assert_eq!(mean_mhz([Some(1700.0), None, Some(1801.0)]), Some(1751));
        assert_eq!(mean_mhz([None]), None);
    }
}
