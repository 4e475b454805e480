//! Which schedules a recording measures, and in which order.

use autokernel_codegen::schedule::Schedule;
use autokernel_codegen::schedule::space::Space;
use rand::SeedableRng;
use rand::seq::SliceRandom;

use super::super::compile::ImageGroup;
use crate::knobs::of_variant;

/// Any number: the sample must only be the same each time.
const SAMPLE_SEED: u64 = 1;

/// The images of a space, sampled and shuffled the same way each time: what a recording that is cut short has
/// measured is then a fair sample. `order` other than 0 shuffles the sample once more. Those of `shipped` are in it whatever was
/// drawn, so that a replay knows what is in use.
pub fn images(space: &Space, most: Option<usize>, order: u64, shipped: &[Schedule]) -> Vec<ImageGroup> {
    let mut groups = ImageGroup::of(space.schedules());
    groups.shuffle(&mut rand_pcg::Pcg64::seed_from_u64(SAMPLE_SEED));
    let sampled = most.unwrap_or(usize::MAX).min(groups.len());
    let left_out = groups.split_off(sampled);
    let is_shipped = |group: &ImageGroup| group.schedules.iter().any(|schedule| shipped.contains(schedule));
    groups.extend(left_out.into_iter().filter(is_shipped));
    if order > 0 {
        groups.shuffle(&mut rand_pcg::Pcg64::seed_from_u64(order));
    }
    groups
}

/// The schedules of the first pass: all of them, or each form of an image with the variant of `probe`.
pub fn first_pass(groups: &[ImageGroup], probe: Option<Schedule>) -> Vec<Schedule> {
    let wanted = |schedule: &Schedule| probe.is_none_or(|probe| of_variant(&probe).eq(of_variant(schedule)));
    groups.iter().flat_map(|group| &group.schedules).copied().filter(wanted).collect()
}

/// The schedules of the second pass: all launch-time knobs of the `top` images whose probe was fastest.
pub fn second_pass(groups: &[ImageGroup], top: usize, median_ms: impl Fn(&Schedule) -> Option<f64>) -> Vec<Schedule> {
    let probe = |group: &ImageGroup| group.schedules.iter().filter_map(&median_ms).min_by(f64::total_cmp);
    let mut timed: Vec<(f64, &ImageGroup)> = groups.iter().filter_map(|group| Some((probe(group)?, group))).collect();
    timed.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    timed.into_iter().take(top).flat_map(|(_, group)| &group.schedules).copied().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::problem::{Layout, Problem, ProblemClass};
    use autokernel_codegen::schedule::Family;

    use super::*;

    fn class() -> ProblemClass {
        Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap()).class()
    }

    fn space() -> Space {
        Space::new(Family::Sm90, &class(), Arch::SM_90A)
    }

    #[test]
    fn a_sample_is_the_same_each_time_and_the_beginning_of_the_whole() {
        let space = space();
        assert_eq!(images(&space, Some(24), 0, &[]), images(&space, None, 0, &[])[..24]);
        assert_eq!(first_pass(&images(&space, None, 7, &[]), None).len(), space.schedules().len());
    }

    #[test]
    fn what_ships_is_in_every_sample_once() {
        let (space, shipped) = (space(), [class().default_schedule(Arch::SM_90A)]);
        let has = |groups: &[ImageGroup]| groups.iter().filter(|group| group.schedules.contains(&shipped[0])).count();
        assert_eq!(has(&images(&space, Some(1), 0, &shipped)), 1);
        assert_eq!(has(&images(&space, None, 0, &shipped)), 1);
    }

    #[test]
    fn thinned_rasters_are_measured_for_the_fastest_images_alone() {
        let groups = images(&space(), Some(10), 0, &[]);
        let default = class().default_schedule(Arch::SM_90A);
        let probes = first_pass(&groups, Some(default));
        let forms: HashSet<Schedule> =
            groups.iter().flat_map(|group| &group.schedules).map(|schedule| schedule.form()).collect();
        assert_eq!((probes.len(), groups.len()), (forms.len(), 10));
        let fastest = probes[3];
        let second = second_pass(&groups, 1, |schedule| {
            let probe = probes.iter().position(|probe| probe == schedule)?;
            Some(if *schedule == fastest { 1.0 } else { 2.0 + probe as f64 })
        });
        let group = groups.iter().find(|group| group.schedules.contains(&fastest)).unwrap();
        assert_eq!(second, group.schedules);
    }
}
