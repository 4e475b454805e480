//! What a launch does, as data.
//!
//! An operation's room writes a plan for each schedule; the build embeds it, prints CUDA's argument struct from it and
//! compiles; the runtime carries it out. Nothing else knows how a kernel is launched.

mod alignment;
mod arg;
mod grid;
mod workspace;

use serde::{Deserialize, Serialize};

pub use alignment::Alignment;
pub use arg::{Arg, Field, Layout, TileBox};
pub use grid::{Axis, Grid, Residency, Split};
pub use workspace::{Buffer, Contents, Each};

/// What a launch does, in order. Outputs without elements ask for no launch at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchPlan {
    /// What the kernels ask of where operands lie. An operand that is not so is replaced: an input by a copy in scratch
    /// memory that is, an output by scratch memory that is copied back behind the last step. One without elements is
    /// left alone.
    pub alignments: Vec<Alignment>,
    /// Device memory beside the operands, which launches share that follow one another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspace: Vec<Buffer>,
    /// The kernels, each ordered behind the one before it.
    pub kernels: Vec<KernelStep>,
}

/// One kernel of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelStep {
    /// Its name in the image.
    pub symbol: String,
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Whether every thread runs `griddepcontrol.wait` before it touches global memory, so that a launch may overlap
    /// the kernel before it (programmatic dependent launch).
    pub overlaps_previous: bool,
    /// Its blocks.
    pub grid: Grid,
    /// Its parameter, one struct by value: the fields in order, laid out as C does.
    pub args: Vec<Field>,
}

impl LaunchPlan {
    /// The plan of a single kernel without a workspace.
    pub fn of_kernel(kernel: KernelStep, alignments: Vec<Alignment>) -> Self {
        LaunchPlan { alignments, workspace: Vec::new(), kernels: vec![kernel] }
    }

    /// Sets the launch-time knob called `name` wherever it is an argument, and the grid where that follows it: a split of a tile is a
    /// cluster. Changing one compiles nothing.
    pub fn set_knob(&mut self, name: &str, value: i32) {
        for step in &mut self.kernels {
            let fields = step.args.iter().enumerate().filter(|(_, field)| field.name == name);
            let numbers: Vec<usize> = fields.map(|(number, _)| number).collect();
            for number in numbers {
                let Some(value) = step.knob(number, Some(value)) else { continue };
                step.args[number].arg = Arg::Knob { value };
                if step.grid.says_split(number) {
                    step.grid = step.grid.split_into(value.unsigned_abs());
                }
            }
        }
    }
}

impl KernelStep {
    /// What a launch passes as argument `number` that is a knob: what it was `given`, else what the plan has. As the grid has it, fewer
    /// blocks than one cannot share a tile: the kernel divides by them, and is told 1.
    pub fn knob(&self, number: usize, given: Option<i32>) -> Option<i32> {
        let Arg::Knob { value } = self.args.get(number)?.arg else { return None };
        let value = given.unwrap_or(value);
        Some(if self.grid.says_split(number) { value.max(1) } else { value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_share_a_tile_are_at_least_one_to_grid_and_kernel_alike_and_other_knobs_are_what_they_are() {
        let whole = Residency::Persistent { blocks_per_sm: 1 };
        let split = Some(Split { field: 1, whole });
        let grid = Grid { axes: Vec::new(), cluster: 1, tiles: 1, residency: whole, split };
        let field = |name: &str| Field { name: name.to_owned(), arg: Arg::Knob { value: 4 } };
        let args =
            vec![field("raster_group"), field("split_k"), Field { name: "m".to_owned(), arg: Arg::Extent { dim: 0 } }];
        let symbol = "product".to_owned();
        let step = KernelStep { symbol, threads: 128, shared_bytes: 0, overlaps_previous: false, grid, args };
        for (given, blocks) in [(i32::MIN, 1), (-3, 1), (0, 1), (1, 1), (7, 7)] {
            assert_eq!(step.knob(1, Some(given)), Some(blocks), "{given}");
            assert_eq!(step.knob(0, Some(given)), Some(given));
            let mut plan = LaunchPlan::of_kernel(step.clone(), Vec::new());
            plan.set_knob("split_k", given);
            let set = &plan.kernels[0];
            assert_eq!(set.args[1].arg, Arg::Knob { value: blocks }, "{given}");
            let residency = if blocks == 1 { whole } else { Residency::OneEach };
            assert_eq!((set.grid.cluster, set.grid.residency), (blocks as u32, residency), "{given}");
        }
        assert_eq!((step.knob(1, None), step.knob(2, Some(5)), step.knob(9, Some(5))), (Some(4), None, None));
    }
}
