//! What the room of attention tells.

use autokernel_core::{Arch, Dim, Dtype, Extents, LaunchPlan, Signature};

use super::plan::Sizes;
use super::problem::{Class, Problem};
use super::schedule::Schedule as Typed;
use super::sequences::Keys;
use super::signature::{self, DIMS};
use super::sm80::{self, Sm80Schedule};
use super::sm90::{self, Sm90Schedule};
use super::{declare, emit, model, plan, probes};
use crate::declaration::{Attribute, Complaint, Declaration};
use crate::family::{Family, OtherFamily};
use crate::forecast::{Forecast, Machine};
use crate::operation::{self, Operation, Tolerance, Work};
use crate::rule::BrokenRule;
use crate::schedule::Schedule;
use crate::source::{Header, KernelSource, headers};

impl Operation for Problem {
    type Class = Class;

    const NAME: &'static str = "attention";

    const DIMS: &'static [Dim] = &DIMS;

    const HEADERS: &'static [Header] = headers! {
        "cuda/": "attention_cap.cuh" "attention_distances.cuh" "attention_finish.cuh" "attention_keys.cuh" "attention_packed.cuh" "attention_partials.cuh" "attention_scan.cuh"
            "attention_score.cuh" "attention_sequences.cuh" "attention_shares.cuh" "attention_softmax.cuh" "attention_store.cuh" "attention_tiles.cuh"
            "attention_weights.cuh" "reference_attention.cuh";
        "sm80/cuda/": "sm80_attention.cuh" "sm80_attention_copies.cuh" "sm80_attention_geometry.cuh" "sm80_attention_multiplier.cuh"
            "sm80_attention_sharing.cuh";
        "sm90/cuda/": "sm90_attention.cuh" "sm90_attention_boxes.cuh" "sm90_attention_consumer.cuh" "sm90_attention_geometry.cuh"
            "sm90_attention_multiplier.cuh" "sm90_attention_packed.cuh" "sm90_attention_packed_walk.cuh" "sm90_attention_paged_producer.cuh" "sm90_attention_producer.cuh" "sm90_attention_query_copies.cuh" "sm90_attention_sharing.cuh"
            "sm90_attention_sharing_consumer.cuh" "sm90_attention_sharing_producer.cuh" "sm90_attention_steps.cuh"
            "sm90_attention_walk.cuh";
    };

    const ROOTS: &'static [&'static str] = &emit::ROOTS;

    const ATTRIBUTES: &'static [Attribute] = &[declare::ATTRIBUTE];

    fn declare(declaration: &Declaration) -> Result<Self, Vec<Complaint>> {
        declare::declare(declaration)
    }

    fn signature(&self) -> Signature {
        signature::signature(self)
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
        Problem { head_dim: extents.size(5), value_dim: extents.size(6), ..self.clone() }
    }

    /// Exactly the pairs of a query and a key that it sees.
    fn work(&self, extents: &Extents) -> Work {
        work(&self.class(), extents, self.pairs(&Sizes::of(extents)))
    }

    fn brief(&self) -> String {
        operation::Class::brief(&self.class())
    }

    fn task(&self, extents: &Extents) -> String {
        let Sizes { batch, heads, groups, queries, keys } = Sizes::of(extents);
        let work = self.work(extents);
        format!(
            "{self}: {batch} sequences, {heads} heads of queries on {groups} of keys and values, {queries} queries on {keys} keys: \
             {:.4e} operations, {:.4e} bytes are read and written at least. Queries and keys are aligned at their ends; \
             sums are f32.",
            work.operations,
            work.bytes(),
        )
    }

    /// None: options cannot say all of its dimensions.
    fn built_in() -> Vec<Self> {
        Vec::new()
    }

    /// As many heads share keys as in `extents`, and there are as many keys as queries where there are there; a page's are
    /// compiled in.
    fn ragged(&self, extents: &Extents) -> Extents {
        let Sizes { batch, heads, groups, queries, keys } = Sizes::of(extents);
        let sharing = heads / groups.max(1);
        let few = |queries: u32| queries.min(203);
        let sizes = Sizes {
            batch: batch.min(2),
            heads: sharing * groups.min(3),
            groups: groups.min(3),
            queries: few(queries),
            keys: match self.sequences.keys {
                Keys::Paged(page) => page,
                _ if keys == queries => few(queries),
                _ => keys.min(389),
            },
        };
        sizes.extents(&self.class())
    }

    /// Weights are rounded to the type before they are multiplied, and so is the result: each by half a unit of about 1 at most,
    /// for values of size about 1. The rest is fp32's.
    fn tolerance(&self, _: &Extents) -> Tolerance {
        let unit = match self.dtype {
            Dtype::Bf16 => 2f32.powi(-8),
            _ => 2f32.powi(-11),
        };
        Tolerance { absolute: 1.5 * unit, relative: 1.5 * unit }
    }

    fn forecast(&self, schedule: &Schedule, _: Option<&str>, machine: Machine) -> Option<Box<dyn Forecast>> {
        let schedule = Typed::try_from(schedule).ok()?;
        Some(Box::new(model::Image { class: self.class(), window: self.window, schedule, machine }))
    }

    fn with_fewer_registers(&self) -> &'static str {
        "narrower values, or a body of fewer conditions and functions,"
    }
}

