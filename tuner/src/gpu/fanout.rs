//! One batch on every GPU: images are compiled ahead on all cores while each GPU takes what is ready.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use autokernel_codegen::schedule::Schedule;

use super::compile::{CandidateCompiler, CompileOutcome, Compiled, ImageGroup};
use super::load::{self, Standard};
use super::pool::GpuPool;
use super::protocol::{Candidate, Evaluate, FinalContender, Open};
use super::sampling::Effort;
use super::seeds::Seeds;
use crate::evaluate::{Done, Evaluated, EvaluatorError};
use crate::intents::Intents;
use crate::outcome::{Failure, Measurement, Outcome};

/// What a batch is measured with.
pub struct Fanout<'b> {
    /// The compiler of its candidates.
    pub compiler: CandidateCompiler,
    /// Threads that compile.
    pub threads: usize,
    /// How thoroughly candidates are timed; of those that are timed under load, how much is spent on knowing that they run.
    pub effort: Effort,
    /// What times under load are told by; each is timed after a rest if there is nothing.
    pub load: Option<&'b Standard>,
    /// Where the seeds of the checks come from.
    pub seeds: &'b Seeds,
    /// Is told before each launch.
    pub intents: Option<&'b Intents>,
}

/// A GPU that could not go on, by its place among the pools, and why.
pub type Lost = (usize, EvaluatorError);

