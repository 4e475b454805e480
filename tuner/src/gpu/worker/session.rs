//! One problem at one shape, open on the GPU: its buffers, its reference, and what is asked of it.

use std::path::Path;
use std::rc::Rc;

use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::emit;
use autokernel_codegen::problem::Problem;
use autokernel_codegen::signature;
use autokernel_core::Extents;
use autokernel_runtime::timing::sets_to_exceed_l2;
use autokernel_runtime::{CompiledKernel, Device, DeviceInfo, Element, Image, bf16, f16};
use cudarc::nvrtc::Ptx;

use super::buffers::{GUARD_BYTES, Operands, Rows, ragged_sibling};
use super::cublas::{Cublas, needs_kernel};
use super::error::{Result, WorkerError};
use super::finals::{self, Contestant};
use super::instruments::{self, Instruments};
use super::reference::Reference;
use super::sensors::Sensors;
use super::stopwatch::{Measured, Stopwatch};
use crate::gpu::protocol::{Candidate, Evaluate, FinalContender, FinalReply, FinalRounds, Kernel, Open, Opened};
use crate::gpu::sampling::Effort;

/// More sets than this cost more to fill than they add.
const MAX_SETS: usize = 256;

/// An open problem, whatever its element types.
pub trait Session {
    /// What was opened.
    fn opened(&self) -> Opened;
    /// Checks a candidate, times it, and checks what it computed while it was timed.
    fn evaluate(&mut self, request: &Evaluate) -> Result<Measured>;
    /// Times cuBLASLt's fastest choice with the epilogue behind it, as [`Session::evaluate`] times a candidate.
    fn baseline(&mut self, effort: &Effort) -> Result<Measured>;
    /// Times contenders in turn.
    fn finals(&mut self, request: &FinalRounds) -> Result<Vec<FinalReply>>;
}

/// Opens a problem.
pub fn open(device: &Device, info: &DeviceInfo, request: &Open) -> Result<Box<dyn Session>> {
    let Problem { input, output, .. } = request.problem;
    Ok(match (input, output) {
        (Dtype::Bf16, Dtype::Bf16) => Box::new(Typed::<bf16, bf16>::open(device, info, request)?),
        (Dtype::Bf16, Dtype::F16) => Box::new(Typed::<bf16, f16>::open(device, info, request)?),
        (Dtype::Bf16, Dtype::F32) => Box::new(Typed::<bf16, f32>::open(device, info, request)?),
        (Dtype::F16, Dtype::Bf16) => Box::new(Typed::<f16, bf16>::open(device, info, request)?),
        (Dtype::F16, Dtype::F16) => Box::new(Typed::<f16, f16>::open(device, info, request)?),
        (Dtype::F16, Dtype::F32) => Box::new(Typed::<f16, f32>::open(device, info, request)?),
        (Dtype::F32, _) => return Err(WorkerError::Request("f32 is an output type only".to_owned())),
    })
}

struct Typed<I, O> {
    device: Device,
    tools: Instruments,
    stopwatch: Stopwatch,
    problem: Problem,
    shape: Extents,
    /// The first has guard zones and a reference; timing rotates through all.
    sets: Vec<Operands<I, O>>,
    reference: Reference,
    ragged: Operands<I, O>,
    ragged_reference: Reference,
    cold_l2: bool,
    /// The last kernel: schedules that differ in the raster alone share it.
    loaded: Option<(Kernel, CompiledKernel)>,
}

