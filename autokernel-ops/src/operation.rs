//! The seam between an operation's room and everything else.

use std::fmt;

use autokernel_core::{Arch, Dim, Dtype, Extents, LaunchPlan, Signature};

use crate::declaration::{Attribute, Complaint, Declaration};
use crate::family::{Family, OtherFamily};
use crate::forecast::{Forecast, Machine};
use crate::opponent::Opponent;
use crate::rule::BrokenRule;
use crate::schedule::Schedule;
use crate::source::{Header, KernelSource};

/// What a room tells of a problem. Build, runtime, tuner and tests read an operation through this alone, most of them
/// through [`registry::Problem`](crate::registry::Problem).
pub trait Operation: fmt::Display {
    /// Problems that are tuned together.
    type Class: Class;

    /// The operation's name, in JSON and in the names of classes.
    const NAME: &'static str;

    /// The names of its dimensions, in the order of its signatures. The first is the one that differs from launch to
    /// launch: rows, a batch.
    const DIMS: &'static [Dim];

    /// The CUDA files of its folder.
    const HEADERS: &'static [Header];

    /// Of the CUDA files, those that its kernels begin with; the reference's is none of them.
    const ROOTS: &'static [&'static str];

    /// Those of them that kernels of a class begin with: what makes its measurements old when it changes.
    fn roots_of(_: &Self::Class) -> Vec<&'static str> {
        Self::ROOTS.to_vec()
    }

    /// The attributes that declare its problems.
    const ATTRIBUTES: &'static [Attribute];

    /// The problem that a declaration under one of them says.
    ///
    /// # Errors
    /// All mistakes, each with its remedy.
    fn declare(declaration: &Declaration) -> Result<Self, Vec<Complaint>>
    where
        Self: Sized;

    /// What a kernel takes: launch checks, the launch log, test buffers and documentation read this.
    fn signature(&self) -> Signature;

    /// The class whose tuned entries serve this problem.
    fn class(&self) -> Self::Class;

    /// The kernel that computes this problem by `schedule`, and its launch.
    ///
    /// # Errors
    /// The schedule is of another operation's family.
    fn emit(&self, schedule: &Schedule) -> Result<(KernelSource, LaunchPlan), OtherFamily>;

    /// A slow kernel for the same problem, and its launch: what every other kernel is held against. Its outputs are
    /// fp32 whatever the problem's are.
    fn reference(&self) -> (KernelSource, LaunchPlan);

    /// The same problem for other extents: each dimension that is compiled in has its size there.
    #[must_use]
    fn resized(&self, _extents: &Extents) -> Self
    where
        Self: Clone,
    {
        self.clone()
    }

    /// What must be computed and moved at least.
    fn work(&self, extents: &Extents) -> Work {
        self.class().work(extents)
    }

    /// The same for a kernel each of what this one fuses; [`work`](Self::work) where it fuses nothing.
    fn unfused_work(&self, extents: &Extents) -> Work {
        self.work(extents)
    }

    /// What tells it from other problems of its operation, in a few words: `nt bf16 · gelu`.
    fn brief(&self) -> String;

    /// The task of finding a schedule at `extents`, as a model is told it.
    fn task(&self, extents: &Extents) -> String;

    /// The problems that options can name by their class: those made of built-in parts alone.
    fn built_in() -> Vec<Self>
    where
        Self: Sized;

    /// Whether an element depends on the number of its row beside what is read there, so that some rows are not computed as the first
    /// ones of a smaller problem.
    fn counts_rows(&self) -> bool {
        false
    }

    /// How far a result may be from the reference's, for inputs drawn as [`scale`](Self::scale) says.
    fn tolerance(&self, extents: &Extents) -> Tolerance;

    /// The standard deviation of the normal numbers that the operand with that number is filled with.
    fn scale(&self, _operand: usize, _extents: &Extents) -> f32 {
        1.0
    }

    /// A small shape beside `extents` on which a kernel is checked too: no extent is a multiple of any tile, as far as operands have
    /// whole elements. The first extent is no larger than it is in `extents`; those that were compiled in stay.
    fn ragged(&self, extents: &Extents) -> Extents {
        const RAGGED: [u32; 6] = [389, 523, 203, 101, 67, 37];
        let signature = self.signature();
        let dims = signature.dims.iter().zip(RAGGED).enumerate().map(|(at, (dim, ragged))| {
            let free = if at == 0 { ragged.min(extents.size(0)) } else { ragged };
            (dim.name, dim.known.unwrap_or(free))
        });
        Extents::collect(dims).map_or(*extents, |ragged| signature.whole(&ragged))
    }

    /// What its kernels are measured against, if there is anything.
    fn opponent(&self) -> Option<Opponent> {
        None
    }

    /// What predicts the launches of the image of `schedule` on a GPU: its class's unless it knows more.
    fn forecast(&self, schedule: &Schedule, constants: Option<&str>, machine: Machine) -> Option<Box<dyn Forecast>> {
        self.class().forecast(schedule, constants, machine)
    }

    /// What may be faster than a kernel whose registers go through memory.
    fn with_fewer_registers(&self) -> &'static str {
        "two kernels of fewer outputs or operands"
    }
}

/// What a room tells of problems that are tuned together: which schedules there are for them.
pub trait Class: fmt::Display {
    /// The class as one word, fit for file and symbol names. It begins with the operation's name.
    fn slug(&self) -> String;

