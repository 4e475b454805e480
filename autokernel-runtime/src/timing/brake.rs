//! Holding a stream until a batch of launches is queued, so that the host's latency is not timed.

use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use cudarc::driver::sys::CUstreamCaptureStatus;
use cudarc::driver::{CudaStream, result::stream::launch_host_function};

use crate::{Error, Result};

/// Launches that are queued before the stream goes on: a head start that the GPU does not catch up with, and well below
/// the thousand or so that a driver queues.
pub(super) const HELD_LAUNCHES: usize = 256;

/// A held stream goes on by itself after this long: work that waits for the GPU must not wait for ever. Queueing
/// [`HELD_LAUNCHES`] takes 1 to 2 ms.
const LIMIT: Duration = Duration::from_millis(5);

/// Holds a stream until it is dropped. In a context that was lost before the stream got there, the stream's reference to
/// the state leaks: a few bytes.
#[derive(Debug)]
pub(super) struct Brake(Arc<State>);

#[derive(Debug, Default)]
struct State {
    released: Mutex<bool>,
    changed: Condvar,
}

impl State {
    fn release(&self) {
        *self.released.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    fn wait(&self) {
        let released = self.released.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_timeout_while(released, LIMIT, |released| !*released));
    }
}

impl Brake {
    /// What is queued on `stream` from now on waits.
    ///
    /// # Errors
    /// [`Error::Captured`], or the driver's own error.
    pub(super) fn hold(stream: &CudaStream) -> Result<Self> {
        check_not_captured(stream)?;
        let state = Arc::<State>::default();
        let argument = Arc::into_raw(Arc::clone(&state));
        // SAFETY: the stream is alive, its context is bound to this thread, and `wait` takes back exactly the reference
        // that it is given here. The stream is not captured, so the driver calls `wait` once at most.
        let queued = unsafe { launch_host_function(stream.cu_stream(), wait, argument.cast_mut().cast()) };
        if let Err(error) = queued {
            // SAFETY: the driver refused the call, so that nobody else takes the reference back.
            drop(unsafe { Arc::from_raw(argument) });
            return Err(Error::cuda("holding a stream")(error));
        }
        Ok(Self(state))
    }
}

/// Refuses a stream that is being captured: each replay of its graph would call [`wait`] again with the same reference.
/// Binds the context to this thread, as the handle of the default stream means that of the context that is bound.
fn check_not_captured(stream: &CudaStream) -> Result<()> {
    stream.context().bind_to_thread().map_err(Error::cuda("binding the CUDA context to the thread"))?;
    // The default stream cannot be captured.
    if stream.cu_stream().is_null() {
        return Ok(());
    }
    match stream.capture_status().map_err(Error::cuda("asking whether the stream is captured"))? {
        CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE => Ok(()),
        _ => Err(Error::Captured { what: "timing a batch" }),
    }
}

impl Drop for Brake {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// What the driver calls when the stream gets there. It calls nothing of CUDA, as it must.
///
/// # Safety
/// `argument` is a reference from `Arc::into_raw` of a [`State`], which nobody else takes back.
unsafe extern "C" fn wait(argument: *mut c_void) {
    // SAFETY: by the caller's promise.
    let state = unsafe { Arc::from_raw(argument.cast_const().cast::<State>()) };
    state.wait();
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Instant;

    use super::*;

    fn waited(release_after: Duration) -> Duration {
        let state = Arc::<State>::default();
        let brake = Brake(Arc::clone(&state));
        let release = thread::spawn(move || {
            thread::sleep(release_after);
            drop(brake);
        });
        let start = Instant::now();
        // SAFETY: the reference is made for this call.
        unsafe { wait(Arc::into_raw(state).cast_mut().cast()) };
        let waited = start.elapsed();
        release.join().unwrap();
        waited
    }

    #[test]
    fn a_stream_is_held_until_its_brake_is_dropped_and_no_longer_than_the_limit() {
        assert!(waited(Duration::from_millis(2)) >= Duration::from_millis(2));
        let long = waited(Duration::from_millis(400));
        assert!(long >= LIMIT && long < Duration::from_millis(300), "{long:?}");
    }
}
