//! One problem at one shape, open on the GPU: its buffers, its reference, and what is asked of it.

use std::path::Path;
use std::rc::Rc;

use autokernel_codegen::problem::Problem;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::Extents;
use autokernel_runtime::timing::sets_to_exceed_l2;
use autokernel_runtime::{CompiledKernel, Device, DeviceInfo, Image};

use super::buffers::{GUARD_BYTES, Operands, Rows};
use super::cublas::Cublas;
use super::error::{Result, WorkerError};
use super::finals::{self, Contestant, Met};
use super::instruments::Instruments;
use super::reference::Reference;
use super::sensors::Sensors;
use super::stopwatch::{Measured, Stopwatch};
use crate::gpu::protocol::{Candidate, Evaluate, FinalContender, FinalReply, FinalRounds, Kernel, Open, Opened};
use crate::gpu::sampling::Effort;

/// More sets than this cost more to fill than they add.
const MAX_SETS: usize = 256;

/// An open problem.
pub struct Session {
    device: Device,
    tools: Instruments,
    stopwatch: Stopwatch,
    problem: Problem,
    shape: Extents,
    /// The first has guard zones and a reference; timing rotates through all.
    sets: Vec<Operands>,
    reference: Reference,
    ragged: Operands,
    ragged_reference: Reference,
    cold_l2: bool,
    /// The last kernel: schedules that differ in launch-time knobs alone share it.
    loaded: Option<(Kernel, Schedule, CompiledKernel)>,
}

