//! Routings as a user declares them, held against a sort by the host.

use autokernel::{AnyKernel, Column, Device, Index, Matrix, Number, Result, Routes, bf16, f16};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// As many experts as a warp has lanes, twice.
#[autokernel::routing(experts = 64, top_k = 6)]
pub fn six_of_64(scores: &Matrix<f32>, routes: &mut Routes);

/// Few, of 16 bits, with shares among all.
#[autokernel::routing(experts = 8, top_k = 2, over_all)]
pub fn two_of_8(scores: &Matrix<bf16>, routes: &mut Routes);

/// So many that lanes hold several, the last of them too many.
#[autokernel::routing(experts = 200, top_k = 9)]
pub fn nine_of_200(scores: &Matrix<f16>, routes: &mut Routes);

/// All there are.
#[autokernel::routing(experts = 3, top_k = 3)]
pub fn all_of_3(scores: &Matrix<f32>, routes: &mut Routes);

/// What three experts made of a token, weighted, beside the token itself.
#[autokernel::rows]
pub fn brought_back(
    x: &Matrix<f32>,
    made: &Matrix<bf16>,
    row0: &Index,
    weight0: &Column<f32>,
    row1: &Index,
    weight1: &Column<f32>,
    row2: &Index,
    weight2: &Column<f32>,
    out: &mut Matrix<f32>,
) {
    out = x + weight0 * made[row0] + weight1 * made[row1] + weight2 * made[row2];
}

/// A routing, as every test takes it.
pub struct Declared {
    /// Its function's name.
    pub name: &'static str,
    /// What launches it.
    pub kernel: &'static AnyKernel,
    /// Holds it on a device, of so many tokens whose scores are drawn by a seed.
    pub check: fn(&Device, usize, u64) -> std::result::Result<(), String>,
}

/// The routings above.
pub fn catalogue() -> [Declared; 4] {
    macro_rules! declared {
        ($name:ident, $over_all:literal) => {
            Declared {
                name: stringify!($name),
                kernel: &$name::KERNEL,
                check: |device, tokens, seed| {
                    let routes = $name::routes(device, tokens).map_err(|error| error.to_string())?;
                    check(device, routes, $over_all, seed, |scores, routes| $name::launch_on(device, scores, routes))
                },
            }
        };
    }
    [declared!(six_of_64, false), declared!(two_of_8, true), declared!(nine_of_200, false), declared!(all_of_3, false)]
}

/// Scores of which some are alike, and a few are no numbers or infinite.
fn scores<T: Number>(rng: &mut StdRng, count: usize) -> Vec<T> {
    let score = |_| match rng.random_range(0..40) {
        0 => f32::NAN,
        1 => f32::NEG_INFINITY,
        2 => -0.0,
        3..=12 => f32::from(rng.random_range(-2i8..=2)),
        _ => rng.random_range(-4.0f32..4.0),
    };
    (0..count).map(score).map(T::from_f32).collect()
}

fn check<T: Number>(
    device: &Device,
    mut routes: Routes,
    over_all: bool,
    seed: u64,
    launch: impl Fn(&Matrix<T>, &mut Routes) -> Result<()>,
) -> std::result::Result<(), String> {
    let failed = |error: autokernel::Error| error.to_string();
    let (tokens, experts) = (routes.len(), routes.experts());
    let mut rng = StdRng::seed_from_u64(seed);
    let ld = experts + rng.random_range(0..3);
    let scores: Vec<T> = scores(&mut rng, tokens * ld);
    let given = Matrix::from_slice_with_ld(device, &scores, tokens, experts, ld).map_err(failed)?;
    let told = Told::by_the_host(&scores, ld, &routes, over_all);
    for _ in 0..2 {
        launch(&given, &mut routes).map_err(failed)?;
        told.compare(&Told::of(&routes).map_err(failed)?)?;
    }
    Ok(())
}

/// What routes say, on the host.
struct Told {
    offsets: Vec<i32>,
    tokens: Vec<i32>,
    /// Of each choice, those of all tokens.
    rows: Vec<Vec<i32>>,
    weights: Vec<Vec<f32>>,
}

impl Told {
    fn of(routes: &Routes) -> Result<Told> {
        let choices = || 0..routes.top_k();
        Ok(Told {
            offsets: routes.offsets().to_vec()?,
            tokens: routes.tokens().to_vec()?,
            rows: choices().map(|choice| routes.rows(choice)?.to_vec()).collect::<Result<_>>()?,
            weights: choices().map(|choice| routes.weights(choice)?.to_vec()).collect::<Result<_>>()?,
        })
    }

    /// By selection, and in fp64: nothing that kernels do.
    fn by_the_host<T: Number>(scores: &[T], ld: usize, routes: &Routes, over_all: bool) -> Told {
        let (count, experts, choices) = (routes.len(), routes.experts(), routes.top_k());
        let score = |token: usize, expert: usize| f64::from(scores[token * ld + expert].to_f32());
        let rank = |score: f64| if score.is_nan() { f64::NEG_INFINITY.next_down() } else { score };
        let mut weights = vec![vec![0.0; count]; choices];
        let mut chosen = vec![Vec::new(); count];
        for (token, chosen) in chosen.iter_mut().enumerate() {
            let is_nan = |expert: usize| score(token, expert).is_nan();
            for _ in 0..choices {
                let left = (0..experts).filter(|expert| !chosen.contains(expert));
                let best = left.reduce(|best, expert| {
                    let is_greater = rank(score(token, expert)) > rank(score(token, best));
                    if is_greater || (is_nan(best) && !is_nan(expert)) { expert } else { best }
                });
                chosen.extend(best);
            }
            let share = |expert: usize| (score(token, expert) - score(token, chosen[0])).exp();
            let among: Vec<usize> = if over_all { (0..experts).collect() } else { chosen.clone() };
            let sum: f64 = among.into_iter().map(share).sum();
            chosen.iter().zip(&mut weights).for_each(|(&expert, of)| of[token] = (share(expert) / sum) as f32);
        }
        let (mut offsets, mut tokens, mut rows) = (vec![0], Vec::new(), vec![vec![0; count]; choices]);
        for expert in 0..experts {
            for (token, chosen) in chosen.iter().enumerate() {
                if let Some(choice) = chosen.iter().position(|&of| of == expert) {
                    rows[choice][token] = tokens.len() as i32;
                    tokens.push(token as i32);
                }
            }
            offsets.push(tokens.len() as i32);
        }
        Told { offsets, tokens, rows, weights }
    }

    fn compare(&self, got: &Told) -> std::result::Result<(), String> {
        let (expected, indices) = ((&self.offsets, &self.tokens, &self.rows), (&got.offsets, &got.tokens, &got.rows));
        if expected != indices {
            return Err(format!("offsets, tokens and rows are {indices:?}, not {expected:?}"));
        }
        let is_near =
            |(expected, got): (&f32, &f32)| (expected - got).abs() < 1e-6 || expected.is_nan() && got.is_nan();
        match self.weights.iter().flatten().zip(got.weights.iter().flatten()).find(|pair| !is_near(*pair)) {
            Some((expected, got)) => Err(format!("a weight is {got}, not {expected}")),
            None => Ok(()),
        }
    }
}
