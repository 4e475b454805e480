//! What a launch does, as data.
//!
//! An operation's room writes a plan for each schedule; the build embeds it, prints CUDA's argument struct from it and
//! compiles; the runtime carries it out. Nothing else knows how a kernel is launched.

mod arg;
mod grid;
mod workspace;

use serde::{Deserialize, Serialize};

pub use arg::{Arg, Field, Layout, TileBox};
pub use grid::{Axis, Grid, Residency, Split};
pub use workspace::{Buffer, Contents};

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

/// What a kernel asks of where an operand lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alignment {
    /// The operand's number in the signature.
    pub operand: u8,
    /// Of what every address below is a multiple, in bytes.
    pub bytes: u32,
    /// Whether each row must begin so, or the first one alone.
    pub rows: bool,
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
        for KernelStep { args, grid, .. } in &mut self.kernels {
            for (number, field) in args.iter_mut().enumerate() {
                if let Arg::Knob { value: current, .. } = &mut field.arg
                    && field.name == name
                {
                    *current = value;
                    if grid.split.is_some_and(|split| usize::from(split.field) == number) {
                        *grid = grid.split_into(u32::try_from(value).unwrap_or(1));
                    }
                }
            }
        }
    }
}