impl Session {
    /// Opens a problem.
    pub fn open(device: &Device, info: &DeviceInfo, request: &Open) -> Result<Self> {
        let &Open { ref problem, shape, group_sizes, seed, .. } = request;
        let stream = device.stream().ok_or_else(|| WorkerError::Request("the worker needs a GPU".to_owned()))?;
        let tools = Instruments::load(stream, info.sm_count, problem, read(&request.instruments.image)?)?;
        let (signature, (_, plan)) = (problem.reference_signature(), problem.reference());
        let image = read(&request.reference.image)?;
        // SAFETY: the tuner compiled this image from the source that comes with exactly this plan.
        let kernel = unsafe { CompiledKernel::load(device, &signature, &plan, Image::Cubin(&image)) }?;
        let kernel = Rc::new(kernel);

        let sibling = problem.ragged(&shape);
        let ragged =
            Operands::new((device, &tools), problem, (sibling, group_sizes), Rows::Gapped, GUARD_BYTES, seed ^ 1)?;
        let ragged_reference = Reference::new(&tools, &kernel, problem, sibling)?;

        let timed = |guard_bytes, seed| {
            Operands::new((device, &tools), problem, (shape, group_sizes), Rows::Dense, guard_bytes, seed)
        };
        let wanted = sets_to_exceed_l2(problem.work(&shape).bytes() as u64, info.l2_bytes);
        let mut sets = vec![timed(GUARD_BYTES, seed)?];
        let reference = Reference::new(&tools, &kernel, problem, shape)?;
        for set in 1..wanted.min(MAX_SETS) as u64 {
            // Steps of a large odd number keep the seeds of all matrices apart.
            let seed = seed.wrapping_add(set.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            sets.push(timed(0, seed)?);
        }
        let stopwatch = Stopwatch::new(&tools, Sensors::new(device))?;
        stream.synchronize().map_err(WorkerError::driver("preparing the matrices"))?;
        Ok(Session {
            device: device.clone(),
            tools,
            stopwatch,
            problem: problem.clone(),
            shape,
            cold_l2: sets.len() == wanted,
            sets,
            reference,
            ragged,
            ragged_reference,
            loaded: None,
        })
    }

    /// The candidate's kernel with its launch-time knobs, loaded if it is not the last one.
    fn load(&mut self, candidate: &Candidate) -> Result<CompiledKernel> {
        let Candidate { schedule, kernel } = candidate;
        let emitted = self.problem.emit(schedule);
        let (_, plan) = emitted.map_err(|other| WorkerError::Request(other.to_string()))?;
        let same = |(loaded, of, _): &(Kernel, Schedule, CompiledKernel)| loaded == kernel && *of == schedule.image();
        if let Some((.., mut compiled)) = self.loaded.take().filter(same) {
            // SAFETY: these are the knobs of a valid schedule.
            unsafe { compiled.take_knobs(&plan) }?;
            return Ok(compiled);
        }
        let bytes = read(&kernel.image)?;
        let is_ptx = kernel.image.extension().is_some_and(|extension| extension == "ptx");
        let image = if is_ptx { Image::Ptx(&bytes) } else { Image::Cubin(&bytes) };
        let signature = self.problem.signature();
        // SAFETY: the tuner compiled this image for exactly this problem and schedule, and the plan is theirs.
        let compiled = unsafe { CompiledKernel::load(&self.device, &signature, &plan, image) };
        Ok(compiled?)
    }

    /// Draws the inputs of a check and computes what they must give, at both shapes.
    fn draw(&mut self, seed: u64) -> Result<()> {
        let Session { device, tools, sets, reference, ragged, ragged_reference, .. } = self;
        ragged.draw_numbers(seed)?;
        for (operands, reference) in [(&*ragged, ragged_reference), (&sets[0], reference)] {
            operands.draw(tools, seed)?;
            reference.compute(device, tools, operands, seed)?;
        }
        Ok(())
    }

    /// Runs the kernel on fresh poison at both shapes.
    fn check(&mut self, kernel: &CompiledKernel) -> Result<()> {
        let Session { device, tools, sets, reference, ragged, ragged_reference, .. } = self;
        for (operands, reference) in [(ragged, &*ragged_reference), (&mut sets[0], &*reference)] {
            operands.poison_outputs(tools)?;
            launch(device, kernel, operands)?;
            reference.check(tools, operands)?;
        }
        Ok(())
    }

    fn measure(&mut self, kernel: &CompiledKernel, request: &Evaluate) -> Result<Measured> {
        self.draw(request.seed)?;
        self.check(kernel)?;
        let Session { device, tools, stopwatch, sets, reference, .. } = self;
        sets[0].poison_outputs(tools)?;
        let measured = stopwatch.measure(tools, &request.effort, &mut |number| {
            let set = number % sets.len();
            launch(device, kernel, &mut sets[set])
        })?;
        reference.check(tools, &sets[0])?;
        Ok(measured)
    }

    /// What was opened.
    pub fn opened(&self) -> Opened {
        Opened { buffer_sets: self.sets.len(), cold_l2: self.cold_l2 }
    }

    /// Checks a candidate, times it, and checks what it computed while it was timed.
    pub fn evaluate(&mut self, request: &Evaluate) -> Result<Measured> {
        let kernel = self.load(&request.candidate)?;
        let measured = self.measure(&kernel, request);
        self.loaded = Some((request.candidate.kernel.clone(), request.candidate.schedule.image(), kernel));
        measured.map_err(|error| error.on_inputs(request.seed))
    }

    /// Times contenders in turn, and says whether the clock had settled before.
    pub fn finals(&mut self, request: &FinalRounds) -> Result<(Vec<FinalReply>, bool)> {
        self.draw(request.seed)?;
        let mut contestants = Vec::new();
        for contender in &request.contenders {
            let prepared = match contender {
                FinalContender::Candidate(candidate) => self
                    .load(candidate)
                    .and_then(|kernel| self.check(&kernel).map(|()| Contestant::Kernel(Box::new(kernel))))
                    .map_err(|error| error.on_inputs(request.seed)),
                FinalContender::Cublas | FinalContender::CublasProduct => {
                    let whole = matches!(contender, FinalContender::Cublas);
                    Cublas::new(&self.device, &self.problem, self.shape).map(|cublas| {
                        let epilogue = whole && cublas.has_epilogue;
                        Contestant::Cublas { cublas: Rc::new(cublas), algorithm: 0, epilogue }
                    })
                }
            };
            match prepared {
                // A lost context fails whatever comes next.
                Err(error) if error.is_fatal() => return Err(error),
                prepared => contestants.push(prepared),
            }
        }
        let Session { device, tools, stopwatch, sets, .. } = self;
        let mut launch = |contestant: &Contestant, number| launch_contestant(device, tools, sets, contestant, number);
        let Met { replies, settled } = finals::run(tools, stopwatch, request, contestants, &mut launch)?;
        let checked = replies.into_iter().map(|(contestant, reply)| match contestant {
            Some(Contestant::Kernel(kernel)) if request.check_again => match self.check(&kernel) {
                Ok(()) => Ok(reply),
                Err(error) if error.is_fatal() => Err(error),
                Err(error) => Ok(FinalReply::Failed { failure: error.on_inputs(request.seed).failure() }),
            },
            _ => Ok(reply),
        });
        Ok((checked.collect::<Result<_>>()?, settled))
    }

    /// Times the opponent's fastest choice, and what must follow it for the same result, as [`Session::evaluate`] times a
    /// candidate.
    pub fn baseline(&mut self, effort: &Effort) -> Result<Measured> {
        let cublas = Rc::new(Cublas::new(&self.device, &self.problem, self.shape)?);
        let epilogue = cublas.has_epilogue;
        let Session { device, tools, stopwatch, sets, .. } = self;
        let mut launch = |contestant: &Contestant, number| launch_contestant(device, tools, sets, contestant, number);
        let (algorithm, _) = finals::choose(tools, stopwatch, &cublas, &mut launch)?;
        let contestant = Contestant::Cublas { cublas, algorithm, epilogue };
        stopwatch.measure(tools, effort, &mut |number| launch(&contestant, number))
    }
}

/// Launches a contestant on the set of buffers whose turn it is.
fn launch_contestant(
    device: &Device,
    tools: &Instruments,
    sets: &mut [Operands],
    contestant: &Contestant,
    number: usize,
) -> Result<()> {
    let set = &mut sets[number % sets.len()];
    match contestant {
        Contestant::Kernel(kernel) => launch(device, kernel, set),
        Contestant::Cublas { cublas, algorithm, epilogue } => {
            cublas.launch(*algorithm, set)?;
            let results = set.outputs().filter(|_| *epilogue).map(|output| output.buffer.rectangle(tools));
            results.into_iter().try_for_each(|c| tools.apply_epilogue(c.address, c.rows * c.columns))
        }
    }
}

fn launch(device: &Device, kernel: &CompiledKernel, operands: &mut Operands) -> Result<()> {
    Ok(kernel.launch(device, &mut operands.arguments()?)?)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|source| WorkerError::Io { path: path.display().to_string(), source })
}
