//! The seam between an operation's room and everything else.

use autokernel_core::{Arch, Extents, LaunchPlan, Signature};

use crate::registry::{Family, OtherFamily};
use crate::rule::BrokenRule;
use crate::schedule::Schedule;
use crate::source::KernelSource;

/// What a room tells of a problem. Build, runtime, tuner and tests read an operation through this alone.
pub trait Operation {
    /// Problems that are tuned together.
    type Class;

    /// The operation's name, in JSON and in the names of classes.
    const NAME: &'static str;

    /// What a kernel takes: launch checks, the launch log, test buffers and documentation read this.
    fn signature(&self) -> Signature;

    /// The class whose tuned entries serve this problem.
    fn class(&self) -> Self::Class;

    /// The families that serve `arch`, best first.
    fn families(arch: Arch) -> &'static [Family];

    /// Whether `schedule` compiles without spills and runs for `class` on `arch`.
    ///
    /// # Errors
    /// The first broken rule.
    fn check(class: &Self::Class, schedule: &Schedule, arch: Arch) -> Result<(), BrokenRule>;

    /// The kernel that computes this problem by `schedule`, and its launch.
    ///
    /// # Errors
    /// The schedule is of another operation's family.
    fn emit(&self, schedule: &Schedule) -> Result<(KernelSource, LaunchPlan), OtherFamily>;

    /// A slow kernel for the same problem, and its launch: what every other kernel is held against.
    fn reference(&self) -> (KernelSource, LaunchPlan);

    /// What is computed at these extents, in sentences: what a language model is told.
    fn described(&self, extents: &Extents) -> String;

    /// What must be computed and moved at least.
    fn work(&self, extents: &Extents) -> Work;

    /// How far a result may be from the reference's.
    fn tolerance(&self, extents: &Extents) -> Tolerance;
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
}
