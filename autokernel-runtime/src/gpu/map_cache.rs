//! Remembers the last encoded tensor maps, so that repeated launches on the same buffers encode nothing.

use super::tensor_map::{CopyBox, Global, TensorMap};
use crate::Result;

/// Maps that are remembered for each operand: enough for a few buffers in rotation, few enough to scan at once.
const ENTRIES: usize = 8;

/// The last maps of one operand. A map depends on nothing but its key, so an entry never becomes wrong.
#[derive(Debug, Default)]
pub(super) struct MapCache {
    entries: Vec<(Global, TensorMap)>,
    /// The entry that is replaced next.
    oldest: usize,
}

impl MapCache {
    /// The map of a matrix, encoded if it is not remembered.
    pub fn get(&mut self, global: Global, part: CopyBox) -> Result<TensorMap> {
        self.get_with(global, || global.encode(part))
    }

    fn get_with(&mut self, global: Global, encode: impl FnOnce() -> Result<TensorMap>) -> Result<TensorMap> {
        if let Some((_, map)) = self.entries.iter().find(|(known, _)| *known == global) {
            return Ok(*map);
        }
        let map = encode()?;
        if self.entries.len() < ENTRIES {
            self.entries.push((global, map));
        } else if let Some(entry) = self.entries.get_mut(self.oldest) {
            *entry = (global, map);
            self.oldest = (self.oldest + 1) % ENTRIES;
        }
        Ok(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn global(address: u64) -> Global {
        Global { address, columns: 8, rows: 8, stride: 16 }
    }

    #[test]
    fn a_known_matrix_is_encoded_once() {
        let mut cache = MapCache::default();
        let mut encoded = 0;
        for address in [16, 32, 16, 32, 16] {
            cache
                .get_with(global(address), || {
                    encoded += 1;
                    Ok(TensorMap::ZERO)
                })
                .unwrap();
        }
        assert_eq!(encoded, 2);
    }

    #[test]
    fn the_oldest_entry_makes_room() {
        let mut cache = MapCache::default();
        for address in 0..=ENTRIES as u64 {
            cache.get_with(global(address), || Ok(TensorMap::ZERO)).unwrap();
        }
        assert_eq!(cache.entries.len(), ENTRIES);
        let mut again = false;
        cache
            .get_with(global(0), || {
                again = true;
                Ok(TensorMap::ZERO)
            })
            .unwrap();
        assert!(again);
    }
}
