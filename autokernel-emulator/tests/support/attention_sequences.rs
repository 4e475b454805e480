//! Sequences that are drawn: some empty, some as long as they can be, keys in pages of any order.

use autokernel_codegen::attention::plan::Sizes;
use autokernel_codegen::attention::sequences::{Keys, Sequences};
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// Where a key lies: a row of one of the matrices of its head, which are sequences or pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    pub matrix: u32,
    pub row: u32,
}

/// A sequence.
#[derive(Clone, Debug)]
pub struct Place {
    pub batch: u32,
    pub first_query: u32,
    pub queries: u32,
    pub keys: Vec<Key>,
}

/// The sequences of a batch, and what says in device memory where they are.
#[derive(Clone, Debug)]
pub struct Drawn {
    pub sequences: Vec<Place>,
    /// Pages that there are.
    pub pool: u32,
    page: Option<u32>,
    /// Bounds of queries, bounds of keys, lengths, and the table with its columns.
    query_bounds: Vec<i32>,
    key_bounds: Vec<i32>,
    lengths: Vec<i32>,
    table: Vec<i32>,
}

/// Bounds of four sequences that are nonsense: what they are cut to has an empty sequence on either side of two that are not.
const NONSENSE: [[i32; 5]; 2] = [[i32::MAX, -1, 5, i32::MAX, i32::MIN], [5, -7, 30, i32::MAX, 2]];

/// Pages that no sequence has.
const SPARE_PAGES: u32 = 2;

impl Drawn {
    pub fn new(of: Sequences, sizes: &Sizes, rng: &mut StdRng, nonsense: bool) -> Self {
        let &Sizes { batch, queries, keys, .. } = sizes;
        let count = batch as usize;
        let drawn = [queries, keys].map(|total| bounds(rng, count, total));
        let [query_bounds, key_bounds] = if nonsense { NONSENSE.map(|bounds| bounds.to_vec()) } else { drawn };
        assert_eq!(query_bounds.len(), count + 1, "as many sequences as have bounds");
        // Too many and too few say as many as there are.
        let mut length = |number: usize| match number % 4 {
            0 => i32::try_from(keys).unwrap() + 3,
            1 => rng.random_range(-2..=1),
            _ => rng.random_range(0..=keys as i32),
        };
        let lengths: Vec<i32> = (0..count).map(&mut length).collect();
        let page = match of.keys {
            Keys::Paged(page) => Some(page),
            _ => None,
        };
        let width = page.map_or(1, |page| keys.div_ceil(page));
        let pool = batch * width + SPARE_PAGES;
        let mut pages: Vec<i32> = (0..pool as i32).collect();
        pages.shuffle(rng);
        let mut table = pages[..(batch * width) as usize].to_vec();
        let sequences = (0..count).map(|number| {
            let range = |bounds: &[i32], total: u32| {
                let [first, last] = [number, number + 1].map(|at| bounds[at].clamp(0, total as i32) as u32);
                first..last.max(first)
            };
            let of_queries = if of.packed_queries { range(&query_bounds, queries) } else { 0..queries };
            let most = page.map_or(keys, |page| width * page);
            let counted = 0..(lengths[number].max(0) as u32).min(most);
            let matrix = number as u32;
            let keys = match of.keys {
                Keys::Whole => (0..keys).map(|row| Key { matrix, row }).collect(),
                Keys::Counted => counted.map(|row| Key { matrix, row }).collect(),
                Keys::Packed => range(&key_bounds, keys).map(|row| Key { matrix: 0, row }).collect(),
                Keys::Paged(page) => {
                    let row = &mut table[number * width as usize..][..width as usize];
                    let used = counted.end.div_ceil(page) as usize;
                    let keys = counted.map(|key| Key { matrix: row[(key / page) as usize] as u32, row: key % page });
                    let keys = keys.collect();
                    // What names no page is not read.
                    row[used..].fill(i32::MAX);
                    keys
                }
            };
            Place {
                batch: if of.packed_queries { 0 } else { matrix },
                first_query: of_queries.start,
                queries: of_queries.len() as u32,
                keys,
            }
        });
        let sequences = sequences.collect();
        Drawn { sequences, pool, page, query_bounds, key_bounds, lengths, table }
    }

    /// Of a cache in pages the keys of a page.
    pub fn extent_of_keys(&self, sizes: &Sizes) -> u32 {
        self.page.unwrap_or(sizes.keys)
    }

    /// Whether some sequence that has queries has a key.
    pub fn has_key(&self, key: Key) -> bool {
        self.sequences.iter().any(|sequence| sequence.queries != 0 && sequence.keys.contains(&key))
    }

    /// Rows, columns and numbers of what is called so.
    pub fn numbers(&self, name: &str) -> ([u32; 2], &[i32]) {
        let row = |numbers: &[i32]| [1, numbers.len() as u32];
        match name {
            "query_bounds" => (row(&self.query_bounds), &self.query_bounds),
            "key_bounds" => (row(&self.key_bounds), &self.key_bounds),
            "lengths" => (row(&self.lengths), &self.lengths),
            _ => {
                let rows = self.lengths.len() as u32;
                ([rows, self.table.len() as u32 / rows.max(1)], &self.table)
            }
        }
    }
}

/// In order from somewhere on, of which some are the same.
fn bounds(rng: &mut StdRng, count: usize, total: u32) -> Vec<i32> {
    let mut bounds: Vec<i32> = (0..=count).map(|_| rng.random_range(0..=total as i32)).collect();
    if count > 2 {
        bounds[1] = bounds[2];
    }
    bounds.sort_unstable();
    bounds
}
