//! Choices that were made, by extents. Finding one takes no lock and allocates nothing.

use std::sync::{Mutex, OnceLock, PoisonError};

use autokernel_core::MAX_RANK;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// Extents in the signature's order, which their names add nothing to.
pub(super) type Sizes = [u32; MAX_RANK];

/// Places for choices; a power of two.
const PLACES: usize = 512;
/// Places that are looked at for one.
const PROBES: usize = 8;
/// Choices that are remembered once their places are taken; more than this begin anew.
const OVERFLOW: usize = 4096;

/// Choices by sizes. The first few hundred are found without a lock, which is what a program repeats.
#[derive(Debug)]
pub(super) struct Remembered<T> {
    places: Box<[OnceLock<(Sizes, T)>]>,
    overflow: Mutex<FxHashMap<Sizes, T>>,
}

impl<T: Copy> Remembered<T> {
    pub fn new() -> Self {
        Self { places: (0..PLACES).map(|_| OnceLock::new()).collect(), overflow: Mutex::default() }
    }

    /// The choice for `sizes`; made by `choose` the first time. Nothing is remembered where there is none.
    pub fn get(&self, sizes: Sizes, choose: impl FnOnce() -> Option<T>) -> Option<T> {
        let mut free = None;
        let first = FxBuildHasher.hash_one(sizes) as usize;
        for probe in 0..PROBES {
            let place = &self.places[first.wrapping_add(probe) % PLACES];
            match place.get() {
                Some((known, choice)) if *known == sizes => return Some(*choice),
                Some(_) => {}
                None => {
                    free = Some(place);
                    break;
                }
            }
        }
        if let Some(place) = free {
            let choice = choose()?;
            // Another thread may have taken the place meanwhile: this choice is then made again next time.
            let _ = place.set((sizes, choice));
            return Some(choice);
        }
        let lock = || self.overflow.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(choice) = lock().get(&sizes) {
            return Some(*choice);
        }
        let choice = choose()?;
        let mut overflow = lock();
        if overflow.len() >= OVERFLOW {
            overflow.clear();
        }
        overflow.insert(sizes, choice);
        Some(choice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_choice_is_made_once_also_when_its_places_are_taken() {
        let remembered = Remembered::new();
        let count = (PLACES + 1500) as u32;
        for round in 0..2 {
            for size in 0..count {
                let choose = || {
                    assert_eq!(round, 0, "{size} was forgotten");
                    Some(size)
                };
                assert_eq!(remembered.get([size, 1, 1, 0, 0, 0, 0], choose), Some(size));
            }
        }
    }

    #[test]
    fn no_choice_is_not_remembered() {
        let remembered = Remembered::new();
        assert_eq!(remembered.get([1; MAX_RANK], || None::<u32>), None);
        assert_eq!(remembered.get([1; MAX_RANK], || Some(3)), Some(3));
    }
}
