//! Which schedule serves several sizes best.

use autokernel_codegen::schedule::Schedule;

use super::args::By;

/// How schedules fared at one size.
#[derive(Clone, Debug)]
pub struct AtSize {
    /// The schedules that have a time there, each with how many times as long as the fastest it takes.
    pub standing: Vec<(Schedule, f64)>,
    /// What a launch takes there today.
    pub in_use: Schedule,
}

/// What was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The schedule.
    pub schedule: Schedule,
    /// How many times as long as the fastest it takes, a size each.
    pub ratios: Vec<f64>,
    /// The same of what a launch takes today, which may be another schedule at each size; none where one has no time.
    pub in_use: Option<Vec<f64>>,
}

/// The one of `candidates` that has a time at every size and is nearest to the fastest; the first of equals. None where none has.
pub fn choose(candidates: &[Schedule], sizes: &[AtSize], by: By) -> Option<Choice> {
    let ratio = |size: &AtSize, schedule: Schedule| {
        size.standing.iter().find(|(standing, _)| *standing == schedule).map(|(_, ratio)| *ratio)
    };
    let ratios = |schedule: Schedule| sizes.iter().map(|size| ratio(size, schedule)).collect::<Option<Vec<f64>>>();
    let timed = candidates.iter().filter_map(|&schedule| Some((schedule, ratios(schedule)?)));
    let (schedule, chosen) = timed.min_by(|(_, a), (_, b)| by.judge(a).total_cmp(&by.judge(b)))?;
    let in_use = sizes.iter().map(|size| ratio(size, size.in_use)).collect();
    Some(Choice { schedule, ratios: chosen, in_use })
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::problem::{Layout, Problem};

    use super::*;

    fn schedule(group: u16) -> Schedule {
        let class = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap()).class();
        class.default_schedule(Arch::SM_90A).with("raster_group", group).unwrap()
    }

    fn at(ratios: &[(u16, f64)], in_use: u16) -> AtSize {
        let standing = ratios.iter().map(|(group, ratio)| (schedule(*group), *ratio)).collect();
        AtSize { standing, in_use: schedule(in_use) }
    }

    #[test]
    fn the_mean_takes_what_is_best_on_the_whole_and_the_worst_what_is_nowhere_far_behind() {
        // The first is best at one size and far behind at the other; the third is never best.
        let sizes = [at(&[(1, 1.0), (2, 1.5), (3, 1.19)], 2), at(&[(1, 1.3), (2, 1.0), (3, 1.2)], 1)];
        let all = [1, 2, 3].map(schedule);
        let mean = choose(&all, &sizes, By::Mean).unwrap();
        assert_eq!((mean.schedule, mean.ratios), (schedule(1), vec![1.0, 1.3]));
        let worst = choose(&all, &sizes, By::Worst).unwrap();
        assert_eq!((worst.schedule, worst.ratios), (schedule(3), vec![1.19, 1.2]));
        assert_eq!(worst.in_use, Some(vec![1.5, 1.3]), "another schedule at each size");
        assert_eq!(
            choose(&all[1..], &sizes, By::Mean).unwrap().schedule,
            schedule(3),
            "what is in use alone is not offered"
        );
    }

    #[test]
    fn what_failed_at_one_size_is_not_chosen_however_fast_it_is_at_the_others() {
        let sizes = [at(&[(1, 1.0), (2, 1.1)], 4), at(&[(2, 1.1)], 2)];
        let all = [1, 2].map(schedule);
        let choice = choose(&all, &sizes, By::Mean).unwrap();
        assert_eq!((choice.schedule, choice.in_use), (schedule(2), None));
        assert_eq!(choose(&all, &[at(&[(1, 1.0)], 1), at(&[(2, 1.0)], 1)], By::Mean), None);
        assert_eq!(choose(&[], &sizes, By::Mean), None);
    }
}
