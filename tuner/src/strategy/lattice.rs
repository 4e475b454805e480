//! The space as a lattice: each schedule a point, each knob an axis.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use autokernel_codegen::schedule::{Family, Mode, RasterOrder, Schedule};

/// An axis of the lattice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Knob {
    /// Rows of a tile.
    TileM,
    /// Columns of a tile.
    TileN,
    /// Elements of K in a stage.
    TileK,
    /// Who multiplies: consumers and their mode, or the layout of warps.
    Crew,
    /// Blocks that share loads.
    Cluster,
    /// Whether the tile is computed transposed.
    SwapAB,
    /// Blocks that share a sum.
    SplitK,
    /// Depth of the ring.
    Stages,
    /// Which way tiles are visited.
    RasterOrder,
    /// How many before the other way.
    RasterGroup,
}

impl Knob {
    /// Every axis.
    pub const ALL: [Knob; 10] = [
        Knob::TileM,
        Knob::TileN,
        Knob::TileK,
        Knob::Crew,
        Knob::Cluster,
        Knob::SwapAB,
        Knob::SplitK,
        Knob::Stages,
        Knob::RasterOrder,
        Knob::RasterGroup,
    ];

    /// Whether neighbouring values are more alike than others.
    pub fn is_ordered(self) -> bool {
        !matches!(self, Knob::Crew | Knob::Cluster | Knob::SwapAB | Knob::RasterOrder)
    }

    /// The value of this knob in `schedule`, as a number that orders or names it.
    fn value(self, schedule: &Schedule) -> u32 {
        let raster = schedule.raster();
        match (self, schedule) {
            (Knob::RasterOrder, _) => u32::from(raster.order == RasterOrder::AlongN),
            (Knob::RasterGroup, _) => raster.group,
            (Knob::TileM, Schedule::Sm80(s)) => s.tile_m,
            (Knob::TileM, Schedule::Sm90(s)) => s.tile_m,
            (Knob::TileN, Schedule::Sm80(s)) => s.tile_n,
            (Knob::TileN, Schedule::Sm90(s)) => s.tile_n,
            (Knob::TileK, Schedule::Sm80(s)) => s.tile_k,
            (Knob::TileK, Schedule::Sm90(_)) => 0,
            (Knob::Crew, Schedule::Sm80(s)) => 16 * s.warps_m + s.warps_n,
            (Knob::Crew, Schedule::Sm90(s)) => 2 * s.consumers + u32::from(s.mode == Mode::PingPong),
            (Knob::Cluster, Schedule::Sm80(_)) => 0,
            (Knob::Cluster, Schedule::Sm90(s)) => 16 * s.cluster_m + s.cluster_n,
            (Knob::SwapAB | Knob::SplitK, Schedule::Sm80(_)) => 0,
            (Knob::SwapAB, Schedule::Sm90(s)) => u32::from(s.swap_ab),
            (Knob::SplitK, Schedule::Sm90(s)) => s.split_k,
            (Knob::Stages, Schedule::Sm80(s)) => s.stages,
            (Knob::Stages, Schedule::Sm90(s)) => s.stages,
        }
    }
}

const AXES: usize = Knob::ALL.len();

/// A schedule's place: for each knob the index of its value among those that its family has in the space.
pub type Point = [u8; AXES];

/// The schedules of a space with their places.
#[derive(Clone, Debug)]
pub struct Lattice {
    schedules: Arc<[Schedule]>,
    points: Vec<Point>,
    index: HashMap<Schedule, usize>,
    at: HashMap<(Family, Point), usize>,
    /// `lengths[family][knob]`: how many values there are.
    lengths: HashMap<Family, Point>,
}

