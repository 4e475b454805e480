//! What random draws reach on a recording, exactly: the yardstick of every search.

use statrs::function::factorial::ln_binomial;

use super::recording::RecordedShape;

impl RecordedShape {
    /// The median over all ways to draw `draws` distinct schedules of the best time among them, in milliseconds.
    /// `None` if that many draws mostly meet failures only.
    ///
    /// With the N schedules in order of time, the best of n draws is worse than the r-th with probability
    /// C(N − r, n) / C(N, n); the median is the first r at which this falls to a half.
    pub fn median_of_best_at_random(&self, draws: usize) -> Option<f64> {
        let mut times: Vec<f64> = self.rows.iter().filter_map(|(_, outcome)| outcome.median_ms()).collect();
        times.sort_by(f64::total_cmp);
        let (all, draws) = (self.rows.len() as u64, draws.min(self.rows.len()) as u64);
        let worse = |rank: u64| (ln_binomial(all - rank, draws) - ln_binomial(all, draws)).exp();
        let rank = (1..=times.len() as u64).find(|&rank| all - rank < draws || worse(rank) <= 0.5)?;
        (draws > 0).then(|| times[rank as usize - 1])
    }
}
