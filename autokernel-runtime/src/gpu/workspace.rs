//! Workspaces: device memory beside the operands, which the launches on a stream use one after the other.
//!
//! A stream keeps its own, so that nothing is allocated or cleared between launches: kernels leave zeros where they found
//! zeros. What is captured in a graph may run beside anything, also beside the stream that it was captured on: there a graph has its own
//! (`captured`). A handle that means another stream in each thread tells none apart: there each launch has one.

use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::CudaStream;
use cudarc::driver::result;

use super::captured::Captured;
use super::pointers::PER_THREAD_STREAM;
use super::scratch::{Pool, Scratch};
use crate::driver::{capture_of, is_capturing};
use crate::launch::workspace::{Addresses, Needs};
use crate::{Error, Result};

/// Workspaces grow by no less, in bytes.
const STEP: u64 = 1 << 16;

/// The workspaces of the streams of one context.
#[derive(Debug, Default)]
pub(super) struct Workspaces {
    kept: Mutex<Vec<Workspace>>,
    /// Those of streams that are captured in a graph.
    captured: Mutex<Captured>,
}

/// The workspace of one stream.
#[derive(Debug)]
struct Workspace {
    stream: Arc<CudaStream>,
    zeros: Option<Room>,
    anything: Option<Room>,
}

/// Memory that later launches use again.
#[derive(Debug)]
struct Room {
    scratch: Scratch,
    bytes: u64,
}

impl Workspaces {
    /// Calls `launch` with the addresses of what a launch on `stream` needs. No other thread launches there meanwhile by
    /// which this memory might be replaced.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], the driver's own error, or what `launch` returns.
    pub fn lend<T>(
        &self,
        pool: &Pool,
        stream: &Arc<CudaStream>,
        needs: &Needs,
        launch: impl FnOnce(Addresses) -> Result<T>,
    ) -> Result<T> {
        if needs.is_empty() {
            return launch(Addresses::default());
        }
        let is_captured = is_capturing(stream)?;
        if is_captured && let Some(capture) = capture_of(stream)? {
            let mut captured = self.captured.lock().unwrap_or_else(PoisonError::into_inner);
            return launch(captured.lend(stream, &capture, needs)?);
        }
        if is_captured || stream.cu_stream() as usize == PER_THREAD_STREAM {
            let mut own = Workspace::new(stream);
            own.grow(pool, needs)?;
            return launch(own.addresses(needs)); // and freed in stream order
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let workspace = of_stream(&mut kept, stream);
        workspace.grow(pool, needs)?;
        launch(workspace.addresses(needs))
    }

    /// Frees all of them.
    pub fn clear(&self) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// The workspace of a stream. Where it has none yet, those of streams that nobody else holds any more are freed.
fn of_stream<'k>(kept: &'k mut Vec<Workspace>, stream: &Arc<CudaStream>) -> &'k mut Workspace {
    let is_of_stream = |workspace: &Workspace| workspace.stream.cu_stream() == stream.cu_stream();
    let at = kept.iter().position(is_of_stream).unwrap_or_else(|| {
        kept.retain(|workspace| !workspace.is_orphan());
        kept.push(Workspace::new(stream));
        kept.len() - 1
    });
    &mut kept[at]
}

impl Workspace {
    fn new(stream: &Arc<CudaStream>) -> Self {
        Self { stream: stream.clone(), zeros: None, anything: None }
    }

    /// Whether nobody else holds the stream.
    fn is_orphan(&self) -> bool {
        let rooms = [&self.zeros, &self.anything].into_iter().flatten().count();
        Arc::strong_count(&self.stream) == 1 + rooms
    }

    /// Sees to it that what a launch needs is there; what it replaces is freed in stream order.
    fn grow(&mut self, pool: &Pool, needs: &Needs) -> Result<()> {
        let has = |room: &Option<Room>, bytes| bytes <= room.as_ref().map_or(0, |room| room.bytes);
        if !has(&self.anything, needs.anything) {
            self.anything = Some(Room::new(pool, &self.stream, needs.anything)?);
        }
        if !has(&self.zeros, needs.zeros) {
            let room = Room::new(pool, &self.stream, needs.zeros)?;
            room.clear(&self.stream)?;
            self.zeros = Some(room);
        }
        Ok(())
    }

    fn addresses(&self, needs: &Needs) -> Addresses {
        let address = |room: &Option<Room>| room.as_ref().map_or(0, |room| room.scratch.address);
        needs.addresses(address(&self.zeros), address(&self.anything))
    }
}

impl Room {
    fn new(pool: &Pool, stream: &Arc<CudaStream>, bytes: u64) -> Result<Self> {
        let bytes = bytes.checked_next_multiple_of(STEP).unwrap_or(bytes);
        Ok(Self { scratch: Scratch::new(pool, stream, bytes)?, bytes })
    }

    fn clear(&self, stream: &CudaStream) -> Result<()> {
        let bytes = usize::try_from(self.bytes).unwrap_or(usize::MAX);
        // SAFETY: the memory is as long, is of this stream's context, and is freed on this stream.
        let cleared = unsafe { result::memset_d8_async(self.scratch.address, 0, bytes, stream.cu_stream()) };
        cleared.map_err(Error::cuda("clearing a workspace"))
    }
}
