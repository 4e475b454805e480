//! Which of a kernel's variants can serve on one GPU, and which of them serves which extents.

use std::iter;

use autokernel_core::{Arch, Provenance, Span};

use super::choice::{Choice, Reason};
use super::errors;
use super::knobs::Knobs;
use super::ranking::Ranking;
use super::remembered::{Remembered, Sizes};
use super::target::Target;
use crate::descriptor::image_for;
use crate::{Extents, KernelDescriptor, KernelVariant, Result, Tuned};

/// The variants of one kernel that are candidates on one GPU: those of the best architecture that runs there.
#[derive(Debug)]
pub(crate) struct Candidates {
    /// Index of each tuned variant that counts on this GPU, with the extents it was tuned at. Those that were tuned for nothing else come first.
    tuned: Vec<(usize, Extents)>,
    /// How many were tuned for nothing else.
    own: usize,
    /// Of those that were tuned for a range of sizes, the range, the narrowest first.
    ranges: Vec<(usize, Extents, Span)>,
    /// The portfolio, which serves what nobody tuned.
    portfolio: Ranking,
    /// Index of the safe default.
    fallback: Option<usize>,
    chosen: Remembered<Choice>,
    /// What autotuning took, which comes before all else.
    measured: Remembered<Choice>,
}

impl Candidates {
    /// Collects the candidates.
    ///
    /// # Errors
    /// [`crate::Error::NotCompiled`] without images, [`crate::Error::WrongArch`] if none of them runs on this GPU.
    pub fn new(kernel: &KernelDescriptor, target: &Target) -> Result<Self> {
        if kernel.variants.iter().all(|variant| variant.image.is_none()) {
            return Err(errors::not_compiled(kernel));
        }
        let best = kernel.variants.iter().filter(|variant| runs(variant, target)).map(|variant| variant.arch).max();
        let best: Arch = best.ok_or_else(|| errors::wrong_arch(kernel, target))?;

        let serves = |variant: &KernelVariant| variant.arch == best && runs(variant, target);
        let serving = || kernel.variants.iter().enumerate().filter(|(_, variant)| serves(variant));
        let chosen_by = kernel.portfolios.iter().find(|portfolio| portfolio.arch == best);
        let model = chosen_by.and_then(|portfolio| portfolio.model.as_deref());
        let images = serving().filter(|(_, variant)| variant.portfolio.is_some());
        let portfolio = Ranking::new(kernel, target, model, images);
        // What was tuned on another GPU loses to a model that was fitted to this arch: up to a third of the speed was seen.
        let is_fitted = !portfolio.is_empty() && chosen_by.is_some_and(|portfolio| !portfolio.gpus.is_empty());
        let counts = |entry: &Tuned| {
            let Provenance { gpu, .. } = &entry.provenance;
            !is_fitted || entry.provenance.is_by_hand() || target.is_called(gpu)
        };
        let mut tuned: Vec<(usize, &Tuned)> =
            serving().filter_map(|(index, variant)| Some((index, variant.tuned.as_ref()?))).collect();
        tuned.retain(|(_, entry)| counts(entry));
        // Of entries for the same extents one for nothing else comes first, then the same GPU's.
        tuned.sort_by_key(|(index, entry)| (entry.range.is_some(), !target.is_called(&entry.provenance.gpu), *index));
        let mut ranges: Vec<(usize, Extents, Span)> =
            tuned.iter().filter_map(|(index, entry)| Some((*index, entry.extents, entry.range?))).collect();
        ranges.sort_by_key(|(_, _, range)| range.count());
        let own = tuned.iter().filter(|(_, entry)| entry.range.is_none()).count();
        let fallback = serving().find(|(_, variant)| variant.tuned.is_none()).map(|(index, _)| index);
        Ok(Self {
            tuned: tuned.into_iter().map(|(index, entry)| (index, entry.extents)).collect(),
            own,
            ranges,
            portfolio,
            fallback,
            chosen: Remembered::new(),
            measured: Remembered::new(),
        })
    }

    /// The choice for some extents in the signature's order; searched for once.
    pub fn choose(&self, extents: &Extents) -> Option<Choice> {
        self.measured(extents).or_else(|| self.chosen.get(sizes(extents), || self.search(extents)))
    }

    /// What was measured to be fastest at some extents.
    pub fn measured(&self, extents: &Extents) -> Option<Choice> {
        self.measured.get(sizes(extents), || None)
    }

    /// Takes what was measured to be fastest at some extents from now on; where two threads measured, the first one's.
    pub fn take_measured(&self, extents: &Extents, choice: Choice) {
        self.measured.get(sizes(extents), || Some(choice));
    }

    /// What may serve some extents: the choice without measurements, and behind it the portfolio's images as the model ranks them.
    pub fn contenders(&self, extents: &Extents) -> Vec<Choice> {
        let Some(chosen) = self.search(extents) else { return Vec::new() };
        let others = self.portfolio.ranked(extents).into_iter().filter(|other| other.variant != chosen.variant);
        iter::once(chosen).chain(others).collect()
    }

