//! Sequences of which the device alone knows the lengths, held against fp64: drawn, with empty ones, caches full of what is no
//! number, and pages in any order.

use autokernel::{Device, Heads, HeadsView, HeadsViewMut, Index, PageTable, Result};
use autokernel_codegen::attention::oracle::{self, Of, Place};
use autokernel_codegen::attention::sequences::{Keys, Locator};
use autokernel_codegen::attention::{Problem, signature};
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rayon::prelude::*;

use super::case::{self, Precise};
use super::{Body, Where};

/// A declared kernel, and its launch on what says where sequences are, in the order of its parameters.
pub struct Located<T: 'static> {
    /// The kernel.
    pub kernel: &'static autokernel::AnyKernel,
    /// Its launch.
    pub launch: Launch<T>,
    /// Its body; none where it has none.
    pub score: Option<Body>,
}

/// A launch on a device, of queries, keys, values, what says where sequences are, the result, and the logarithm of each sum, which not
/// all kernels write.
pub type Launch<T> =
    fn(&Device, [HeadsView<'_, T>; 3], &Locators, HeadsViewMut<'_, T>, HeadsViewMut<'_, f32>) -> Result<()>;

/// What says where sequences are.
pub struct Locators {
    /// Bounds of queries, and of keys.
    pub bounds: [Index; 2],
    /// Keys of each sequence.
    pub lengths: Index,
    /// The pages of each.
    pub pages: PageTable,
}

/// What is drawn.
struct Drawn {
    heads: usize,
    groups: usize,
    /// Rows of `q` in all or of a sequence, and of `k`.
    rows: [usize; 2],
    /// Of each sequence where queries begin and how many there are.
    queries: Vec<(usize, usize)>,
    /// Of each sequence the matrix and the row of each key.
    keys: Vec<Vec<(usize, usize)>>,
    bounds: [Vec<i32>; 2],
    lengths: Vec<i32>,
    table: Vec<i32>,
    /// Matrices of `k`.
    matrices: usize,
}

impl Drawn {
    fn new(problem: &Problem, rng: &mut StdRng, longest: usize) -> Self {
        let count = rng.random_range(1..=5usize);
        let groups = rng.random_range(1..=2);
        let heads = groups * rng.random_range(1..=4);
        let mut length = || if rng.random_ratio(1, 5) { 0 } else { rng.random_range(1..=longest) };
        let lengths: Vec<usize> = (0..count).map(|_| length()).collect();
        // Of many queries tiles are of one head.
        let most = if rng.random_ratio(1, 2) { longest.min(300) } else { 20 };
        let few = rng.random_range(1..=most);
        let of_queries: Vec<usize> = (0..count).map(|_| rng.random_range(0..=few)).collect();
        let packed_queries = problem.sequences.packed_queries;
        let queries = match packed_queries {
            true => ranges(&of_queries),
            false => (0..count).map(|_| (0, few)).collect(),
        };
        let page = match problem.sequences.keys {
            Keys::Paged(page) => page as usize,
            _ => 1,
        };
        let width = longest.div_ceil(page).max(1);
        let pool = count * width + 1;
        let mut order: Vec<usize> = (0..pool).collect();
        order.shuffle(rng);
        let key = |number: usize, key: usize| match problem.sequences.keys {
            Keys::Paged(_) => (order[number * width + key / page], key % page),
            Keys::Packed => (0, ranges(&lengths)[number].0 + key),
            Keys::Whole | Keys::Counted => (number, key),
        };
        let keys: Vec<Vec<_>> =
            lengths.iter().enumerate().map(|(n, length)| (0..*length).map(|at| key(n, at)).collect()).collect();
        let table = (0..count).flat_map(|number| {
            let used = lengths[number].div_ceil(page);
            let of_row = &order[number * width..][..width];
            of_row
                .iter()
                .enumerate()
                .map(move |(at, page)| if at < used { *page as i32 } else { -7 })
                .collect::<Vec<_>>()
        });
        let rows_of_k = match problem.sequences.keys {
            Keys::Paged(_) => page,
            Keys::Packed => lengths.iter().sum::<usize>() + 3,
            Keys::Whole | Keys::Counted => longest,
        };
        let matrices = match problem.sequences.keys {
            Keys::Paged(_) => pool,
            Keys::Packed => 1,
            Keys::Whole | Keys::Counted => count,
        };
        Drawn {
            heads,
            groups,
            rows: [if packed_queries { of_queries.iter().sum::<usize>() + 2 } else { few }, rows_of_k],
            bounds: [bounds(&of_queries), bounds(&lengths)],
            table: table.collect(),
            lengths: lengths.iter().map(|length| *length as i32).collect(),
            queries,
            keys,
            matrices,
        }
    }

    fn locators(&self, device: &Device) -> Result<Locators> {
        let [queries, keys] = &self.bounds;
        Ok(Locators {
            bounds: [Index::from_slice(device, queries)?, Index::from_slice(device, keys)?],
            lengths: Index::from_slice(device, &self.lengths)?,
            pages: PageTable::from_slice(device, &self.table, self.lengths.len())?,
        })
    }
}

/// Where each of some lengths begins that lie one behind the other, with the length.
fn ranges(lengths: &[usize]) -> Vec<(usize, usize)> {
    let mut first = 0;
    let range = |length: &usize| {
        first += length;
        (first - length, *length)
    };
    lengths.iter().map(range).collect()
}

fn bounds(lengths: &[usize]) -> Vec<i32> {
    let ends = ranges(lengths).into_iter().map(|(first, length)| (first + length) as i32);
    [0].into_iter().chain(ends).collect()
}

/// Elements of heads without gaps, rounded.
struct Dense<T> {
    data: Vec<T>,
    shape: [usize; 4],
}

impl<T: Precise> Dense<T> {
    fn new(shape: [usize; 4], mut element: impl FnMut() -> f32) -> Self {
        let data = (0..shape.iter().product()).map(|_| T::from_f32(element())).collect();
        Dense { data, shape }
    }

    fn at(&self, [matrix, head, row]: [usize; 3]) -> std::ops::Range<usize> {
        let [_, heads, rows, dim] = self.shape;
        let first = ((matrix * heads + head) * rows + row) * dim;
        first..first + dim
    }

    fn wide(&self, at: [usize; 3]) -> Vec<f64> {
        self.data[self.at(at)].iter().map(|element| f64::from(element.to_f32())).collect()
    }
}

impl<T: Precise> Located<T> {
    /// Computes `count` random problems of up to so many keys a sequence twice, and compares each row with fp64.
    ///
    /// # Panics
    /// A result is wrong, differs from the first one, or a row of no sequence was written.
    pub fn check(&self, device: &Device, rng: &mut StdRng, count: u64, longest: usize) {
        let descriptor = self.kernel.descriptor().unwrap();
        let problem: Problem =
            serde_json::from_str(&descriptor.problem.replace("\"operation\":\"attention\",", "")).unwrap();
        assert!(
            signature(&problem)
                .operands
                .iter()
                .any(|it| { [Locator::Lengths, Locator::KeyBounds].map(Locator::name).contains(&it.name.as_str()) })
        );
        for number in 0..count {
            let drawn = Drawn::new(&problem, rng, longest);
            self.check_one(device, &problem, &drawn, rng, &format!("{problem}, number {number} on {device}"));
        }
    }

    fn check_one(&self, device: &Device, problem: &Problem, drawn: &Drawn, rng: &mut StdRng, what: &str) {
        const UNTOUCHED: f32 = 7.0;
        let [head_dim, value_dim] = [problem.head_dim, problem.value_dim].map(|dim| dim as usize);
        let batch = if problem.sequences.packed_queries { 1 } else { drawn.queries.len() };
        let [rows, rows_of_k] = drawn.rows;
        let amplitude = case::amplitude(rng);
        let poisoned = case::poisoned(rng);
        let mut random = || rng.random_range(-1.7f32..1.7);
        let mut q = Dense::<T>::new([batch, drawn.heads, rows, head_dim], || amplitude * random());
        // What no sequence has is no number.
        let mut k = Dense::<T>::new([drawn.matrices, drawn.groups, rows_of_k, head_dim], || f32::NAN);
        let mut v = Dense::<T>::new([drawn.matrices, drawn.groups, rows_of_k, value_dim], || f32::NAN);
        for (&(matrix, row), group) in
            drawn.keys.iter().flatten().flat_map(|key| (0..drawn.groups).map(move |g| (key, g)))
        {
            for tensor in [&mut k, &mut v] {
                let at = tensor.at([matrix, group, row]);
                tensor.data[at].fill_with(|| T::from_f32(random()));
            }
        }
        // Inside of sequences an element of one may be none, too.
        let all: Vec<_> = drawn.keys.iter().flatten().copied().collect();
        let (matrix, row) = if all.is_empty() { (0, 0) } else { all[rng.random_range(0..all.len())] };
        match poisoned {
            Some(0) => q.data.last_mut().into_iter().for_each(|element| *element = T::from_f32(f32::NAN)),
            Some(operand) if !all.is_empty() => {
                let tensor = if operand == 1 { &mut k } else { &mut v };
                let at = tensor.at([matrix, rng.random_range(0..drawn.groups), row]);
                tensor.data[at.start + rng.random_range(0..at.len())] = T::from_f32(f32::NAN);
            }
            _ => {}
        }
        let [q, k, v] = [q, k, v];
        let locators = drawn.locators(device).unwrap();
        let shape = [batch, drawn.heads, rows, value_dim];
        let run = || {
            let out = Dense::<T>::new(shape, || UNTOUCHED);
            let [q, k, v] = [&q, &k, &v].map(|it| Heads::from_slice(device, &it.data, it.shape).unwrap());
            let mut result = Heads::from_slice(device, &out.data, out.shape).unwrap();
            let of_sums = vec![UNTOUCHED; batch * drawn.heads * rows];
            let mut sums = Heads::from_slice(device, &of_sums, [1, batch, drawn.heads, rows]).unwrap();
            (self.launch)(device, [q.view(), k.view(), v.view()], &locators, result.view_mut(), sums.view_mut())
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            (result.to_vec().unwrap_or_else(|error| panic!("{what}: {error}")), sums.to_vec().unwrap())
        };
        let ((data, mut sums), (again, sums_again)) = (run(), run());
        let bits = |results: &[T]| results.iter().map(|element| element.bits()).collect::<Vec<_>>();
        let bits_of_sums = |sums: &[f32]| sums.iter().map(|sum| sum.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&data), bits(&again), "{what}: another result the second time");
        assert_eq!(bits_of_sums(&sums), bits_of_sums(&sums_again), "{what}: other sums the second time");
        let mut out = Dense { data, shape };
        let number_of = |[matrix, head, row]: [usize; 3]| (matrix * drawn.heads + head) * rows + row;
        for (number, (&(first_query, queries), keys)) in drawn.queries.iter().zip(&drawn.keys).enumerate() {
            let matrix = if problem.sequences.packed_queries { 0 } else { number };
            let of = |tensor: &Dense<T>, group| -> Vec<_> {
                keys.iter().map(|&(matrix, row)| tensor.wide([matrix, group, row])).collect()
            };
            let of_groups: Vec<[Vec<_>; 2]> = (0..drawn.groups).map(|group| [of(&k, group), of(&v, group)]).collect();
            let keys = keys.len() as u32;
            (0..drawn.heads * queries).into_par_iter().for_each(|row| {
                let (head, query) = (row / queries, row % queries);
                let at = [matrix, head, first_query + query];
                let [k, v] = &of_groups[head / (drawn.heads / drawn.groups)];
                let place = Place { query: query as u32, queries: queries as u32, keys };
                let at_keys = f64::from(place.query) + f64::from(keys) - f64::from(place.queries);
                let (of_key, of_value) = (|key: u32| &*k[key as usize], |key: u32| &*v[key as usize]);
                let expected = match self.score {
                    Some(Body { score, operands }) => {
                        let (batch, head) = (number as u32, head as u32);
                        let scored = |product, key| {
                            let (scale, key) = (f64::from(problem.scale), f64::from(key));
                            score(product, Where { scale, batch, head, key, distance: key - at_keys })
                        };
                        let of = Of { batch, head, operands: &operands(head) };
                        oracle::scored(problem, place, of, &q.wide(at), of_key, of_value, scored)
                    }
                    None => oracle::expected(problem, place, &q.wide(at), of_key, of_value),
                };
                let hidden = case::hidden_nonsense(problem.keys_of(place.query, place.queries, keys), v);
                let got = out.wide(at);
                assert!(case::agrees(&expected, &got, &hidden), "{what}: {at:?} is {got:?}, not {:?}", expected.out);
                if problem.log_sum_exp {
                    let sum = sums[number_of(at)];
                    let right = expected.has_log_sum_exp(f64::from(sum));
                    assert!(right, "{what}: the sum of {at:?} is {sum}, not {}", expected.log_sum_exp);
                }
            });
            for (head, query) in (0..drawn.heads).flat_map(|head| (0..queries).map(move |query| (head, query))) {
                let row = [matrix, head, first_query + query];
                let at = out.at(row);
                out.data[at].fill(T::from_f32(UNTOUCHED));
                sums[number_of(row)] = UNTOUCHED;
            }
        }
        let untouched = out.data.iter().map(|element| element.to_f32()).chain(sums);
        assert!(untouched.into_iter().all(|number| number == UNTOUCHED), "{what}: rows of no sequence are written");
    }
}