impl<I: Element, O: Element> Typed<I, O> {
    fn open(device: &Device, info: &DeviceInfo, request: &Open) -> Result<Self> {
        let &Open { ref problem, shape, seed, .. } = request;
        let stream = device.stream().ok_or_else(|| WorkerError::Request("the worker needs a GPU".to_owned()))?;
        let tools = Instruments::load(stream, info.sm_count, read(&request.instruments.image)?)?;
        let module = stream.context().load_module(Ptx::from_binary(read(&request.reference.image)?));
        let module = module.map_err(WorkerError::driver("loading the reference kernel"))?;
        let kernel = instruments::function(&module, &request.reference.symbol)?;

        let sibling = ragged_sibling(problem, shape);
        let ragged = Operands::new(&tools, problem, sibling, Rows::Gapped, GUARD_BYTES, seed ^ 1)?;
        let ragged_reference = Reference::new(&tools, &kernel, problem, sibling)?;

        let wanted = sets_to_exceed_l2(Operands::<I, O>::bytes(problem, shape), info.l2_bytes);
        let mut sets = vec![Operands::new(&tools, problem, shape, Rows::Dense, GUARD_BYTES, seed)?];
        let reference = Reference::new(&tools, &kernel, problem, shape)?;
        for set in 1..wanted.min(MAX_SETS) as u64 {
            // Steps of a large odd number keep the seeds of all matrices apart.
            let seed = seed.wrapping_add(set.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            sets.push(Operands::new(&tools, problem, shape, Rows::Dense, 0, seed)?);
        }
        let stopwatch = Stopwatch::new(&tools, Sensors::new(device))?;
        stream.synchronize().map_err(WorkerError::driver("preparing the matrices"))?;
        Ok(Typed {
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

    /// The candidate's kernel with its raster, loaded if it is not the last one.
    fn load(&mut self, candidate: &Candidate) -> Result<CompiledKernel> {
        let Candidate { schedule, kernel } = candidate;
        if let Some((_, mut compiled)) = self.loaded.take().filter(|(loaded, _)| loaded == kernel) {
            // SAFETY: these are the knobs of a valid schedule.
            unsafe { compiled.take_knobs(&emit::kernel(&self.problem, schedule).1) }?;
            return Ok(compiled);
        }
        let bytes = read(&kernel.image)?;
        let is_ptx = kernel.image.extension().is_some_and(|extension| extension == "ptx");
        let image = if is_ptx { Image::Ptx(&bytes) } else { Image::Cubin(&bytes) };
        let (signature, (_, plan)) = (signature(&self.problem), emit::kernel(&self.problem, schedule));
        // SAFETY: the tuner compiled this image for exactly this problem and schedule, and the plan is theirs.
        let compiled = unsafe { CompiledKernel::load(&self.device, &signature, &plan, image) };
        Ok(compiled?)
    }

    /// Draws the inputs of a check and computes what they must give, at both shapes.
    fn draw(&mut self, seed: u64) -> Result<()> {
        let Typed { tools, sets, reference, ragged, ragged_reference, .. } = self;
        for (operands, reference) in [(&*ragged, ragged_reference), (&sets[0], reference)] {
            operands.draw(tools, seed)?;
            reference.compute(tools, operands, seed)?;
        }
        Ok(())
    }

    /// Runs the kernel on fresh poison at both shapes.
    fn check(&mut self, kernel: &CompiledKernel) -> Result<()> {
        let Typed { device, tools, sets, reference, ragged, ragged_reference, .. } = self;
        for (operands, reference) in [(ragged, &*ragged_reference), (&mut sets[0], &*reference)] {
            operands.c.poison_all(tools)?;
            launch(device, kernel, operands)?;
            reference.check(tools, operands)?;
        }
        Ok(())
    }

    fn has_epilogue(&self) -> bool {
        needs_kernel(&self.problem)
    }

    fn measure(&mut self, kernel: &CompiledKernel, request: &Evaluate) -> Result<Measured> {
        self.draw(request.seed)?;
        self.check(kernel)?;
        let Typed { device, tools, stopwatch, sets, reference, .. } = self;
        sets[0].c.poison_all(tools)?;
        let measured = stopwatch.measure(tools, &request.effort, &mut |number| {
            let set = number % sets.len();
            launch(device, kernel, &mut sets[set])
        })?;
        reference.check(tools, &sets[0])?;
        Ok(measured)
    }
}

impl<I: Element, O: Element> Session for Typed<I, O> {
    fn opened(&self) -> Opened {
        Opened { buffer_sets: self.sets.len(), cold_l2: self.cold_l2 }
    }

    fn evaluate(&mut self, request: &Evaluate) -> Result<Measured> {
        let kernel = self.load(&request.candidate)?;
        let measured = self.measure(&kernel, request);
        self.loaded = Some((request.candidate.kernel.clone(), kernel));
        measured.map_err(|error| error.on_inputs(request.seed))
    }

    fn finals(&mut self, request: &FinalRounds) -> Result<Vec<FinalReply>> {
        self.draw(request.seed)?;
        let mut contestants = Vec::new();
        for contender in &request.contenders {
            let prepared = match contender {
                FinalContender::Candidate(candidate) => self
                    .load(candidate)
                    .and_then(|kernel| self.check(&kernel).map(|()| Contestant::Kernel(Box::new(kernel))))
                    .map_err(|error| error.on_inputs(request.seed)),
                FinalContender::Cublas | FinalContender::CublasProduct => {
                    let epilogue = matches!(contender, FinalContender::Cublas) && self.has_epilogue();
                    Cublas::new(&self.device, &self.problem, self.shape).map(|cublas| Contestant::Cublas {
                        cublas: Rc::new(cublas),
                        algorithm: 0,
                        epilogue,
                    })
                }
            };
            match prepared {
                // A lost context fails whatever comes next.
                Err(error) if error.is_fatal() => return Err(error),
                prepared => contestants.push(prepared),
            }
        }
        let Typed { device, tools, stopwatch, sets, .. } = self;
        let mut launch = |contestant: &Contestant, number| launch_contestant(device, tools, sets, contestant, number);
        finals::run(tools, stopwatch, request, contestants, &mut launch)
    }

    fn baseline(&mut self, effort: &Effort) -> Result<Measured> {
        let cublas = Rc::new(Cublas::new(&self.device, &self.problem, self.shape)?);
        let epilogue = self.has_epilogue();
        let Typed { device, tools, stopwatch, sets, .. } = self;
        let mut launch = |contestant: &Contestant, number| launch_contestant(device, tools, sets, contestant, number);
        let (algorithm, _) = finals::choose(tools, stopwatch, &cublas, &mut launch)?;
        let contestant = Contestant::Cublas { cublas, algorithm, epilogue };
        stopwatch.measure(tools, effort, &mut |number| launch(&contestant, number))
    }
}

/// Launches a contestant on the set of buffers whose turn it is.
fn launch_contestant<I: Element, O: Element>(
    device: &Device,
    tools: &Instruments,
    sets: &mut [Operands<I, O>],
    contestant: &Contestant,
    number: usize,
) -> Result<()> {
    let set = &mut sets[number % sets.len()];
    match contestant {
        Contestant::Kernel(kernel) => launch(device, kernel, set),
        Contestant::Cublas { cublas, algorithm, epilogue } => {
            cublas.launch(*algorithm, set)?;
            let c = set.c.rectangle(tools);
            if *epilogue { tools.apply_epilogue(c.address, c.rows * c.columns) } else { Ok(()) }
        }
    }
}

fn launch<I: Element, O: Element>(
    device: &Device,
    kernel: &CompiledKernel,
    operands: &mut Operands<I, O>,
) -> Result<()> {
    let Operands { a, b, c, .. } = operands;
    Ok(kernel.launch(device, &mut [a.view()?.into(), b.view()?.into(), c.view_mut()?.into()])?)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|source| WorkerError::Io { path: path.display().to_string(), source })
}