impl Problem {
    /// Pairs of a query and a key that it sees, of one head.
    fn pairs(&self, sizes: &Sizes) -> f64 {
        let &Sizes { queries, keys, .. } = sizes;
        if !self.causal && self.window.is_none() {
            return f64::from(queries) * f64::from(keys);
        }
        (0..queries).map(|query| self.keys_of(query, queries, keys).len() as f64).sum()
    }
}

/// Two products of all pairs; each operand once.
fn work(class: &Class, extents: &Extents, pairs: f64) -> Work {
    let Sizes { batch, heads, groups, queries, keys } = Sizes::of(extents);
    let [batch, heads, groups, queries, keys] = [batch, heads, groups, queries, keys].map(f64::from);
    let dims = f64::from(class.head_dim) + f64::from(class.value_dim);
    let bytes = f64::from(class.dtype.bytes());
    let log_sum_exp = if class.log_sum_exp { 4.0 } else { 0.0 };
    Work {
        operations: 2.0 * batch * heads * pairs * dims,
        read_bytes: batch * bytes * (heads * queries * f64::from(class.head_dim) + groups * keys * dims),
        written_bytes: batch * heads * queries * (bytes * f64::from(class.value_dim) + log_sum_exp),
    }
}

impl operation::Class for Class {
    fn slug(&self) -> String {
        Class::slug(self)
    }

    fn brief(&self) -> String {
        let masked = match (self.causal, self.windowed) {
            (false, false) => "",
            (true, false) => " · causal",
            (false, true) => " · window",
            (true, true) => " · causal window",
        };
        format!("{} · {}{masked}", self.dtype, self.head_dim)
    }

    fn attribute(&self) -> &'static str {
        declare::ATTRIBUTE.name
    }

    fn multiplies(&self) -> Option<Dtype> {
        Some(self.dtype)
    }

    /// A causal problem's as if queries were as many as keys; of a window's width a class knows nothing.
    fn work(&self, extents: &Extents) -> Work {
        let Sizes { queries, keys, .. } = Sizes::of(extents);
        let share = if self.causal { 0.5 } else { 1.0 };
        work(self, extents, share * f64::from(queries) * f64::from(keys))
    }

    /// What fits one size of heads need not fit another, and sequences lie as they lie; masks and types change little.
    fn distance(&self, other: &Class) -> Option<u32> {
        let dims = |class: &Class| (class.head_dim, class.value_dim, class.sequences);
        let dims = dims(self) == dims(other);
        let masks = (self.causal, self.windowed) == (other.causal, other.windowed);
        dims.then(|| 2 * u32::from(!masks) + u32::from(self != other))
    }

    fn families(&self, arch: Arch) -> &'static [Family] {
        if arch == Arch::SM_90A { &[Family::AttentionSm90, Family::AttentionSm80] } else { &[Family::AttentionSm80] }
    }

    fn schedules(&self, family: Family, arch: Arch) -> Vec<Schedule> {
        match family {
            Family::AttentionSm80 => sm80::schedules(self, arch).into_iter().map(Schedule::from).collect(),
            Family::AttentionSm90 => sm90::schedules(self, arch).into_iter().map(Schedule::from).collect(),
            _ => Vec::new(),
        }
    }

    fn default_schedule(&self, arch: Arch) -> Schedule {
        match arch {
            Arch::SM_90A => Sm90Schedule::default_for(self).into(),
            _ => Sm80Schedule::default_for(self, arch).into(),
        }
    }

    fn portfolio(&self, arch: Arch) -> Vec<Schedule> {
        match arch {
            Arch::SM_90A => model::portfolio(self).into_iter().map(Schedule::from).collect(),
            _ => sm80::default::portfolio(self, arch).into_iter().map(Schedule::from).collect(),
        }
    }

    fn measured_on(&self, arch: Arch) -> &'static [&'static str] {
        if arch == Arch::SM_90A { &["NVIDIA H200"] } else { &[] }
    }

    /// Of a window's width a class knows nothing.
    fn forecast(&self, schedule: &Schedule, _: Option<&str>, machine: Machine) -> Option<Box<dyn Forecast>> {
        let schedule = Typed::try_from(schedule).ok()?;
        Some(Box::new(model::Image { class: self.clone(), window: None, schedule, machine }))
    }

    fn check(&self, schedule: &Schedule, arch: Arch) -> Result<(), BrokenRule> {
        match Typed::try_from(schedule) {
            Ok(typed) => typed.check(self, arch),
            Err(OtherFamily) => Err(BrokenRule::other_family(schedule, self)),
        }
    }

    fn plan(&self, schedule: &Schedule, symbol: String) -> Result<LaunchPlan, OtherFamily> {
        Ok(plan::plan(self, &Typed::try_from(schedule)?, symbol))
    }

    fn probes(&self, schedule: &Schedule) -> Result<Vec<Extents>, OtherFamily> {
        Ok(probes::of(&Typed::try_from(schedule)?, self))
    }
}