impl Lattice {
    /// The lattice of `schedules`.
    pub fn new(schedules: Arc<[Schedule]>) -> Self {
        let mut values: HashMap<Family, [BTreeSet<u32>; AXES]> = HashMap::new();
        for schedule in schedules.iter() {
            let axes = values.entry(schedule.family()).or_default();
            Knob::ALL.into_iter().zip(axes).for_each(|(knob, axis)| {
                axis.insert(knob.value(schedule));
            });
        }
        let axes: HashMap<Family, [Vec<u32>; AXES]> =
            values.into_iter().map(|(family, axes)| (family, axes.map(|axis| axis.into_iter().collect()))).collect();
        let place = |schedule: &Schedule| {
            let axes = &axes[&schedule.family()];
            Knob::ALL.map(|knob| axes[knob as usize].partition_point(|&other| other < knob.value(schedule)) as u8)
        };
        let points: Vec<Point> = schedules.iter().map(place).collect();
        let at = schedules.iter().zip(&points).enumerate();
        let at = at.map(|(index, (schedule, point))| ((schedule.family(), *point), index)).collect();
        let index = schedules.iter().enumerate().map(|(index, schedule)| (*schedule, index)).collect();
        let lengths = axes.into_iter().map(|(family, axes)| (family, axes.map(|axis| axis.len() as u8))).collect();
        Lattice { schedules, points, index, at, lengths }
    }

    /// How many schedules there are.
    pub fn len(&self) -> usize {
        self.schedules.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.schedules.is_empty()
    }

    /// The schedule at `index`.
    pub fn schedule(&self, index: usize) -> &Schedule {
        &self.schedules[index]
    }

    /// The index of `schedule`, if it is in the space.
    pub fn find(&self, schedule: &Schedule) -> Option<usize> {
        self.index.get(schedule).copied()
    }

    /// The place of the schedule at `index`.
    pub fn point(&self, index: usize) -> &Point {
        &self.points[index]
    }

    /// How many values `knob` has in the family of the schedule at `index`.
    pub fn length(&self, index: usize, knob: Knob) -> u8 {
        self.lengths[&self.schedules[index].family()][knob as usize]
    }

    /// The schedule closest to the one at `from` among those whose knobs have the values that `fixed` asks for.
    /// `None` if no schedule has them.
    ///
    /// The rules tie knobs together: a larger tile may leave room for fewer stages only. Rather than give such a move
    /// up, the other knobs follow, the least important first.
    pub fn nearest(&self, from: usize, fixed: &[(Knob, u8)]) -> Option<usize> {
        let (origin, family) = (&self.points[from], self.schedules[from].family());
        let mut exact = *origin;
        fixed.iter().for_each(|&(knob, value)| exact[knob as usize] = value);
        if let Some(&index) = self.at.get(&(family, exact)) {
            return Some(index);
        }
        let fits = |index: &usize| {
            let point = &self.points[*index];
            self.schedules[*index].family() == family
                && fixed.iter().all(|&(knob, value)| point[knob as usize] == value)
        };
        let cost = |index: &usize| follow_cost(origin, &self.points[*index], fixed);
        (0..self.len()).filter(fits).min_by_key(cost)
    }
}

/// How much the knobs that `fixed` does not name had to follow.
fn follow_cost(origin: &Point, point: &Point, fixed: &[(Knob, u8)]) -> u32 {
    let free = Knob::ALL.into_iter().filter(|knob| !fixed.iter().any(|(named, _)| named == knob));
    free.map(|knob| {
        let steps = u32::from(origin[knob as usize].abs_diff(point[knob as usize]));
        let steps = if knob.is_ordered() { steps } else { steps.min(1) };
        steps * reluctance(knob)
    })
    .sum()
}

/// How unwilling a knob is to follow a move of another one.
fn reluctance(knob: Knob) -> u32 {
    match knob {
        Knob::Stages => 1,
        Knob::Crew => 8,
        Knob::Cluster | Knob::SplitK => 16,
        Knob::SwapAB => 32,
        Knob::TileK => 16,
        Knob::TileM | Knob::TileN => 64,
        Knob::RasterOrder | Knob::RasterGroup => 256,
    }
}