impl Fanout<'_> {
    /// Measures `schedules` on `pools` and tells `done` as each outcome is known. Compiling begins at once; `open` says
    /// meanwhile what the GPUs must prepare. A GPU that is lost hands what it had to the others.
    ///
    /// Once `done` breaks, nothing further is begun; it is still told of what was under way.
    ///
    /// # Errors
    /// `open` fails, nothing can be compiled here whatever the schedule, or all GPUs are lost.
    pub fn run(
        &self,
        pools: &mut [GpuPool],
        schedules: &[Schedule],
        open: impl FnOnce() -> Result<Open, EvaluatorError>,
        done: Done<'_>,
    ) -> Result<Vec<Lost>, EvaluatorError> {
        let groups = ImageGroup::of(schedules);
        let queue = Queue::new(groups.len(), pools.len());
        let next_group = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            let mut compiling = Vec::new();
            for _ in 0..self.threads.clamp(1, groups.len().max(1)) {
                let (sender, queue, next_group, groups) = (sender.clone(), &queue, &next_group, &groups);
                compiling.push(scope.spawn(move || self.compile_groups(groups, next_group, queue, &sender)));
            }
            let open = open().inspect_err(|_| queue.stop())?;
            let mut gpus = Vec::new();
            for (place, pool) in pools.iter_mut().enumerate() {
                let (sender, queue, open) = (sender.clone(), &queue, open.clone());
                gpus.push((place, scope.spawn(move || self.serve(pool, &open, queue, &sender))));
            }
            drop(sender);
            // Ends when every thread has dropped its sender. After a stop the other GPUs still finish what they have, and
            // that counts as well.
            for evaluated in &receiver {
                if done(evaluated).is_break() {
                    queue.stop();
                }
            }
            let joined = |thread: std::thread::ScopedJoinHandle<'_, Result<(), EvaluatorError>>| {
                thread.join().unwrap_or_else(|_| Err(EvaluatorError::panicked()))
            };
            // What was measured meanwhile is told; nothing of this is a schedule's failure.
            compiling.into_iter().try_for_each(joined)?;
            let join = |(place, gpu): (usize, std::thread::ScopedJoinHandle<'_, Result<(), EvaluatorError>>)| {
                joined(gpu).err().map(|error| (place, error))
            };
            let mut lost: Vec<Lost> = gpus.into_iter().filter_map(join).collect();
            match lost.pop() {
                Some((_, error)) if queue.is_abandoned() => Err(error),
                last => {
                    lost.extend(last);
                    Ok(lost)
                }
            }
        })
    }

    /// Compiles until there is nothing left. Whoever cannot go on stops the batch, as the GPUs would wait for what never comes.
    fn compile_groups(
        &self,
        groups: &[ImageGroup],
        next: &AtomicUsize,
        queue: &Queue,
        sender: &Sender<Evaluated>,
    ) -> Result<(), EvaluatorError> {
        while !queue.is_stopped() {
            let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            let begun = Instant::now();
            let compiled = catch_unwind(AssertUnwindSafe(|| self.compiler.compile(&group.schedules[0])));
            let outcome = compiled.unwrap_or_else(|_| Err(EvaluatorError::panicked())).inspect_err(|_| queue.stop())?;
            queue.compiled(jobs(group, outcome, begun.elapsed().as_secs_f64(), sender));
        }
        Ok(())
    }

    /// Measures what is ready until there is nothing left.
    fn serve(
        &self,
        pool: &mut GpuPool,
        open: &Open,
        queue: &Queue,
        sender: &Sender<Evaluated>,
    ) -> Result<(), EvaluatorError> {
        let mut sounded: Vec<Sounded> = Vec::new();
        loop {
            // Opening takes seconds, which a GPU that comes too late for any job need not spend.
            let job = if sounded.len() < load::MOST { queue.next(!sounded.is_empty()) } else { None };
            let Some(job) = job else {
                if sounded.is_empty() || queue.is_stopped() {
                    break;
                }
                let met = self.meet(pool, &sounded, sender);
                let jobs = std::mem::take(&mut sounded).into_iter().map(|one| one.job);
                match met {
                    Ok(()) => queue.finished(jobs.len()),
                    Err(error) => {
                        queue.put_back(jobs);
                        return Err(error);
                    }
                }
                continue;
            };
            let begun = Instant::now();
            let measured = pool.open(open).and_then(|_| self.measure(pool, &job));
            let seconds = job.compile_seconds + begun.elapsed().as_secs_f64();
            match measured {
                Ok(Outcome::Measured(sounding)) if self.load.is_some() => {
                    sounded.push(Sounded { job, sounding, seconds });
                }
                Ok(outcome) => {
                    queue.finished(1);
                    if sender.send(Evaluated { schedule: job.schedule, outcome, seconds }).is_err() {
                        break;
                    }
                }
                Err(error) => {
                    queue.put_back(sounded.into_iter().map(|one| one.job).chain([job]));
                    return Err(error);
                }
            }
        }
        queue.finished(sounded.len());
        Ok(())
    }

    /// Times under load what runs, the slow ones apart, and tells of each.
    fn meet(&self, pool: &mut GpuPool, sounded: &[Sounded], sender: &Sender<Evaluated>) -> Result<(), EvaluatorError> {
        let fastest = sounded.iter().map(|one| one.sounding.median_ms).fold(f64::INFINITY, f64::min);
        let is_near = |one: &&Sounded| one.sounding.median_ms <= load::NEAR * fastest;
        let (near, far): (Vec<&Sounded>, Vec<&Sounded>) = sounded.iter().partition(is_near);
        let mut evaluated = self.times(pool, &near, load::ROUNDS)?;
        evaluated.extend(self.times(pool, &far, load::FEW_ROUNDS)?);
        // Without a receiver the batch is over.
        evaluated.into_iter().for_each(|evaluated| drop(sender.send(evaluated)));
        Ok(())
    }

    /// What became of each under load. Where the worker falls, each meets the reference alone, so that the guilty is known.
    fn times(&self, pool: &mut GpuPool, met: &[&Sounded], rounds: u32) -> Result<Vec<Evaluated>, EvaluatorError> {
        let Some(standard) = self.load.filter(|_| !met.is_empty()) else { return Ok(Vec::new()) };
        let begun = Instant::now();
        let candidates: Vec<Candidate> = met.iter().map(|one| one.job.candidate()).collect();
        let Some(reference) = standard.reference(&candidates, &self.compiler)? else { return Ok(Vec::new()) };
        let entrants: Vec<FinalContender> = candidates.into_iter().map(FinalContender::Candidate).collect();
        let seed = self.seeds.next();
        let told = match standard.times(reference, &entrants, rounds, pool, seed)? {
            Ok(told) => told,
            Err(failure) if met.len() == 1 => vec![Err(failure)],
            Err(failure) => {
                errln!("warning: schedules fell under load ({failure}); each meets the reference alone");
                let alone = met.iter().map(|one| self.times(pool, &[one], rounds));
                return Ok(alone.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect());
            }
        };
        let seconds = begun.elapsed().as_secs_f64() / met.len() as f64;
        let evaluated = |(one, time): (&&Sounded, Result<Measurement, Failure>)| {
            let resources = one.sounding.resources;
            let outcome = match time {
                Ok(time) => Outcome::Measured(Measurement { resources, check_seed: Some(seed), ..time }),
                Err(failure) => Outcome::Failed(failure),
            };
            Evaluated { schedule: one.job.schedule, outcome, seconds: one.seconds + seconds }
        };
        Ok(met.iter().zip(told).map(evaluated).collect())
    }

    fn measure(&self, pool: &mut GpuPool, job: &Job) -> Result<Outcome, EvaluatorError> {
        let request = Evaluate { candidate: job.candidate(), effort: self.effort, seed: self.seeds.next() };
        if let Some(intents) = self.intents {
            intents.begin(pool.ordinal(), &job.schedule).map_err(|error| unwritten(&error))?;
        }
        let evaluated = pool.evaluate(&request);
        if let Some(intents) = self.intents {
            intents.end(pool.ordinal(), &job.schedule);
        }
        let mut outcome = evaluated?.outcome;
        if let Outcome::Measured(measurement) = &mut outcome {
            measurement.resources = Some(job.compiled.report);
            measurement.check_seed = Some(request.seed);
        }
        Ok(outcome)
    }
}

