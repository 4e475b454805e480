//! Values of knobs that are set at launch, in the place of a plan's own.

use autokernel_core::{Arg, LaunchPlan};

/// Knobs that a choice may set: as many as a family has.
const MOST: usize = 4;

/// Values of knobs that are set at launch, by their fields in a plan's first kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Knobs {
    values: [(u8, i32); MOST],
    count: u8,
}

impl Knobs {
    /// The plan's own values.
    pub const NONE: Knobs = Knobs { values: [(0, 0); MOST], count: 0 };

    /// Those of `values` that `plan` has an argument for; none where there are more than a choice may set.
    pub fn new<'v>(plan: &LaunchPlan, values: impl Iterator<Item = (&'v str, i32)>) -> Option<Self> {
        let Some(kernel) = plan.kernels.first() else { return Some(Knobs::NONE) };
        let mut knobs = Knobs::NONE;
        for (name, value) in values {
            let is_knob = |field: &autokernel_core::Field| field.name == name && matches!(field.arg, Arg::Knob { .. });
            let Some(field) = kernel.args.iter().position(is_knob) else { continue };
            let Some(value) = kernel.knob(field, Some(value)) else { continue };
            *knobs.values.get_mut(usize::from(knobs.count))? = (u8::try_from(field).ok()?, value);
            knobs.count += 1;
        }
        Some(knobs)
    }

    /// The value for field number `field`, where it is set.
    pub fn value(&self, field: usize) -> Option<i32> {
        let set = &self.values[..usize::from(self.count)];
        set.iter().find(|(number, _)| usize::from(*number) == field).map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use autokernel_core::plan::Split;
    use autokernel_core::{Field, Grid, KernelStep, Residency};

    use super::*;

    fn plan() -> LaunchPlan {
        let field = |name: &str, arg| Field { name: name.to_owned(), arg };
        let knob = || Arg::Knob { value: 8 };
        LaunchPlan::of_kernel(
            KernelStep {
                symbol: "kernel".to_owned(),
                threads: 128,
                shared_bytes: 0,
                overlaps_previous: false,
                grid: Grid { axes: Vec::new(), cluster: 1, tiles: 1, residency: Residency::OneEach, split: None },
                args: vec![
                    field("c", Arg::Pointer { operand: 2 }),
                    field("raster_order", knob()),
                    field("raster_group", knob()),
                ],
            },
            Vec::new(),
        )
    }

    #[test]
    fn a_knob_is_set_where_its_argument_lies_and_one_without_an_argument_is_left_out() {
        let knobs = Knobs::new(&plan(), [("raster_group", 2), ("absent", 7)].into_iter()).unwrap();
        assert_eq!((knobs.value(0), knobs.value(1), knobs.value(2)), (None, None, Some(2)));
        assert_eq!(Knobs::NONE.value(2), None);
    }

    #[test]
    fn a_kernel_is_told_of_as_many_blocks_that_share_a_tile_as_its_grid_has() {
        let mut plan = plan();
        plan.kernels[0].grid.split = Some(Split { field: 2, whole: Residency::OneEach });
        for (value, told) in [(i32::MIN, 1), (0, 1), (1, 1), (5, 5)] {
            let knobs = [("raster_order", value), ("raster_group", value)];
            let knobs = Knobs::new(&plan, knobs.into_iter()).unwrap();
            assert_eq!((knobs.value(1), knobs.value(2)), (Some(value), Some(told)), "any other knob is what it is");
        }
    }

    #[test]
    fn more_knobs_than_a_choice_may_set_are_no_choice() {
        let many = std::iter::repeat_n(("raster_group", 1), MOST + 1);
        assert_eq!(Knobs::new(&plan(), many), None);
    }
}
