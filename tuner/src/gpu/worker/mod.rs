//! The worker: a process of its own that loads candidates, checks and times them. It can be killed at any moment.
//!
//! It reads one [`Request`] a line and answers each with one [`Reply`] line on its standard output. It never decides
//! anything; what a fault means is the business of [`pool`](super::pool).

mod buffers;
mod cublas;
mod error;
mod facts;
mod finals;
mod guarded;
pub mod instruments;
mod orphan;
mod reference;
mod sensors;
mod session;
mod stopwatch;

use std::io::{self, BufRead, Write};

use autokernel_runtime::{Device, DeviceInfo};

use self::error::{Result, WorkerError};
pub use self::orphan::end_with_parent;
use self::session::Session;
use super::protocol::{Evaluated, Reply, Request};
use crate::outcome::{Measurement, Outcome};

/// Serves requests from `input` on GPU `ordinal` until there are no more, or until a fault that only a new process
/// survives.
///
/// # Errors
/// `input` or `output` is broken.
pub fn serve(ordinal: usize, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut worker = None;
    for line in input.lines() {
        let reply = answer(&mut worker, ordinal, &line?);
        serde_json::to_writer(&mut output, &reply)?;
        output.write_all(b"\n")?;
        output.flush()?;
        if is_fatal(&reply) {
            return Ok(());
        }
    }
    Ok(())
}

struct Worker {
    device: Device,
    info: DeviceInfo,
    session: Option<Box<Session>>,
}

fn answer(worker: &mut Option<Worker>, ordinal: usize, line: &str) -> Reply {
    let request = match serde_json::from_str(line) {
        Ok(request) => request,
        Err(error) => return failed(&WorkerError::Request(format!("a request that cannot be read: {error}"))),
    };
    let served = match worker {
        Some(worker) => worker.serve(request),
        None => Worker::new(ordinal).and_then(|new| worker.insert(new).serve(request)),
    };
    served.unwrap_or_else(|error| failed(&error))
}

impl Worker {
    fn new(ordinal: usize) -> Result<Self> {
        let device = Device::new(ordinal)?;
        let info = device.info()?;
        Ok(Worker { device, info, session: None })
    }

    fn serve(&mut self, request: Request) -> Result<Reply> {
        match request {
            Request::Gpu => Ok(Reply::Gpu(facts::gpu(&self.device, &self.info)?)),
            Request::Open(open) => {
                // The old buffers go first, so that both need not fit at once.
                self.session = None;
                let session = self.session.insert(Box::new(Session::open(&self.device, &self.info, &open)?));
                Ok(Reply::Opened(session.opened()))
            }
            Request::Evaluate(request) => Ok(Reply::Evaluated(evaluated(self.session()?.evaluate(&request)))),
            Request::Baseline { effort } => Ok(Reply::Evaluated(evaluated(self.session()?.baseline(&effort)))),
            Request::Final(request) => {
                let (finals, settled) = self.session()?.finals(&request)?;
                Ok(Reply::Finals { finals, settled })
            }
        }
    }

    fn session(&mut self) -> Result<&mut Session> {
        let missing = || WorkerError::Request("no problem is open".to_owned());
        self.session.as_deref_mut().ok_or_else(missing)
    }
}

fn evaluated(measured: Result<stopwatch::Measured>) -> Evaluated {
    match measured {
        Ok(stopwatch::Measured { timing, sm_clock_mhz, energy_mj, throttled }) => {
            let samples = u32::try_from(timing.samples).unwrap_or(u32::MAX);
            let measurement = Measurement {
                sm_clock_mhz,
                energy_mj,
                throttled,
                ..Measurement::new(timing.median_ms, timing.spread_pct, samples)
            };
            Evaluated { outcome: Outcome::Measured(measurement), min_ms: Some(timing.min_ms), fatal: false }
        }
        Err(error) => Evaluated { outcome: Outcome::Failed(error.failure()), min_ms: None, fatal: error.is_fatal() },
    }
}

fn failed(error: &WorkerError) -> Reply {
    Reply::Failed { failure: error.failure(), fatal: error.is_fatal() }
}

fn is_fatal(reply: &Reply) -> bool {
    match reply {
        Reply::Evaluated(Evaluated { fatal, .. }) | Reply::Failed { fatal, .. } => *fatal,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbage_and_requests_out_of_turn_are_answered_and_not_fatal() {
        let mut output = Vec::new();
        serve(9999, &b"garbage\n{\"request\":\"gpu\"}\n"[..], &mut output).unwrap();
        let replies: Vec<Reply> =
            output.split_inclusive(|&byte| byte == b'\n').map(|line| serde_json::from_slice(line).unwrap()).collect();
        assert_eq!(replies.len(), 2);
        for reply in replies {
            assert!(matches!(reply, Reply::Failed { fatal: false, .. }), "{reply:?}");
        }
    }
}