    /// What tells it from other classes of its operation, in a few words.
    fn brief(&self) -> String;

    /// The names of its dimensions, where they are others than [`Operation::DIMS`].
    fn dims(&self) -> Option<&'static [Dim]> {
        None
    }

    /// The attribute that declares problems of this class.
    fn attribute(&self) -> &'static str;

    /// What must be computed and moved at least.
    fn work(&self, extents: &Extents) -> Work;

    /// The type that its matrix units multiply, by which their rate is known; none where they have nothing to do.
    fn multiplies(&self) -> Option<Dtype> {
        None
    }

    /// How far `other` is from this class, as a source of schedules: 0 is the class itself, none is unusable.
    fn distance(&self, other: &Self) -> Option<u32>;

    /// The families that serve it on `arch`, best first; none where nothing computes it there.
    fn families(&self, arch: Arch) -> &'static [Family];

    /// What only later GPUs have for it, as the end of a sentence, where no family serves it on the oldest.
    fn missing_on_the_oldest(&self) -> Option<String> {
        None
    }

    /// Those of them whose schedules a search of a shape chooses from: the best one, where that does not depend on the shape.
    fn searched_families(&self, arch: Arch) -> &'static [Family] {
        let families = self.families(arch);
        families.get(..1).unwrap_or(families)
    }

    /// The schedules of `family` that a search chooses from on `arch`: all valid, in a fixed order. None of a family of
    /// another operation.
    fn schedules(&self, family: Family, arch: Arch) -> Vec<Schedule>;

    /// The schedule that is safe on `arch`, which a family serves, when nothing was tuned.
    fn default_schedule(&self, arch: Arch) -> Schedule;

    /// Schedules that together serve any extents on `arch` where neither a tuned entry nor a portfolio of the config does,
    /// most useful first; [`forecast`](Self::forecast) tells which serves which. None: the default serves alone.
    fn portfolio(&self, _: Arch) -> Vec<Schedule> {
        Vec::new()
    }

    /// Schedules for what those of a portfolio of the config serve badly, each carried beside such a portfolio and never without one.
    fn beside_portfolio(&self, _: Arch) -> Vec<Schedule> {
        Vec::new()
    }

    /// The GPUs on which [`portfolio`](Self::portfolio) and what chooses among it were measured, as the driver names them; none: estimates.
    fn measured_on(&self, _: Arch) -> &'static [&'static str] {
        &[]
    }

    /// What predicts the launches of the image of `schedule` on a GPU, by the constants that a build embedded as JSON, if
    /// it did. None: nothing predicts them.
    fn forecast(&self, _schedule: &Schedule, _constants: Option<&str>, _machine: Machine) -> Option<Box<dyn Forecast>> {
        None
    }

    /// Whether `schedule` compiles without spills and runs for this class on `arch`.
    ///
    /// # Errors
    /// The first broken rule.
    fn check(&self, schedule: &Schedule, arch: Arch) -> Result<(), BrokenRule>;

    /// The launch of the kernel called `symbol` that computes problems of this class by `schedule`.
    ///
    /// # Errors
    /// The schedule is of another operation's family.
    fn plan(&self, schedule: &Schedule, symbol: String) -> Result<LaunchPlan, OtherFamily>;

    /// Small extents at which all that `schedule` does comes to pass: several parts of the grid a cluster, edges that no
    /// step divides, a ring that goes around, rows that are not aligned. The most telling first; each takes an emulator
    /// seconds at the most.
    ///
    /// # Errors
    /// The schedule is of another operation's family.
    fn probes(&self, schedule: &Schedule) -> Result<Vec<Extents>, OtherFamily>;

    /// Where the part with that number lies along each axis of a grid of `parts`, in the order in which clusters take
    /// them: one after the other along the first axis, then along the next, where the schedule does not say otherwise.
    fn part(&self, _schedule: &Schedule, number: u64, parts: &[u32]) -> Vec<u32> {
        let mut rest = number;
        let along = |&parts: &u32| {
            let at = rest % u64::from(parts.max(1));
            rest /= u64::from(parts.max(1));
            at as u32
        };
        parts.iter().map(along).collect()
    }
}

/// What must be computed and moved at least, whatever the schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Floating-point operations; a multiplication with an addition is two.
    pub operations: f64,
    /// Bytes that are read, each once.
    pub read_bytes: f64,
    /// Bytes that are written.
    pub written_bytes: f64,
}

/// How far a result may be from the reference's: the sum of both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Whatever the value is.
    pub absolute: f32,
    /// As a share of the value.
    pub relative: f32,
}

impl Work {
    /// Each input read and each output written once, for `operations`.
    pub fn new(signature: &Signature, extents: &Extents, operations: f64) -> Self {
        let mut work = Work { operations, read_bytes: 0.0, written_bytes: 0.0 };
        for operand in &signature.operands {
            let elements: f64 = operand.axes.iter().map(|dim| f64::from(extents.size(*dim))).product();
            let bytes = elements * f64::from(operand.dtype.bytes());
            match operand.role {
                autokernel_core::Role::Input => work.read_bytes += bytes,
                autokernel_core::Role::Output => work.written_bytes += bytes,
            }
        }
        work
    }

    /// Bytes that are read or written.
    pub fn bytes(&self) -> f64 {
        self.read_bytes + self.written_bytes
    }
}
