//! Remembers encoded tensor maps, so that repeated launches on the same buffers encode nothing.

use std::hash::Hash;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::Result;

/// Maps that one kernel remembers: those of a model of a hundred layers, three to a layer, and a few sets of
/// activations. A full cache begins anew, so that a map costs at most one encoding in `ENTRIES` launches more than in
/// an unbounded one; where more maps than this take turns, remembering the last ones would not help either.
const ENTRIES: usize = 896;

/// Values by a key that they follow from alone, so that an entry never becomes wrong.
#[derive(Debug)]
pub(super) struct MapCache<K, V> {
    entries: FxHashMap<K, V>,
}

impl<K: Eq + Hash, V: Copy> MapCache<K, V> {
    /// An empty cache with room for all it will hold: launches allocate nothing. Pages of it that no entry reaches are
    /// never touched.
    pub fn new() -> Self {
        Self { entries: FxHashMap::with_capacity_and_hasher(ENTRIES, FxBuildHasher) }
    }

    /// A cache without room, for a kernel without maps.
    pub fn none() -> Self {
        Self { entries: FxHashMap::default() }
    }

    /// The value of a key, made if it is not remembered.
    pub fn get(&mut self, key: K, make: impl FnOnce(&K) -> Result<V>) -> Result<V> {
        if let Some(value) = self.entries.get(&key) {
            return Ok(*value);
        }
        let value = make(&key)?;
        if self.entries.len() >= ENTRIES {
            self.entries.clear();
        }
        self.entries.insert(key, value);
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often a map was made when those keys were asked for in turn.
    fn made(keys: impl Iterator<Item = u64>) -> usize {
        let (mut cache, mut made) = (MapCache::new(), 0);
        for key in keys {
            let value = cache.get(key, |key| {
                made += 1;
                Ok(*key)
            });
            assert_eq!(value.unwrap(), key);
        }
        assert!(cache.entries.len() <= ENTRIES);
        made
    }

    #[test]
    fn a_known_matrix_is_encoded_once() {
        assert_eq!(made([16, 32, 16, 32, 16].into_iter()), 2);
    }

    #[test]
    fn sixty_four_layers_in_rotation_are_encoded_once_each() {
        assert_eq!(made((0..10 * 192).map(|launch| launch % 192)), 192);
    }

    #[test]
    fn the_memory_is_bounded_and_taken_at_once() {
        let mut cache = MapCache::<u64, u64>::new();
        let room = cache.entries.capacity();
        for key in 0..10 * ENTRIES as u64 {
            cache.get(key, |key| Ok(*key)).unwrap();
        }
        assert_eq!(cache.entries.capacity(), room);
    }
}
