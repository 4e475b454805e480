//! What a launch chooses, beside what it might have.

use autokernel_codegen::matmul::sizes;
use autokernel_codegen::problem::Layout;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::{Extents, Ms};

/// What a launch chooses at one shape.
#[derive(Clone, Debug)]
pub struct Choice {
    /// M, N and K.
    pub extents: Extents,
    /// How the weight lies.
    pub layout: Layout,
    /// The image, with the knobs that the launch sets.
    pub schedule: Schedule,
    /// The least time of it over the rasters that were recorded, in milliseconds.
    pub ms: f64,
    /// The time with the launch's own raster, where that was recorded.
    pub with_its_raster_ms: Option<f64>,
    /// The predicted one.
    pub predicted_ms: f64,
    /// The least of any image of the portfolio.
    pub of_portfolio_ms: f64,
    /// Forms of its images that were recorded there, among which the launch chooses.
    pub forms: usize,
    /// The least of all that was recorded, and whose it is.
    pub best: (Schedule, f64),
    /// What it does, in numbers.
    pub facts: Facts,
}

/// What explains a time.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Blocks that share the sum of a tile.
    pub split_k: u32,
    /// Tiles over those that are under way at once.
    pub waves: f64,
    /// Of the rows and columns of its tiles, the share that lies past an edge.
    pub padding: f64,
    /// Stages that a block multiplies for a tile.
    pub stages: u32,
    /// Of its time, the share that the datasheet's memory takes to move each operand once.
    pub memory: f64,
}

impl Choice {
    /// Its time over the best of the portfolio.
    pub fn over_portfolio(&self) -> f64 {
        self.ms / self.of_portfolio_ms
    }

    /// The best time of the portfolio over the best that was recorded: what no choice can mend.
    pub fn left(&self) -> f64 {
        self.of_portfolio_ms / self.best.1
    }

    /// Its time over the best that was recorded.
    pub fn over_best(&self) -> f64 {
        self.ms / self.best.1
    }

    /// M, the rows of the result.
    pub fn rows(&self) -> u32 {
        sizes(&self.extents)[0]
    }

    /// What it loses, and what explains that, in a line.
    pub fn words(&self) -> String {
        let Facts { waves, padding, stages, memory, .. } = self.facts;
        let (best, best_ms) = &self.best;
        format!(
            "  {} {}: {:.1} %: {} {}, predicted {}; {waves:.2} waves, {:.0} % padding, {stages} stages, memory {:.0} %; best {best} {}",
            self.extents,
            self.layout,
            100.0 * (self.over_best() - 1.0),
            self.schedule,
            Ms(self.ms),
            Ms(self.predicted_ms),
            100.0 * padding,
            100.0 * memory,
            Ms(*best_ms),
        )
    }
}
