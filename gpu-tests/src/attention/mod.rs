//! Declared attention by the way of a user, held against fp64: random sizes, masks and strides, with guard zones.

mod case;
pub mod declared;
pub mod kernels;
pub mod sequences;

use autokernel::{Device, Error, Heads, HeadsView, HeadsViewMut, Plan, Result};
use autokernel_codegen::attention::Problem;
use autokernel_codegen::attention::oracle::{self, Of, Place, Value};
use autokernel_codegen::attention::plan::Sizes;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rayon::prelude::*;

use crate::settings;
use case::{Lengths, Placed, Precise};

/// A declared kernel and its launch.
pub struct Declared<T: 'static> {
    /// The kernel.
    pub kernel: &'static autokernel::AnyKernel,
    /// Its launch on views.
    pub launch: Launch<T>,
    /// Its body; none where it has none.
    pub score: Option<Body>,
}

/// What a body does, told apart from its text.
#[derive(Clone, Copy)]
pub struct Body {
    /// What it makes of a sum of products.
    pub score: Score,
    /// The values of its operands for a head.
    pub operands: fn(head: u32) -> Vec<Value>,
}

/// What a body makes of a sum of products.
pub type Score = fn(product: f64, at: Where) -> f64;

/// Where a score stands.
#[derive(Clone, Copy)]
pub struct Where {
    /// What it is multiplied by without a body.
    pub scale: f64,
    /// The sequence.
    pub batch: u32,
    /// The head.
    pub head: u32,
    /// The key.
    pub key: f64,
    /// How far the key lies behind the query.
    pub distance: f64,
}

