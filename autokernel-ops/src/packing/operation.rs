//! What the room tells.

use autokernel_core::{Arch, Dim, Dtype, Extents, LaunchPlan, Signature};

use super::problem::{Class, DIMS, Problem, extents};
use super::schedule::{RULES, Schedule as Typed};
use super::{declare, emit, plan};
use crate::declaration::{Attribute, Complaint, Declaration};
use crate::family::{Family, OtherFamily};
use crate::operation::{self, Operation, Tolerance, Work};
use crate::rule::{self, BrokenRule};
use crate::schedule::Schedule;
use crate::source::{Header, KernelSource, headers};
use crate::weights::{Scales, Weights};

impl Operation for Problem {
    type Class = Class;

    const NAME: &'static str = "packing";

    const DIMS: &'static [Dim] = &DIMS;

    const HEADERS: &'static [Header] =
        headers! { "cuda/": "packing.cuh" "packing_numbers.cuh" "reference_packing.cuh"; };

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

    fn brief(&self) -> String {
        operation::Class::brief(&self.class())
    }

    fn task(&self, extents: &Extents) -> String {
        format!("{self}, {} rows of {} numbers.", extents.size(0), extents.size(1))
    }

    /// None: options cannot say what is packed.
    fn built_in() -> Vec<Self> {
        Vec::new()
    }

    /// None: both round each number alike.
    fn tolerance(&self, _: &Extents) -> Tolerance {
        Tolerance { absolute: f32::MIN_POSITIVE, relative: 0.0 }
    }
}

impl operation::Class for Class {
    fn slug(&self) -> String {
        let Class { dtype, packed, group, zeros } = self;
        let of = group.map_or("rows".to_owned(), |group| group.to_string());
        format!("packing_{dtype}_{packed}_{of}{}", if *zeros { "_zeros" } else { "" })
    }

    fn brief(&self) -> String {
        let Class { dtype, packed, group, zeros } = self;
        let of = group.map_or("rows".to_owned(), |group| group.to_string());
        format!("{dtype} · {packed}{} in {of}", if *zeros { " - zeros" } else { "" })
    }

    fn attribute(&self) -> &'static str {
        declare::ATTRIBUTE.name
    }

    /// Weights are read once, and what a product reads of them is written; a division for each.
    fn work(&self, extents: &Extents) -> Work {
        let [n, k] = [0, 1].map(|dim| f64::from(extents.size(dim)));
        let of_scale = |group| Scales { group, dtype: Dtype::F32, zeros: self.zeros };
        let group = self.group.unwrap_or_else(|| extents.size(1).max(1));
        Work {
            operations: n * k,
            read_bytes: n * k * f64::from(self.dtype.bytes()),
            written_bytes: Weights { dtype: self.packed, scales: Some(of_scale(group)) }.bytes(n, k),
        }
    }

    fn distance(&self, other: &Class) -> Option<u32> {
        Some(u32::from(self != other))
    }

    fn families(&self, _: Arch) -> &'static [Family] {
        &[Family::PackingSm80]
    }

    fn schedules(&self, family: Family, arch: Arch) -> Vec<Schedule> {
        if family != Family::PackingSm80 {
            return Vec::new();
        }
        let both = |threads| [false, true].map(|overlap| Typed { threads, overlap });
        let all = [128, 256, 512].into_iter().flat_map(both).map(Schedule::from);
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

    /// Rows beyond a block, and several groups, or a row that no warp's step divides; then one of each.
    fn probes(&self, schedule: &Schedule) -> Result<Vec<Extents>, OtherFamily> {
        let rows = plan::rows_of_block(self, &Typed::try_from(schedule)?);
        let whole = |k: u32| k.next_multiple_of(self.granule());
        Ok(vec![extents(rows + 3, whole(300)), extents(1, whole(1))])
    }
}
