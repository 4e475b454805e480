//! Which of a kernel's variants can serve on one GPU, and which of them serves which extents.

use std::sync::{Mutex, PoisonError};

use autokernel_core::Arch;
use rustc_hash::FxHashMap;

use super::{Reason, Target, errors};
use crate::descriptor::image_for;
use crate::{Extents, KernelDescriptor, KernelVariant, Result};

/// Choices that are remembered; more shapes than this begin anew.
const REMEMBERED: usize = 1024;

/// The variants of one kernel that are candidates on one GPU: those of the best architecture that runs there.
#[derive(Debug)]
pub(crate) struct Candidates {
    /// Index of each tuned variant, with the extents it was tuned at.
    tuned: Vec<(usize, Extents)>,
    /// Index of the safe default.
    fallback: Option<usize>,
    chosen: Mutex<FxHashMap<Sizes, (usize, Reason)>>,
}

/// Extents in the signature's order, which their names add nothing to.
type Sizes = [u32; 6];

impl Candidates {
    /// Collects the candidates.
    ///
    /// # Errors
    /// [`crate::Error::NotCompiled`] without images, [`crate::Error::WrongArch`] if none of them runs on this GPU.
    pub fn new(kernel: &KernelDescriptor, target: Target) -> Result<Self> {
        if kernel.variants.iter().all(|variant| variant.image.is_none()) {
            return Err(errors::not_compiled(kernel));
        }
        let best = kernel.variants.iter().filter(|variant| runs(variant, target)).map(|variant| variant.arch).max();
        let best: Arch = best.ok_or_else(|| errors::wrong_arch(kernel, target))?;

        let mut candidates = Self { tuned: Vec::new(), fallback: None, chosen: Mutex::default() };
        let serves = |variant: &KernelVariant| variant.arch == best && runs(variant, target);
        for (index, variant) in kernel.variants.iter().enumerate().filter(|(_, variant)| serves(variant)) {
            match &variant.tuned {
                Some(tuned) => candidates.tuned.push((index, tuned.extents)),
                None => candidates.fallback = candidates.fallback.or(Some(index)),
            }
        }
        Ok(candidates)
    }

    /// The index of the variant for some extents in the signature's order; searched for once.
    pub fn choose(&self, extents: &Extents) -> Option<(usize, Reason)> {
        let mut sizes = Sizes::default();
        sizes.iter_mut().zip(extents.sizes()).for_each(|(slot, size)| *slot = size);
        let mut chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(choice) = chosen.get(&sizes) {
            return Some(*choice);
        }
        let choice = self.search(extents)?;
        if chosen.len() >= REMEMBERED {
            chosen.clear();
        }
        chosen.insert(sizes, choice);
        Some(choice)
    }

    /// The nearest tuned variant (the first of equals), else the default.
    fn search(&self, extents: &Extents) -> Option<(usize, Reason)> {
        let distances = self.tuned.iter().filter_map(|(index, tuned)| Some((*index, extents.distance(tuned)?)));
        let nearest = distances.min_by(|(_, a), (_, b)| a.total_cmp(b));
        match nearest {
            Some((index, 0.0)) => Some((index, Reason::Exact)),
            Some((index, distance)) => Some((index, Reason::Nearest { distance })),
            None => self.fallback.map(|index| (index, Reason::Default)),
        }
    }
}

/// Whether a variant's image runs on a GPU that has the shared memory for each of its kernels.
fn runs(variant: &KernelVariant, target: Target) -> bool {
    let fits = variant.plan.kernels.iter().all(|kernel| kernel.shared_bytes <= target.shared_bytes);
    fits && image_for(variant, target.capability).is_some()
}
