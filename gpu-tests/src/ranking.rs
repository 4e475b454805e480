//! Which of several kernels for the same work is fastest.

use autokernel::Result;
use autokernel::timing::{Timer, Work};

const ROUNDS: usize = 6;
/// Of the fastest: slower kernels are out after a first look.
const NEAR: f64 = 1.2;

/// The kernels that are nearly as fast as the fastest, that one first, with the median of a launch of each in milliseconds.
/// They run in turn, so that all have the clocks of a GPU under load: which one leads after a rest need not lead there. Much
/// slower ones are left out of these rounds, in which they would be the rest.
///
/// # Errors
/// What `launch` returns, which is given the number of the launch; or the driver's own error.
pub fn under_load<'k, K>(
    timer: &mut Timer,
    launches: usize,
    kernels: &'k [K],
    launch: impl Fn(&K, usize) -> Result<()>,
) -> Result<Vec<(f64, &'k K)>> {
    let all: Vec<&K> = kernels.iter().collect();
    let looked = in_turn(timer, (1, launches), &all, &launch)?;
    let near = |ms: f64| ms <= looked[0].0 * NEAR;
    let near: Vec<&K> = looked.iter().filter(|(ms, _)| near(*ms)).map(|(_, kernel)| *kernel).collect();
    in_turn(timer, (ROUNDS, launches), &near, &launch)
}

/// All kernels, the fastest first, with the median of a launch of each in milliseconds: so many rounds of so many launches, in turn.
///
/// # Errors
/// As [`under_load`].
pub fn in_turn<'k, K>(
    timer: &mut Timer,
    (rounds, launches): (usize, usize),
    kernels: &[&'k K],
    launch: &impl Fn(&K, usize) -> Result<()>,
) -> Result<Vec<(f64, &'k K)>> {
    let mut runs: Vec<_> = kernels.iter().map(|&kernel| move |number: usize| launch(kernel, number)).collect();
    let mut work: Vec<Work<'_>> = runs.iter_mut().map(|run| run as Work<'_>).collect();
    let times = timer.interleave(rounds, launches, &mut work)?;
    let mut ranked = Vec::with_capacity(kernels.len());
    for (number, &kernel) in kernels.iter().enumerate() {
        ranked.push((times.timing(number)?.median_ms, kernel));
    }
    ranked.sort_by(|(left, _), (right, _)| left.total_cmp(right));
    Ok(ranked)
}
