//! A GPU and the worker that serves it: started, watched, and replaced when a candidate takes it down.

use std::time::{Duration, Instant};

use super::deadline::Limit;
use super::process::{Fault, WorkerCommand, WorkerProcess};
use super::protocol::{Evaluate, Evaluated, FinalReply, FinalRounds, Gpu, Open, Opened, Reply, Request};
use super::sampling::Effort;
use crate::evaluate::EvaluatorError;
use crate::outcome::{Failure, Outcome};

/// How long the worker may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deadlines {
    /// To start and open a problem: matrices and the worker's kernels.
    pub open: Duration,
    /// To check and time one candidate; what was seen counts for one problem and shape.
    pub evaluate: Limit,
    /// To run a final, beside the time of its rounds.
    pub finals: Duration,
    /// To time contenders under load, beside the time of their rounds: each was checked and timed before.
    pub load: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        let evaluate = Limit::adaptive(seconds(20), seconds(5), seconds(120));
        Deadlines { open: seconds(120), evaluate, finals: seconds(120), load: seconds(20) }
    }
}

/// One GPU with its worker.
pub struct GpuPool {
    ordinal: usize,
    command: WorkerCommand,
    deadlines: Deadlines,
    worker: Option<WorkerProcess>,
    open: Option<(Open, Opened)>,
    replaced: u32,
}

impl GpuPool {
    /// A pool whose worker is started when it is first needed.
    pub fn new(command: WorkerCommand, deadlines: Deadlines) -> Self {
        GpuPool { ordinal: 0, command, deadlines, worker: None, open: None, replaced: 0 }
    }

    /// The same pool for GPU `ordinal` of this machine.
    pub fn of_gpu(self, ordinal: usize) -> Self {
        GpuPool { ordinal, ..self }
    }

    /// The number of the GPU.
    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// How often the worker had to be replaced.
    pub fn replaced(&self) -> u32 {
        self.replaced
    }

    /// The GPU.
    ///
    /// # Errors
    /// There is none, or it cannot be used.
    pub fn gpu(&mut self) -> Result<Gpu, EvaluatorError> {
        match self.ask_healthy(&Request::Gpu)? {
            Reply::Gpu(gpu) => Ok(gpu),
            reply => Err(unexpected(&reply)),
        }
    }

    /// Opens a problem at a shape.
    ///
    /// # Errors
    /// It cannot be opened, whatever the candidate: no GPU, or too little memory.
    pub fn open(&mut self, open: &Open) -> Result<Opened, EvaluatorError> {
        if let Some((_, opened)) = self.open.as_ref().filter(|(current, _)| current == open) {
            return Ok(opened.clone());
        }
        self.open = None;
        self.deadlines.evaluate.forget();
        match self.ask_healthy(&Request::Open(Box::new(open.clone())))? {
            Reply::Opened(opened) => {
                self.open = Some((open.clone(), opened.clone()));
                Ok(opened)
            }
            reply => Err(unexpected(&reply)),
        }
    }

    /// Checks and times a candidate. Whatever it does to the worker is its outcome.
    ///
    /// # Errors
    /// The worker cannot be brought back.
    pub fn evaluate(&mut self, request: &Evaluate) -> Result<Evaluated, EvaluatorError> {
        let begun = Instant::now();
        let evaluated = self.outcome_of(&Request::Evaluate(request.clone()), self.deadlines.evaluate.now())?;
        if evaluated.outcome.measurement().is_some() {
            self.deadlines.evaluate.saw(begun.elapsed());
        }
        Ok(evaluated)
    }

    /// Times cuBLASLt with the epilogue behind it, the way a candidate is timed.
    ///
    /// # Errors
    /// The worker cannot be brought back.
    pub fn baseline(&mut self, effort: Effort) -> Result<Evaluated, EvaluatorError> {
        self.outcome_of(&Request::Baseline { effort }, self.deadlines.finals)
    }

    fn outcome_of(&mut self, request: &Request, deadline: Duration) -> Result<Evaluated, EvaluatorError> {
        let mut worker = self.ready()?;
        let failed = |failure| Evaluated { outcome: Outcome::Failed(failure), min_ms: None, fatal: true };
        let evaluated = match worker.ask(request, deadline) {
            Ok(Reply::Evaluated(evaluated)) => evaluated,
            Ok(Reply::Failed { failure, fatal }) => Evaluated { fatal, ..failed(failure) },
            Ok(reply) => failed(Failure::Crash { detail: unexpected(&reply).reason }),
            Err(fault) => failed(failure_of(fault)),
        };
        if evaluated.fatal {
            self.discard(worker);
        } else {
            self.worker = Some(worker);
        }
        Ok(evaluated)
    }

