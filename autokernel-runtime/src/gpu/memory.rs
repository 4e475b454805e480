//! The device memory that the kernels of one CUDA context share.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use cudarc::driver::CudaContext;

use super::captured::free_handed_back;
use super::scratch::Pool;
use super::workspace::Workspaces;

/// What is in use, for each CUDA context once.
static MEMORIES: Mutex<Vec<Weak<Memory>>> = Mutex::new(Vec::new());

/// A pool, and what streams keep of it.
#[derive(Debug)]
pub(super) struct Memory {
    /// Where memory for the time of a launch is from.
    pub pool: Pool,
    /// What streams keep.
    pub workspaces: Workspaces,
    context: Arc<CudaContext>,
}

impl Memory {
    /// That of a context. It is made with the first kernel, as a captured stream may forbid it later.
    pub fn of(context: &Arc<CudaContext>) -> Arc<Self> {
        let mut memories = MEMORIES.lock().unwrap_or_else(PoisonError::into_inner);
        memories.retain(|memory| memory.strong_count() > 0);
        let known =
            memories.iter().filter_map(Weak::upgrade).find(|memory| memory.context.cu_ctx() == context.cu_ctx());
        known.unwrap_or_else(|| {
            let (pool, workspaces) = (Pool::new(context), Workspaces::default());
            let memory = Arc::new(Self { pool, workspaces, context: context.clone() });
            memories.push(Arc::downgrade(&memory));
            memory
        })
    }
}

impl Drop for Memory {
    /// Workspaces are of the pool, and go before it.
    fn drop(&mut self) {
        self.context.record_err(self.context.bind_to_thread());
        self.workspaces.clear();
        free_handed_back(&self.context);
    }
}
