//! Ranking the images of a portfolio by the times that the model predicts.

use autokernel_core::LaunchPlan;
use autokernel_ops::contender::{self, Contender};

use super::choice::{Choice, Reason};
use super::knobs::Knobs;
use super::target::Target;
use crate::{Extents, KernelDescriptor, KernelVariant};

/// The images of a portfolio.
#[derive(Debug, Default)]
pub(super) struct Ranking {
    contenders: Vec<Ranked>,
}

#[derive(Debug)]
struct Ranked {
    variant: usize,
    contender: Contender,
    plan: LaunchPlan,
}

impl Ranking {
    /// The images among `variants` that a model predicts on `target`, by the constants of `model` or the operation's own.
    pub fn new<'v>(
        kernel: &KernelDescriptor,
        target: &Target,
        model: Option<&str>,
        variants: impl Iterator<Item = (usize, &'v KernelVariant)>,
    ) -> Self {
        let machine = target.machine(contender::multiplies(&kernel.problem));
        let ranked = |(variant, of): (usize, &KernelVariant)| {
            let contender = Contender::read(&kernel.problem, &of.schedule, model, machine, of.portfolio?)?;
            Some(Ranked { variant, contender, plan: of.plan.clone() })
        };
        Ranking { contenders: variants.filter_map(ranked).collect() }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.contenders.is_empty()
    }

    /// The variants.
    pub fn indices(&self) -> impl Iterator<Item = usize> + '_ {
        self.contenders.iter().map(|ranked| ranked.variant)
    }

    /// The image whose time is predicted to be shortest, with its launch-time knobs; none where none is.
    pub fn choose(&self, extents: &Extents) -> Option<Choice> {
        let (mut first, mut second) = (None::<(f64, &Ranked)>, None::<(f64, &Ranked)>);
        for ranked in &self.contenders {
            let ms = ranked.contender.predicted_ms(extents);
            if first.is_none_or(|(least, _)| ms < least) {
                second = first.replace((ms, ranked));
            } else if second.is_none_or(|(least, _)| ms < least) {
                second = Some((ms, ranked));
            }
        }
        let (ms, ranked) = first?;
        let second = second.map(|(ms, ranked)| (ranked.variant, ms));
        Some(ranked.choice(extents, Reason::Predicted { ms, second }))
    }

    /// All images, that with the shortest predicted time first, with their launch-time knobs.
    pub fn ranked(&self, extents: &Extents) -> Vec<Choice> {
        let predicted = |ranked: &Ranked| ranked.contender.predicted_ms(extents);
        let mut by_time: Vec<_> = self.contenders.iter().map(|ranked| (predicted(ranked), ranked)).collect();
        by_time.sort_by(|(left, _), (right, _)| left.total_cmp(right));
        let choice = |(ms, ranked): (f64, &Ranked)| ranked.choice(extents, Reason::Predicted { ms, second: None });
        by_time.into_iter().map(choice).collect()
    }
}

impl Ranked {
    fn choice(&self, extents: &Extents, reason: Reason) -> Choice {
        let knobs = Knobs::new(&self.plan, self.contender.launch_knobs(extents).into_iter()).unwrap_or(Knobs::NONE);
        Choice { variant: self.variant, knobs, reason }
    }
}