/// A launch on a device, of queries, keys, values, the result, and the logarithm of each sum, which not all kernels write.
pub type Launch<T> = fn(&Device, [HeadsView<'_, T>; 3], HeadsViewMut<'_, T>, HeadsViewMut<'_, f32>) -> Result<()>;

impl<T: Precise> Declared<T> {
    /// The problem that was compiled.
    ///
    /// # Panics
    /// What was embedded cannot be read.
    pub fn problem(&self) -> Problem {
        let descriptor = self.kernel.descriptor().unwrap();
        serde_json::from_str(&descriptor.problem.replace("\"operation\":\"attention\",", "")).unwrap()
    }

    /// Computes `count` random problems of up to so many queries and keys twice, and compares each row with fp64.
    ///
    /// # Panics
    /// A result is wrong, differs from the first one, or was written outside its place.
    pub fn check(&self, device: &Device, count: u64, longest: u32) {
        let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 51));
        let problem = self.problem();
        for _ in 0..settings::number("AUTOKERNEL_CASES", count) {
            let sizes = Lengths { longest }.draw(&mut rng);
            self.check_one(device, &problem, &sizes, &mut rng);
        }
    }

    /// The same of one problem of those sizes.
    ///
    /// # Panics
    /// As [`check`](Self::check).
    pub fn check_sizes(&self, device: &Device, sizes: &Sizes) {
        let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 51));
        self.check_one(device, &self.problem(), sizes, &mut rng);
    }

    fn check_one(&self, device: &Device, problem: &Problem, sizes: &Sizes, rng: &mut StdRng) {
        let &Sizes { batch, heads, groups, queries, keys } = sizes;
        let what = format!("{problem}, {sizes:?} on {device}");
        let amplitude = case::amplitude(rng);
        let mut operands = [
            Placed::<T>::random(rng, [batch, heads, queries, problem.head_dim], amplitude),
            Placed::<T>::random(rng, [batch, groups, keys, problem.head_dim], 1.0),
            Placed::<T>::random(rng, [batch, groups, keys, problem.value_dim], 1.0),
        ];
        if let Some(operand) = case::poisoned(rng) {
            operands[operand].poison(rng);
        }
        let [q, k, v] = &operands;
        let out = Placed::<T>::guarded(rng, [batch, heads, queries, problem.value_dim]);
        let run = || {
            let mut buffers = [q, k, v, &out].map(|placed| placed.upload(device));
            let mut sums = Heads::zeros(device, [1, batch, heads, queries].map(|size| size as usize)).unwrap();
            let [of_q, of_k, of_v, of_out] = &mut buffers;
            let mut whole = of_out.view_mut();
            let views = [q.view(of_q), k.view(of_k), v.view(of_v)];
            (self.launch)(device, views, out.view_mut(&mut whole), sums.view_mut())
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            (of_out.to_vec().unwrap_or_else(|error| panic!("{what}: {error}")), sums.to_vec().unwrap())
        };
        let (got, sums) = run();
        let (again, sums_again) = run();
        let bits = |results: &[T]| results.iter().map(|element| element.bits()).collect::<Vec<_>>();
        let bits_of_sums = |sums: &[f32]| sums.iter().map(|sum| sum.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&got), bits(&again), "{what}: another result the second time");
        assert_eq!(bits_of_sums(&sums), bits_of_sums(&sums_again), "{what}: other sums the second time");
        out.expect_guards(&got, &what);
        self.compare(problem, sizes, &operands, |at| (out.row(&got, at), sums[out.number(at)]), &what);
    }

    fn compare(
        &self,
        problem: &Problem,
        sizes: &Sizes,
        [q, k, v]: &[Placed<T>; 3],
        got: impl Fn([u32; 3]) -> (Vec<f64>, f32) + Sync,
        what: &str,
    ) {
        let &Sizes { batch, heads, groups, queries, keys } = sizes;
        let of_group = |number: u32| {
            let rows = |placed: &Placed<T>| -> Vec<Vec<f64>> {
                (0..keys).map(|key| placed.wide([number / groups, number % groups, key])).collect()
            };
            [rows(k), rows(v)]
        };
        let of_groups: Vec<_> = (0..batch * groups).into_par_iter().map(of_group).collect();
        (0..batch * heads * queries).into_par_iter().for_each(|row| {
            let at @ [number, head, query] = [row / queries / heads, row / queries % heads, row % queries];
            let [k, v] = &of_groups[(number * groups + head / (heads / groups)) as usize];
            let place = Place { query, queries, keys };
            let (q, of_key, of_value) = (q.wide(at), |key: u32| &*k[key as usize], |key: u32| &*v[key as usize]);
            let expected = match self.score {
                None => oracle::expected(problem, place, &q, of_key, of_value),
                Some(Body { score, operands }) => {
                    let scored = |product, key| {
                        let (scale, key) = (f64::from(problem.scale), f64::from(key));
                        let distance = key - (f64::from(query) + f64::from(keys) - f64::from(queries));
                        score(product, Where { scale, batch: number, head, key, distance })
                    };
                    let of = Of { batch: number, head, operands: &operands(head) };
                    oracle::scored(problem, place, of, &q, of_key, of_value, scored)
                }
            };
            let (got, sum) = got(at);
            let hidden = case::hidden_nonsense(problem.keys_of(query, queries, keys), v);
            assert!(case::agrees(&expected, &got, &hidden), "{what}: {at:?} is {got:?}, not {:?}", expected.out);
            if problem.log_sum_exp {
                let right = expected.has_log_sum_exp(f64::from(sum));
                assert!(right, "{what}: the sum of {at:?} is {sum}, not {}", expected.log_sum_exp);
            }
        });
    }

    /// Which schedule serves some sizes on a device.
    ///
    /// # Panics
    /// Nothing does.
    pub fn plan(&self, device: &Device, sizes: &Sizes) -> String {
        match self.kernel.plan(device, &sizes.extents(&self.problem().class())).unwrap() {
            Plan::Gpu { variant, .. } => variant.schedule.clone(),
            other => panic!("{other}"),
        }
    }
}

/// A launch that must be refused, with the message.
///
/// # Panics
/// It is not.
pub fn refusal(launched: Result<()>) -> String {
    let error: Error = launched.expect_err("it is refused");
    error.to_string()
}

/// Heads of ones.
///
/// # Panics
/// They do not fit memory.
pub fn ones<T: Precise>(shape: [usize; 4]) -> Heads<T> {
    let count = shape.iter().product();
    Heads::from_slice(&Device::cpu(), &vec![T::from_f32(1.0); count], shape).unwrap()
}
