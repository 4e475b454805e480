//! A worker without a GPU: compiles what is open into the cache that all workers share.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use autokernel_codegen::schedule::Schedule;

use super::claim::Claim;
use super::error::StudyError;
use super::heartbeat::{Heartbeat, Role};
use super::kind::Kind;
use super::queue::{Numbered, Queue};
use super::request::{Request, Task, Tried};
use super::worker::{LOOKS, WorkError};
use crate::evaluate::EvaluatorError;
use crate::outcome::{Failure, Outcome};
use crate::stop::Stop;

/// Compiles for GPUs that are elsewhere.
pub trait Workshop: Sync {
    /// Whether what it compiles is what the task's workers would compile themselves.
    fn serves(&self, task: &Task) -> bool;

    /// Compiles what workers on these kinds of GPUs need for `task` beside candidates.
    ///
    /// # Errors
    /// Nothing can be compiled here.
    fn prepare(&self, task: &Task, kinds: &[Kind]) -> Result<(), EvaluatorError>;

    /// Compiles a candidate, or says why it cannot be used.
    ///
    /// # Errors
    /// Nothing can be compiled here, whatever the schedule.
    fn compile(&self, task: &Task, schedule: &Schedule) -> Result<Option<Failure>, EvaluatorError>;
}

/// What came of compiling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compiled {
    /// Schedules whose kernel is in the cache.
    pub compiled: u64,
    /// Schedules that cannot be used, which is recorded.
    pub refused: u64,
}

/// The image of a schedule of a task: schedules that differ in launch-time knobs share one.
type Image = (i64, Schedule);

/// An image whose compile has ended.
struct Ended {
    image: Image,
    seconds: f64,
    outcome: Result<Option<Failure>, EvaluatorError>,
}

/// A process that compiles for a study.
pub struct CompileWorker<'w> {
    queue: Queue,
    workshop: &'w dyn Workshop,
    heartbeat: Heartbeat,
    threads: usize,
    idle: Option<Duration>,
    stop: Stop,
    served: HashMap<i64, bool>,
    prepared: HashSet<i64>,
    under_way: HashMap<Image, Vec<Claim>>,
    done: Compiled,
}

impl<'w> CompileWorker<'w> {
    /// A worker for the study of `queue` that compiles on `threads` threads, and ends when it was `idle` for so long.
    ///
    /// # Errors
    /// It cannot be announced there.
    pub fn new(
        mut queue: Queue,
        name: String,
        workshop: &'w dyn Workshop,
        threads: usize,
        idle: Option<Duration>,
        stop: Stop,
    ) -> Result<Self, StudyError> {
        let lease = queue.policy().lease;
        let link = queue.link().another();
        let heartbeat = Heartbeat::begin(link, name, Role::Compile, lease)?;
        let (served, prepared, under_way) = (HashMap::new(), HashSet::new(), HashMap::new());
        let done = Compiled::default();
        Ok(CompileWorker { queue, workshop, heartbeat, threads, idle, stop, served, prepared, under_way, done })
    }

    /// Works until it is stopped, or was idle for long enough. What it has begun then, it ends.
    ///
    /// # Errors
    /// The study or nvcc cannot go on.
    pub fn run(mut self) -> Result<Compiled, WorkError> {
        let worked = thread::scope(|scope| self.work(scope));
        let held = self.heartbeat.held();
        if !held.is_empty() {
            self.queue.give_back_uncompiled(&held)?;
        }
        worked.map(|()| self.done)
    }

