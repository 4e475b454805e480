//! Who searches what is demanded.

use std::sync::Arc;

use super::demand::Wanted;
use super::error::StudyError;
use super::heartbeat::{Heartbeat, Role};
use super::kind::Kind;
use super::queue::Queue;
use super::request::Task;
use crate::target::Target;

/// A process that searches what is demanded of a study.
pub struct Searcher {
    queue: Queue,
    name: String,
    heartbeat: Heartbeat,
}

/// A search that is leased.
pub struct Taken {
    /// The GPUs that it is for.
    pub kind: Kind,
    /// What is tuned.
    pub target: Target,
    lease: (i64, i32),
}

impl Searcher {
    /// A searcher of that name for the study of `queue`.
    ///
    /// # Errors
    /// It cannot be announced there.
    pub fn new(mut queue: Queue, name: String) -> Result<Self, StudyError> {
        let (link, lease) = (queue.link().another(), queue.policy().lease);
        let heartbeat = Heartbeat::begin(link, name.clone(), Role::Search, lease)?;
        Ok(Searcher { queue, name, heartbeat })
    }

    /// The first search that nobody has and that is not done, on a kind of GPU that workers measure on now; `task` says
    /// what is searched for what is wanted there, and `can_be` whether there are kernels for it.
    ///
    /// # Errors
    /// The study cannot be used.
    pub fn take(
        &mut self,
        task: impl Fn(&Wanted, &Kind) -> Task,
        can_be: impl Fn(&Target) -> bool,
    ) -> Result<Option<Taken>, StudyError> {
        let lease = self.queue.policy().lease;
        let kinds = Kind::all(self.queue.link(), lease)?;
        let (wanted, taken) = (self.queue.demanded()?, self.queue.taken_searches()?);
        for wanted in &wanted {
            for kind in &kinds {
                let task = task(wanted, kind);
                if taken.contains(&task.key()) || !can_be(&task.target) {
                    continue;
                }
                if let Some(lease) = self.queue.claim_search(&task, &self.name)? {
                    self.heartbeat.hold([lease]);
                    return Ok(Some(Taken { kind: kind.clone(), target: Arc::unwrap_or_clone(task.target), lease }));
                }
            }
        }
        Ok(None)
    }

    /// Says that a search has come to its end.
    ///
    /// # Errors
    /// The study cannot be used.
    pub fn finish(&mut self, taken: &Taken) -> Result<(), StudyError> {
        self.heartbeat.drop_claim(taken.lease);
        self.queue.finish_search(taken.lease.0)
    }

    /// Leaves a search to others.
    ///
    /// # Errors
    /// The study cannot be used.
    pub fn give_back(&mut self, taken: &Taken) -> Result<(), StudyError> {
        self.heartbeat.drop_claim(taken.lease);
        self.queue.give_back_searches(&[taken.lease])
    }
}