/// The jobs of a group whose image is compiled; those of one that is not are told as failed.
fn jobs(group: &ImageGroup, outcome: CompileOutcome, seconds: f64, sender: &Sender<Evaluated>) -> Vec<Job> {
    // The compile counts once, for the schedule that was the first to need it.
    let seconds_of = |index: usize| if index == 0 { seconds } else { 0.0 };
    match outcome {
        Ok(compiled) => {
            let compiled = Arc::new(compiled);
            let job = |(index, &schedule): (usize, &Schedule)| Job {
                schedule,
                compiled: Arc::clone(&compiled),
                compile_seconds: seconds_of(index),
            };
            group.schedules.iter().enumerate().map(job).collect()
        }
        Err(failure) => {
            for (index, &schedule) in group.schedules.iter().enumerate() {
                let outcome = Outcome::Failed(failure.clone());
                // Without a receiver the batch is over.
                let _ = sender.send(Evaluated { schedule, outcome, seconds: seconds_of(index) });
            }
            Vec::new()
        }
    }
}

/// A candidate that is ready for a GPU.
struct Job {
    schedule: Schedule,
    compiled: Arc<Compiled>,
    compile_seconds: f64,
}

impl Job {
    fn candidate(&self) -> Candidate {
        Candidate { schedule: self.schedule, kernel: self.compiled.kernel.clone() }
    }
}

/// A candidate that runs, and is to be timed under load.
struct Sounded {
    job: Job,
    sounding: Measurement,
    seconds: f64,
}

/// What is ready, and how much more may come.
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    ready: VecDeque<Job>,
    /// Images that are not compiled yet.
    compiling: usize,
    /// Jobs on a GPU, which come back if that is lost.
    running: usize,
    /// GPUs that go on.
    gpus: usize,
    stopped: bool,
}

impl Queue {
    fn new(compiling: usize, gpus: usize) -> Self {
        let state = State { ready: VecDeque::new(), compiling, running: 0, gpus, stopped: false };
        Queue { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The next job; waits for one as long as one may come. Who holds some that it can go on with does not wait for what others run.
    fn next(&self, holds_some: bool) -> Option<Job> {
        let mut state = self.state();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(job) = state.ready.pop_front() {
                state.running += 1;
                return Some(job);
            }
            if state.compiling == 0 && (state.running == 0 || holds_some) {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn compiled(&self, jobs: Vec<Job>) {
        self.change(|state| {
            state.compiling -= 1;
            state.ready.extend(jobs);
        });
    }

    fn finished(&self, jobs: usize) {
        self.change(|state| state.running -= jobs);
    }

    /// A GPU that is lost leaves its jobs to the others; the last one leaves them undone.
    fn put_back(&self, jobs: impl DoubleEndedIterator<Item = Job>) {
        self.change(|state| {
            for job in jobs.rev() {
                state.running -= 1;
                state.ready.push_front(job);
            }
            state.gpus -= 1;
            state.stopped |= state.gpus == 0;
        });
    }

    fn stop(&self) {
        self.change(|state| state.stopped = true);
    }

    fn is_stopped(&self) -> bool {
        self.state().stopped
    }

    /// Whether every GPU is lost.
    fn is_abandoned(&self) -> bool {
        self.state().gpus == 0
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unwritten(error: &std::io::Error) -> EvaluatorError {
    EvaluatorError {
        reason: format!("what is about to run cannot be written beside the journal: {error}"),
        remedy: "check that the output folder is writable and has room".to_owned(),
    }
}