    fn work<'s>(&mut self, scope: &'s Scope<'s, '_>) -> Result<(), WorkError>
    where
        'w: 's,
    {
        let (sender, ended) = mpsc::channel();
        let (mut pause, mut idle_since) = (LOOKS.0, Instant::now());
        loop {
            let is_over = self.stop.is_requested();
            let has_begun = !is_over && self.begin(scope, &sender)?;
            let has_ended = self.record_ended(&ended, pause)?;
            if has_begun || has_ended || !self.under_way.is_empty() {
                idle_since = Instant::now();
            } else if is_over || self.idle.is_some_and(|idle| idle_since.elapsed() >= idle) {
                return Ok(());
            }
            pause = if has_begun || has_ended { LOOKS.0 } else { (2 * pause).min(LOOKS.1) };
        }
    }

    /// Claims as much as threads are free, and begins it; whether there was something.
    fn begin<'s>(&mut self, scope: &'s Scope<'s, '_>, ended: &Sender<Ended>) -> Result<bool, WorkError>
    where
        'w: 's,
    {
        let free = self.threads.saturating_sub(self.under_way.len());
        if free == 0 {
            return Ok(false);
        }
        for Numbered { id, task } in self.queue.uncompiled_tasks()? {
            let workshop = self.workshop;
            if !*self.served.entry(id).or_insert_with(|| workshop.serves(&task)) {
                continue;
            }
            let claims = self.queue.claim_uncompiled(id, free)?;
            if claims.is_empty() {
                continue;
            }
            self.heartbeat.hold(claims.iter().map(|claim| (claim.id, claim.attempt)));
            if self.prepared.insert(id) {
                let lease = self.queue.policy().lease;
                workshop.prepare(&task, &Kind::all(self.queue.link(), lease)?)?;
            }
            for claim in claims {
                let Request::Trial(draft) = &claim.request else { continue };
                let image = (id, draft.schedule.image());
                let group = self.under_way.entry(image).or_default();
                group.push(claim);
                if group.len() == 1 {
                    let (task, ended) = (task.clone(), ended.clone());
                    scope.spawn(move || compile(workshop, &task, image, &ended));
                }
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Writes down what ended within `pause`; whether something did.
    fn record_ended(&mut self, ended: &Receiver<Ended>, pause: Duration) -> Result<bool, WorkError> {
        let Ok(first) = ended.recv_timeout(pause) else { return Ok(false) };
        for Ended { image, seconds, outcome } in std::iter::once(first).chain(ended.try_iter()) {
            let claims = self.under_way.remove(&image).unwrap_or_default();
            let ids: Vec<i64> = claims.iter().map(|claim| claim.id).collect();
            match outcome? {
                None => {
                    self.queue.note_compiled(&ids)?;
                    self.done.compiled += ids.len() as u64;
                }
                Some(failure) => {
                    let tried = Tried { outcome: Outcome::Failed(failure), seconds };
                    self.done.refused += self.queue.record_refused(&ids, &tried)?;
                }
            }
            claims.iter().for_each(|claim| self.heartbeat.drop_claim((claim.id, claim.attempt)));
        }
        Ok(true)
    }
}

fn compile(workshop: &dyn Workshop, task: &Task, image: Image, ended: &Sender<Ended>) {
    let begun = Instant::now();
    // A thread that only panicked would leave the worker waiting for what it never sends.
    let outcome = catch_unwind(AssertUnwindSafe(|| workshop.compile(task, &image.1)));
    let outcome = outcome.unwrap_or_else(|_| Err(EvaluatorError::panicked()));
    // Without a receiver the worker is over, and gives back what it holds.
    let _ = ended.send(Ended { image, seconds: begun.elapsed().as_secs_f64(), outcome });
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::matmul::extents;
    use autokernel_codegen::problem::{Layout, Problem};

    use super::*;
    use crate::environment::Environment;
    use crate::gpu::candidates;
    use crate::target::Target;

    /// Whose compiles panic.
    struct Faulty;

    impl Workshop for Faulty {
        fn serves(&self, _: &Task) -> bool {
            true
        }

        fn prepare(&self, _: &Task, _: &[Kind]) -> Result<(), EvaluatorError> {
            Ok(())
        }

        fn compile(&self, _: &Task, _: &Schedule) -> Result<Option<Failure>, EvaluatorError> {
            panic!("a fault that the tests made up")
        }
    }

    #[test]
    fn a_thread_that_panics_tells_the_worker_which_would_wait_for_ever_else() {
        let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
        let target = Target { problem, arch: Arch::SM_90A, shape: extents(64, 64, 64) };
        let schedule = candidates(&target)[0];
        let words = ["GPU", "1", "13.0", "0"].map(str::to_owned);
        let [gpu, driver, nvcc, kernels] = words;
        let task = Task {
            target: target.into(),
            environment: Environment {
                gpu,
                driver,
                nvcc,
                kernels,
                objective: Default::default(),
                group_sizes: Default::default(),
                regime: Default::default(),
            }
            .into(),
        };
        let (sender, ended) = mpsc::channel();
        thread::scope(|scope| scope.spawn(|| compile(&Faulty, &task, (1, schedule), &sender)).join()).unwrap();
        let Ended { image, outcome, .. } = ended.try_recv().unwrap();
        assert_eq!(image, (1, schedule));
        assert!(outcome.unwrap_err().to_string().contains("panicked"), "its claims are given back with the reason");
    }
}