    /// Runs a final.
    ///
    /// # Errors
    /// The worker fell; contenders were measured before, so this is not expected of any of them.
    pub fn finals(&mut self, request: &FinalRounds) -> Result<Vec<FinalReply>, EvaluatorError> {
        let mut worker = self.ready()?;
        // A round of a long kernel takes longer than was asked for; the allowance is generous, as a hang is rare here.
        let rounds = f64::from(request.rounds + 1) * request.round_ms + request.warm_up_ms;
        let deadline =
            self.deadlines.finals + Duration::from_secs_f64(4e-3 * rounds.max(0.0) * request.contenders.len() as f64);
        match worker.ask(&Request::Final(request.clone()), deadline) {
            Ok(Reply::Finals { finals, .. }) if finals.len() == request.contenders.len() => {
                self.worker = Some(worker);
                Ok(finals)
            }
            Ok(reply) => {
                self.discard(worker);
                Err(unexpected(&reply))
            }
            Err(fault) => {
                self.discard(worker);
                Err(lost(&failure_of(fault).to_string()))
            }
        }
    }

    /// Times contenders in turn, under load: what became of each, and whether the clock had settled before. Where the worker fell,
    /// one of them is to blame.
    ///
    /// # Errors
    /// The worker cannot be brought back.
    pub fn under_load(
        &mut self,
        request: &FinalRounds,
    ) -> Result<Result<(Vec<FinalReply>, bool), Failure>, EvaluatorError> {
        let mut worker = self.ready()?;
        let rounds = f64::from(request.rounds + 1) * request.round_ms * request.contenders.len() as f64;
        let longest = rounds + request.warm_up_ms.max(request.settle_ms);
        // Checks and slow kernels take longer than was asked for.
        let deadline = self.deadlines.load + Duration::from_secs_f64(4e-3 * longest.max(0.0));
        let failure = match worker.ask(&Request::Final(request.clone()), deadline) {
            Ok(Reply::Finals { finals, settled }) if finals.len() == request.contenders.len() => {
                self.worker = Some(worker);
                return Ok(Ok((finals, settled)));
            }
            Ok(Reply::Failed { failure, .. }) => failure,
            Ok(reply) => Failure::Crash { detail: unexpected(&reply).reason },
            Err(fault) => failure_of(fault),
        };
        self.discard(worker);
        Ok(Err(failure))
    }

    /// A worker with the problem open; taken out, so that forgetting to put it back replaces it.
    fn ready(&mut self) -> Result<WorkerProcess, EvaluatorError> {
        if let Some(worker) = self.worker.take() {
            return Ok(worker);
        }
        let (open, _) = self.open.clone().ok_or_else(|| lost("no problem is open"))?;
        match self.ask_healthy(&Request::Open(Box::new(open)))? {
            Reply::Opened(_) => self.worker.take().ok_or_else(|| lost("the worker vanished")),
            reply => Err(unexpected(&reply)),
        }
    }

    /// Asks what no candidate has a part in; a fresh worker has two chances, as the last may have left a GPU that is
    /// still recovering.
    fn ask_healthy(&mut self, request: &Request) -> Result<Reply, EvaluatorError> {
        const CHANCES: u32 = 2;
        let mut last = String::new();
        for _ in 0..CHANCES {
            let mut worker = match self.worker.take() {
                Some(worker) => worker,
                None => WorkerProcess::spawn(&self.command).map_err(|error| lost(&error.to_string()))?,
            };
            match worker.ask(request, self.deadlines.open) {
                Ok(Reply::Failed { failure, fatal: false }) => {
                    self.worker = Some(worker);
                    return Err(refused(&failure));
                }
                Ok(Reply::Failed { failure, fatal: true }) => last = failure.to_string(),
                Ok(reply) => {
                    self.worker = Some(worker);
                    return Ok(reply);
                }
                Err(fault) => last = failure_of(fault).to_string(),
            }
            self.discard(worker);
        }
        Err(lost(&last))
    }

    fn discard(&mut self, worker: WorkerProcess) {
        drop(worker);
        self.replaced += 1;
    }
}

fn failure_of(fault: Fault) -> Failure {
    match fault {
        Fault::Timeout(limit) => Failure::Timeout { limit_s: limit.as_secs_f64() },
        Fault::Crash(detail) => Failure::Crash { detail },
    }
}

fn unexpected(reply: &Reply) -> EvaluatorError {
    let reason = match reply {
        Reply::Failed { failure, .. } => failure.to_string(),
        reply => format!("the worker answered something else: {}", serde_json::to_string(reply).unwrap_or_default()),
    };
    EvaluatorError { reason, remedy: "run the same version of the tuner throughout".to_owned() }
}

fn refused(failure: &Failure) -> EvaluatorError {
    let remedy = match failure {
        Failure::OutOfMemory { .. } => "free device memory, or tune a smaller shape",
        _ => "check `nvidia-smi`, or choose another GPU with --gpus",
    };
    // No candidate has a part in it, so nothing of it crashed.
    let reason = match failure {
        Failure::Crash { detail } => detail.clone(),
        failure => failure.to_string(),
    };
    EvaluatorError { reason, remedy: remedy.to_owned() }
}

fn lost(why: &str) -> EvaluatorError {
    EvaluatorError {
        reason: format!("the GPU worker cannot be brought back: {why}"),
        remedy: "check `nvidia-smi`; what was measured is kept, so run the same command again to go on".to_owned(),
    }
}