    /// The portfolio's variants, and those that were tuned.
    pub fn indices(&self) -> impl Iterator<Item = usize> + '_ {
        self.portfolio.indices().chain(self.tuned.iter().map(|(index, _)| *index))
    }

    /// Of what counts on this GPU: what was tuned for exactly these extents; else for a range that holds them; else what the model ranks first; else the
    /// nearest tuned variant (the first of equals), else the default.
    fn search(&self, extents: &Extents) -> Option<Choice> {
        let plain = |variant, reason| Choice { variant, knobs: Knobs::NONE, reason };
        let is_exact = |tuned: &Extents| extents.distance(tuned) == Some(0.0);
        if let Some((index, _)) = self.tuned.iter().take(self.own).find(|(_, tuned)| is_exact(tuned)) {
            return Some(plain(*index, Reason::Exact));
        }
        if let Some((index, ..)) = self.ranges.iter().find(|(_, others, range)| range.holds(others, extents)) {
            return Some(plain(*index, Reason::Range));
        }
        if let Some(choice) = self.portfolio.choose(extents) {
            return Some(choice);
        }
        let distances = self.tuned.iter().filter_map(|(index, tuned)| Some((*index, extents.distance(tuned)?)));
        match distances.min_by(|(_, a), (_, b)| a.total_cmp(b)) {
            Some((index, distance)) => Some(plain(index, Reason::Nearest { distance })),
            None => self.fallback.map(|index| plain(index, Reason::Default)),
        }
    }
}

fn sizes(extents: &Extents) -> Sizes {
    let mut sizes = Sizes::default();
    sizes.iter_mut().zip(extents.sizes()).for_each(|(slot, size)| *slot = size);
    sizes
}

/// Whether a variant's image runs on a GPU that has the shared memory for each of its kernels.
fn runs(variant: &KernelVariant, target: &Target) -> bool {
    let fits = variant.plan.kernels.iter().all(|kernel| kernel.shared_bytes <= target.shared_bytes);
    fits && image_for(variant, target.capability).is_some()
}

#[cfg(test)]
mod tests {
    use autokernel_core::{Arch, Grid, KernelStep, LaunchPlan, Portfolio, Residency, Signature};
    use autokernel_ops::matmul::extents;
    use autokernel_ops::matmul::model::Constants;

    use super::*;
    use crate::{Datasheet, Images};

    fn image(symbol: &str, schedule: &str) -> KernelVariant {
        let kernel = KernelStep {
            symbol: symbol.to_owned(),
            threads: 256,
            shared_bytes: 1024,
            overlaps_previous: false,
            grid: Grid { axes: Vec::new(), cluster: 1, tiles: 1, residency: Residency::OneEach, split: None },
            args: Vec::new(),
        };
        KernelVariant {
            arch: Arch::SM_90A,
            tuned: None,
            portfolio: Some(1.0),
            schedule: schedule.to_owned(),
            plan: LaunchPlan::of_kernel(kernel, Vec::new()),
            image: Some(Images { ptx: b"", cubin: Some(b"\x7fELF") }),
        }
    }

    /// A kernel with one image for many rows, and one for few.
    fn kernel() -> KernelDescriptor {
        let large = r#"{"family":"sm90","tile_m":128,"tile_n":128,"stages":4,"consumers":2,"mode":"cooperative","cluster_m":1,
            "cluster_n":1,"swap_ab":false,"split_k":1,"raster_order":"along_m","raster_group":1}"#;
        let small = r#"{"family":"sm90","tile_m":16,"tile_n":64,"stages":8,"consumers":1,"mode":"cooperative","cluster_m":1,
            "cluster_n":1,"swap_ab":true,"split_k":1,"raster_order":"along_m","raster_group":1}"#;
        let problem =
            r#"{"operation":"matmul","input":"bf16","output":"bf16","layout":"nt","epilogue":"identity"}"#.to_owned();
        let model = serde_json::to_string(&Constants::START).ok();
        KernelDescriptor {
            name: "linear".to_owned(),
            about: String::new(),
            problem,
            signature: Signature::default(),
            variants: vec![image("large", large), image("small", small)],
            portfolios: vec![Portfolio { arch: Arch::SM_90A, model, gpus: vec!["NVIDIA H200".to_owned()] }],
            confined: None,
            not_compiled: None,
        }
    }

    #[test]
    fn what_was_measured_comes_before_what_is_predicted_at_its_extents_alone() {
        let (kernel, target) = (kernel(), Target::of_sheet(Datasheet::find("h200").unwrap()));
        let candidates = Candidates::new(&kernel, &target).unwrap();
        let (few, many) = (extents(8, 8192, 8192), extents(4096, 8192, 8192));
        let variants = |extents| candidates.contenders(extents).iter().map(|choice| choice.variant).collect::<Vec<_>>();
        assert_eq!([variants(&few), variants(&many)], [[1, 0], [0, 1]]);
        let predicted = candidates.choose(&few).unwrap();

        let reason = Reason::Measured { ms: 0.02, count: 2, instead_of: Some((1, 0.03)) };
        candidates.take_measured(&few, Choice { variant: 0, knobs: Knobs::NONE, reason });
        candidates.take_measured(&few, predicted);
        assert_eq!(candidates.choose(&few).unwrap().reason, reason, "the first one stays");
        assert!(matches!(candidates.choose(&many).unwrap().reason, Reason::Predicted { .. }));
        let plan = super::super::plan(&kernel, &candidates, &target, &few).unwrap().to_string();
        let told = "the fastest of 2 that were timed on this GPU, 0.02000 ms; chosen without, small, 0.03000 ms";
        assert!(plan.ends_with(told), "{plan}");
    }
}
