//! What the room tells.

use autokernel_core::{Arch, Dim, Dtype, Extents, LaunchPlan, Signature};

use super::problem::{Class, DIMS, Problem};
use super::schedule::{RULES, Schedule as Typed};
use super::{declare, emit, plan};
use crate::declaration::{Attribute, Complaint, Declaration};
use crate::family::{Family, OtherFamily};
use crate::operation::{self, Operation, Tolerance, Work};
use crate::rule::{self, BrokenRule};
use crate::schedule::Schedule;
use crate::source::{Header, KernelSource, headers};

impl Operation for Problem {
    type Class = Class;

    const NAME: &'static str = "routing";

    const DIMS: &'static [Dim] = &DIMS;

    const HEADERS: &'static [Header] =
        headers! { "cuda/": "reference_routing.cuh" "routing.cuh" "routing_scores.cuh"; };

    const ROOTS: &'static [&'static str] = &emit::ROOTS;

    const ATTRIBUTES: &'static [Attribute] = &[declare::ATTRIBUTE];

    fn declare(declaration: &Declaration) -> Result<Self, Vec<Complaint>> {
        declare::declare(declaration)
    }

    fn signature(&self) -> Signature {
        Problem::signature(self)
    }

    fn class(&self) -> Class {
        Problem::class(self)
    }

    fn emit(&self, schedule: &Schedule) -> Result<(KernelSource, LaunchPlan), OtherFamily> {
        Ok(emit::kernel(self, &Typed::try_from(schedule)?))
    }

    fn reference(&self) -> (KernelSource, LaunchPlan) {
        emit::reference(self)
    }

    fn resized(&self, extents: &Extents) -> Self {
        Problem { experts: extents.size(1), top_k: extents.size(2), ..self.clone() }
    }

    fn brief(&self) -> String {
        operation::Class::brief(&self.class())
    }

    fn task(&self, extents: &Extents) -> String {
        format!("{self}, of {} tokens: choices, their weights, and tokens sorted by expert.", extents.size(0))
    }

    /// None: options cannot say how many experts there are.
    fn built_in() -> Vec<Self> {
        Vec::new()
    }

    /// Numbers of rows are exact; weights are at most 1, of exponentials that are good for 2⁻²⁰.
    fn tolerance(&self, _: &Extents) -> Tolerance {
        Tolerance { absolute: 2f32.powi(-19), relative: 0.0 }
    }
}

impl operation::Class for Class {
    fn slug(&self) -> String {
        let Class { dtype, experts, top_k } = self;
        format!("routing_{dtype}_{top_k}_of_{experts}")
    }

    fn brief(&self) -> String {
        let Class { dtype, experts, top_k } = self;
        format!("{dtype} · {top_k} of {experts}")
    }

    fn attribute(&self) -> &'static str {
        declare::ATTRIBUTE.name
    }

    /// Scores are read once, and each choice is written once; a comparison for each score and choice.
    fn work(&self, extents: &Extents) -> Work {
        let [tokens, experts, choices] = [extents.size(0), self.experts, self.top_k].map(f64::from);
        Work {
            operations: tokens * experts * choices,
            read_bytes: tokens * experts * f64::from(self.dtype.bytes()),
            written_bytes: tokens * choices * 3.0 * f64::from(Dtype::I32.bytes()),
        }
    }

    fn distance(&self, other: &Class) -> Option<u32> {
        Some(u32::from(self != other))
    }

    fn families(&self, _: Arch) -> &'static [Family] {
        &[Family::RoutingSm80]
    }

    fn schedules(&self, family: Family, arch: Arch) -> Vec<Schedule> {
        if family != Family::RoutingSm80 {
            return Vec::new();
        }
        let both = |threads| [false, true].map(|overlap| Typed { threads, overlap });
        let all = [128, 256, 512, 1024].into_iter().flat_map(both).map(Schedule::from);
        all.filter(|schedule| self.check(schedule, arch).is_ok()).collect()
    }

    fn default_schedule(&self, arch: Arch) -> Schedule {
        Typed::default_for(arch).into()
    }

    fn check(&self, schedule: &Schedule, arch: Arch) -> Result<(), BrokenRule> {
        match Typed::try_from(schedule) {
            Ok(typed) => rule::check(RULES, &typed, self, arch),
            Err(OtherFamily) => Err(BrokenRule::other_family(schedule, self)),
        }
    }

    fn plan(&self, schedule: &Schedule, symbol: String) -> Result<LaunchPlan, OtherFamily> {
        Ok(plan::plan(self, &Typed::try_from(schedule)?, symbol))
    }

    /// Several tiles, the last of them ragged; then less than one.
    fn probes(&self, schedule: &Schedule) -> Result<Vec<Extents>, OtherFamily> {
        Typed::try_from(schedule)?;
        let of = |tokens| Extents::new([(DIMS[0], tokens), (DIMS[1], self.experts), (DIMS[2], self.top_k)]);
        Ok([103, 3].map(of).to_vec())
    }
}
