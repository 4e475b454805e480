//! A worker: takes work, does it, and writes down what came of it.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use autokernel_codegen::schedule::Schedule;

use super::claim::Claim;
use super::error::StudyError;
use super::heartbeat::{Heartbeat, Role};
use super::kind::Kind;
use super::queue::{Numbered, Queue, Recorded};
use super::request::{Answer, Request, Task, Timed, Tried};
use crate::evaluate::{Evaluated, Evaluator, EvaluatorError};
use crate::held_final::Leg;
use crate::stop::Stop;

/// How often a worker without work looks for some: at first, and at most.
pub(super) const LOOKS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(500));

/// Makes the evaluators of the tasks that a machine serves.
pub trait Bench {
    /// The GPUs, unless it replays.
    fn kind(&self) -> Option<Kind>;

    /// The evaluator of `task`, if it is measured here in the environment that it asks for.
    fn evaluator(&self, task: &Task) -> Option<Box<dyn Evaluator>>;
}

/// How a worker goes about it.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// Schedules of a task that are taken at once, so that they can be compiled ahead.
    pub ahead: usize,
    /// How long it goes on without work; for ever if nothing is said.
    pub idle: Option<Duration>,
}

/// Why a worker ended before it was to.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The study cannot be used.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// The GPU cannot go on. What it held is given back.
    #[error(transparent)]
    Evaluator(#[from] EvaluatorError),
}

/// What a worker did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Results that count.
    pub counted: u64,
    /// Results that came after their lease was lost.
    pub late: u64,
}

/// A task and what measures it; none if that cannot be done here.
type Served = Option<(Task, Box<dyn Evaluator>)>;

/// A process that measures for a study.
pub struct Worker<'b> {
    queue: Queue,
    name: String,
    bench: &'b dyn Bench,
    evaluators: HashMap<i64, Served>,
    heartbeat: Heartbeat,
    habits: Habits,
    stop: Stop,
    done: Done,
}

impl<'b> Worker<'b> {
    /// A worker for the study of `queue`.
    ///
    /// # Errors
    /// It cannot be announced there.
    pub fn new(
        mut queue: Queue,
        name: String,
        bench: &'b dyn Bench,
        habits: Habits,
        stop: Stop,
    ) -> Result<Self, StudyError> {
        let lease = queue.policy().lease;
        let link = queue.link().another();
        let heartbeat = Heartbeat::begin(link, name.clone(), Role::Measure(bench.kind()), lease)?;
        let (evaluators, done) = (HashMap::new(), Done::default());
        Ok(Worker { queue, name, bench, evaluators, heartbeat, habits, stop, done })
    }

    /// Works until it is stopped, or was idle for as long as its habits say.
    ///
    /// # Errors
    /// The study or the GPU cannot go on.
    pub fn run(mut self) -> Result<Done, WorkError> {
        let worked = self.work();
        // Whoever stops it or took the GPU: what is held and not begun is for others.
        let held = self.heartbeat.held();
        if !held.is_empty() {
            self.queue.give_back(&held)?;
        }
        worked.map(|()| self.done)
    }

    fn work(&mut self) -> Result<(), WorkError> {
        let (mut pause, mut idle_since, mut last_task) = (LOOKS.0, Instant::now(), None);
        // Leases run out no faster, and to look for them is to read all that is open.
        let (every, mut next_blame) = (self.queue.policy().lease / 4, Instant::now());
        while !self.stop.is_requested() {
            let Some((task, claims)) = self.claim(last_task)? else {
                if self.habits.idle.is_some_and(|idle| idle_since.elapsed() >= idle) {
                    break;
                }
                if Instant::now() >= next_blame {
                    self.queue.blame()?;
                    next_blame = Instant::now() + every;
                }
                std::thread::sleep(pause);
                pause = (2 * pause).min(LOOKS.1);
                continue;
            };
            self.heartbeat.hold(claims.iter().map(|claim| (claim.id, claim.attempt)));
            self.serve(task, claims)?;
            (pause, idle_since, last_task) = (LOOKS.0, Instant::now(), Some(task));
        }
        Ok(())
    }

    /// Work of the task that was served last, whose matrices are ready, or else of the oldest that is served here.
    fn claim(&mut self, last: Option<i64>) -> Result<Option<(i64, Vec<Claim>)>, StudyError> {
        let most = self.habits.ahead;
        if let Some(task) = last {
            let claims = self.queue.claim(task, &self.name, most)?;
            if !claims.is_empty() {
                return Ok(Some((task, claims)));
            }
        }
        for Numbered { id, task } in self.queue.open_tasks()? {
            let bench = self.bench;
            let evaluator = self.evaluators.entry(id).or_insert_with(|| Some((task.clone(), bench.evaluator(&task)?)));
            if evaluator.is_none() {
                continue;
            }
            let claims = self.queue.claim(id, &self.name, most)?;
            if !claims.is_empty() {
                return Ok(Some((id, claims)));
            }
        }
        Ok(None)
    }

    fn serve(&mut self, task: i64, claims: Vec<Claim>) -> Result<(), WorkError> {
        let Some(Some((task, evaluator))) = self.evaluators.get_mut(&task) else { return Ok(()) };
        let mut schedules: HashMap<Schedule, (i64, i32)> = HashMap::new();
        let mut others = Vec::new();
        for Claim { id, attempt, request } in claims {
            match request {
                Request::Trial(draft) => drop(schedules.insert(draft.schedule, (id, attempt))),
                Request::Compare(_) | Request::Reference {} => others.push(((id, attempt), request)),
            }
        }
        let (queue, heartbeat, name, done) = (&mut self.queue, &self.heartbeat, &self.name, &mut self.done);
        let mut record = |claim: (i64, i32), answer: &Answer| -> Result<(), StudyError> {
            match queue.record(claim.0, claim.1, name, answer)? {
                Recorded::Counted => done.counted += 1,
                Recorded::Late => {
                    done.late += 1;
                    errln!("  the lease was lost before its result came; the result is kept and not counted");
                }
            }
            heartbeat.drop_claim(claim);
            Ok(())
        };
        let mut fault = None;
        let mut batch: Vec<Schedule> = schedules.keys().copied().collect();
        batch.sort_by_key(|schedule| schedules[schedule]);
        if !batch.is_empty() {
            evaluator.evaluate(&task.target, &batch, None, &mut |Evaluated { schedule, outcome, seconds }| {
                let answer = Answer::Tried(Tried { outcome, seconds });
                if let Err(error) = record(schedules[&schedule], &answer) {
                    fault = Some(error);
                    return ControlFlow::Break(());
                }
                if self.stop.is_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
        }
        if let Some(fault) = fault {
            return Err(fault.into());
        }
        for (claim, request) in others {
            let answer = match request {
                Request::Compare(meeting) => {
                    let results = evaluator.compare(&task.target, &meeting.contenders, meeting.rounds)?;
                    Answer::Compared(Leg::new(Some(meeting.rounds), &meeting.contenders, results))
                }
                _ => Answer::Timed(Timed { cublas: evaluator.reference(&task.target)? }),
            };
            record(claim, &answer)?;
        }
        Ok(())
    }
}
