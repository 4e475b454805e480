//! Declared attention by the way of a user, held against fp64: random sizes, masks and strides, with guard zones.

mod case;
pub mod declared;
pub mod kernels;
pub mod sequences;

use autokernel::{Device, Error, Heads, HeadsView, HeadsViewMut, Plan, Result};
use autokernel_codegen::attention::Problem;
use autokernel_codegen::attention::oracle::{self, Place};
use autokernel_codegen::attention::plan::Sizes;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::settings;
use case::{Lengths, Placed, Precise};

/// A declared kernel and its launch.
pub struct Declared<T: 'static> {
    /// The kernel.
    pub kernel: &'static autokernel::AnyKernel,
    /// Its launch on views.
    pub launch: Launch<T>,
    /// What its body makes of a sum of products; none where it has no body.
    pub score: Option<Score>,
}

/// What a body makes of a sum of products, given the scale, the head, and how far the key lies behind the query.
pub type Score = fn(product: f64, scale: f64, head: u32, distance: f64) -> f64;

/// A launch on a device, of queries, keys, values and the result.
pub type Launch<T> = fn(&Device, [HeadsView<'_, T>; 3], HeadsViewMut<'_, T>) -> Result<()>;

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

    fn check_one(&self, device: &Device, problem: &Problem, sizes: &Sizes, rng: &mut StdRng) {
        let &Sizes { batch, heads, groups, queries, keys } = sizes;
        let what = format!("{problem}, {sizes:?} on {device}");
        let amplitude = if rng.random_ratio(1, 4) { 30.0 } else { 1.0 };
        let mut q = Placed::<T>::random(rng, [batch, heads, queries, problem.head_dim], amplitude);
        let k = Placed::<T>::random(rng, [batch, groups, keys, problem.head_dim], 1.0);
        let v = Placed::<T>::random(rng, [batch, groups, keys, problem.value_dim], 1.0);
        if rng.random_ratio(1, 8) {
            q.poison_last();
        }
        let out = Placed::<T>::guarded(rng, [batch, heads, queries, problem.value_dim]);
        let mut first = None;
        for _ in 0..2 {
            let mut buffers = [&q, &k, &v, &out].map(|placed| placed.upload(device));
            let [of_q, of_k, of_v, of_out] = &mut buffers;
            let mut whole = of_out.view_mut();
            (self.launch)(device, [q.view(of_q), k.view(of_k), v.view(of_v)], out.view_mut(&mut whole))
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            let got = of_out.to_vec().unwrap_or_else(|error| panic!("{what}: {error}"));
            let bits: Vec<u16> = got.iter().map(|element| element.bits()).collect();
            assert_eq!(*first.get_or_insert_with(|| bits.clone()), bits, "{what}: another result the second time");
            out.expect_guards(&got, &what);
            self.compare(problem, sizes, [&q, &k, &v], |at| out.row(&got, at), &what);
        }
    }

    fn compare(
        &self,
        problem: &Problem,
        sizes: &Sizes,
        [q, k, v]: [&Placed<T>; 3],
        got: impl Fn([u32; 3]) -> Vec<f64>,
        what: &str,
    ) {
        let &Sizes { batch, heads, groups, queries, keys } = sizes;
        for batch in 0..batch {
            let rows = |placed: &Placed<T>, group| (0..keys).map(|key| placed.wide([batch, group, key])).collect();
            let of_groups: Vec<[Vec<Vec<f64>>; 2]> =
                (0..groups).map(|group| [rows(k, group), rows(v, group)]).collect();
            for head in 0..heads {
                let [k, v] = &of_groups[(head / (heads / groups)) as usize];
                for query in 0..queries {
                    let place = Place { query, queries, keys };
                    let at = [batch, head, query];
                    let (q, k, v) = (q.wide(at), |key: u32| &*k[key as usize], |key: u32| &*v[key as usize]);
                    let scored = |product, key| {
                        let distance = f64::from(key) - (f64::from(query) + f64::from(keys) - f64::from(queries));
                        self.score.map_or(0.0, |score| score(product, f64::from(problem.scale), head, distance))
                    };
                    let expected = match self.score {
                        None => oracle::expected(problem, place, &q, k, v),
                        Some(_) => oracle::scored(problem, place, &q, k, v, scored),
                    };
                    let got = got(at);
                    assert!(expected.is(&got), "{what}: {at:?} is {got:?}, not {:?}", expected.out);
                }
            }
        }
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
