//! One body on one device, on random shapes.

use autokernel::{Argument, Device, matmul};
use autokernel_codegen::problem::Problem;
use gpu_tests::host::Values;
use gpu_tests::operands::Told;
use gpu_tests::place::Place;
use gpu_tests::{bodies, rows, shapes};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::Body;

/// What was held against fp64.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checked {
    /// Launches, each of which was made twice.
    pub problems: usize,
    /// What was compared.
    pub told: Told,
}

impl Checked {
    /// Both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Checked { problems: self.problems + other.problems, told: self.told.and(other.told) }
    }
}

/// What inputs hold, in turn.
const VALUES: [Values; 3] = [Values::Uniform, Values::Special, Values::Integers];

/// Launches `body` on operands of `device`, for `cases` shapes.
///
/// # Errors
/// A report of the first element that is wrong, of a guard that was written, or of a launch that failed.
pub fn check(body: &Body, device: &Device, cases: u64) -> Result<Checked, String> {
    let problem = body.problem();
    let mut rng = StdRng::seed_from_u64(body.seed.wrapping_mul(7919));
    let mut checked = Checked::default();
    for case in 0..cases {
        let values = VALUES[case as usize % VALUES.len()];
        let seed = rng.random();
        let mut places = StdRng::seed_from_u64(seed);
        let place = |rows, columns| Place::random(&mut places, rows, columns);
        let launch = |arguments: &mut [Argument<'_>]| body.kernel.launch(device, arguments);
        let told = match &problem {
            Problem::Rows(problem) => {
                let (rows, columns) = (rng.random_range(1..=9), columns(&mut rng));
                rows::check_launch(device, problem, launch, (rows, columns), (values, seed), place)
            }
            Problem::Matmul(problem) => {
                // Sums over nothing come last, as they make all elements alike.
                let mut extent = |most: u32| rng.random_range(1..=most);
                let k = if case + 1 == cases { 0 } else { extent(100) };
                let shape = shapes::with_known(&matmul::extents(extent(90), extent(90), k), problem);
                bodies::check_launch(device, problem, (shape, values, seed), place, launch)
            }
            #[allow(unreachable_patterns, reason = "reachable with the operations behind features")]
            other => return Err(format!("{other} has no body")),
        };
        let told = told.map_err(|report| format!("on {device}, {values:?}: {report}\n{}", body.describe()))?;
        checked = checked.and(Checked { problems: 1, told });
    }
    Ok(checked)
}

/// Few or some hundred.
fn columns(rng: &mut StdRng) -> usize {
    let most = if rng.random() { 20 } else { 400 };
    rng.random_range(1..=most)
}
