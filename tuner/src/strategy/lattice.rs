//! The space as a lattice: each schedule a point, each knob an axis.
//!
//! The knobs are the leaves of a schedule's JSON. What is said of some by name only makes steps better; a new knob is an
//! axis without a line here.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use autokernel_codegen::schedule::{Family, Schedule};
use serde_json::Value;

use crate::columns::Columns;

/// Knobs that mean little alone, and are one axis therefore: who multiplies, and which blocks share loads.
const TOGETHER: [&[&str]; 3] = [&["consumers", "mode"], &["warps_m", "warps_n"], &["cluster_m", "cluster_n"]];

/// An axis of the lattice: a knob, or several that are moved together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Their paths in the JSON of a schedule: `tile_m`, `raster.group`.
    pub knobs: Vec<String>,
    /// Whether neighbouring values are more alike than others.
    pub is_ordered: bool,
    /// How unwilling it is to follow a move along another axis.
    reluctance: u32,
}

/// A schedule's place: for each axis the index of its value among those that its family has in the space.
pub type Point = Vec<u16>;

/// The schedules of a space with their places.
#[derive(Clone, Debug)]
pub struct Lattice {
    axes: Vec<Axis>,
    schedules: Arc<[Schedule]>,
    points: Vec<Point>,
    index: HashMap<Schedule, usize>,
    at: HashMap<(Family, Point), usize>,
    /// `lengths[family][axis]`: how many values there are.
    lengths: HashMap<Family, Vec<u16>>,
}

impl Lattice {
    /// The lattice of `schedules`, whose JSON `columns` holds.
    pub fn of(columns: &Columns, schedules: Arc<[Schedule]>) -> Self {
        let axes = axes(columns);
        let mut points = vec![Point::with_capacity(axes.len()); schedules.len()];
        let mut lengths: HashMap<Family, Vec<u16>> = HashMap::new();
        for axis in &axes {
            for (family, values) in values(axis, columns, &schedules) {
                values.iter().enumerate().for_each(|(code, (_, of))| {
                    of.iter().for_each(|&index| points[index].push(code as u16));
                });
                lengths.entry(family).or_default().push(values.len() as u16);
            }
        }
        let at = schedules.iter().zip(&points).enumerate();
        let at = at.map(|(index, (schedule, point))| ((schedule.family(), point.clone()), index)).collect();
        let index = schedules.iter().enumerate().map(|(index, schedule)| (*schedule, index)).collect();
        Lattice { axes, schedules, points, index, at, lengths }
    }

    /// How many schedules there are.
    pub fn len(&self) -> usize {
        self.schedules.len()
    }

    /// Every axis.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The axis of `knob`, if the space has it.
    pub fn axis(&self, knob: &str) -> Option<usize> {
        self.axes.iter().position(|axis| axis.knobs.iter().any(|path| path == knob))
    }

    /// The schedules, by index.
    pub fn schedules(&self) -> &[Schedule] {
        &self.schedules
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

    /// How many values `axis` has in the family of the schedule at `index`.
    pub fn length(&self, index: usize, axis: usize) -> u16 {
        self.lengths[&self.schedules[index].family()][axis]
    }

    /// The schedule closest to the one at `from` among those that have the values that `fixed` asks for, as axis and
    /// value. `None` if no schedule has them.
    ///
    /// The rules tie knobs together: a larger tile may leave room for fewer stages only. Rather than give such a move
    /// up, the other knobs follow, the least important first.
    pub fn nearest(&self, from: usize, fixed: &[(usize, u16)]) -> Option<usize> {
        let (origin, family) = (&self.points[from], self.schedules[from].family());
        let mut exact = origin.clone();
        fixed.iter().for_each(|&(axis, value)| exact[axis] = value);
        if let Some(&index) = self.at.get(&(family, exact)) {
            return Some(index);
        }
        let fits = |index: &usize| {
            let point = &self.points[*index];
            self.schedules[*index].family() == family && fixed.iter().all(|&(axis, value)| point[axis] == value)
        };
        let cost = |index: &usize| self.follow_cost(origin, &self.points[*index], fixed);
        (0..self.len()).filter(fits).min_by_key(cost)
    }

    /// How much the axes that `fixed` does not name had to follow.
    fn follow_cost(&self, origin: &Point, point: &Point, fixed: &[(usize, u16)]) -> u32 {
        let free = self.axes.iter().enumerate().filter(|(at, _)| !fixed.iter().any(|(named, _)| named == at));
        free.map(|(at, axis)| {
            let steps = u32::from(origin[at].abs_diff(point[at]));
            let steps = if axis.is_ordered { steps } else { steps.min(1) };
            steps * axis.reluctance
        })
        .sum()
    }
}

fn axes(columns: &Columns) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    for (knob, values) in columns {
        let together = TOGETHER.iter().find(|group| group.contains(&knob.as_str()));
        let joined = together.and_then(|group| axes.iter_mut().find(|axis| group.contains(&axis.knobs[0].as_str())));
        match joined {
            Some(axis) => axis.knobs.push(knob.clone()),
            None => axes.push(Axis {
                knobs: vec![knob.clone()],
                is_ordered: together.is_none() && values.iter().all(|value| value.is_number() || value.is_null()),
                reluctance: reluctance(knob),
            }),
        }
    }
    axes
}

/// How unwilling a knob is to follow a move of another one.
fn reluctance(knob: &str) -> u32 {
    match knob {
        "stages" => 1,
        "consumers" | "mode" | "warps_m" | "warps_n" => 8,
        "swap_ab" => 32,
        "tile_m" | "tile_n" => 64,
        knob if knob.starts_with("raster.") => 256,
        _ => 16,
    }
}

/// The values of an axis in order, each with the schedules that have it.
type Values = Vec<(Value, Vec<usize>)>;

fn values(axis: &Axis, columns: &Columns, schedules: &[Schedule]) -> HashMap<Family, Values> {
    let value = |index: usize| match axis.knobs.as_slice() {
        [knob] => columns[knob][index].clone(),
        knobs => knobs.iter().map(|knob| columns[knob][index].clone()).collect(),
    };
    let mut families: HashMap<Family, BTreeMap<String, (Value, Vec<usize>)>> = HashMap::new();
    for (index, schedule) in schedules.iter().enumerate() {
        let value = value(index);
        let same = families.entry(schedule.family()).or_default().entry(value.to_string());
        same.or_insert_with(|| (value, Vec::new())).1.push(index);
    }
    let in_order = |values: BTreeMap<String, (Value, Vec<usize>)>| {
        let mut values: Values = values.into_values().collect();
        // Stable, so that words stay in the order of their text.
        values.sort_by(|(a, _), (b, _)| a.as_f64().unwrap_or(-1.0).total_cmp(&b.as_f64().unwrap_or(-1.0)));
        values
    };
    families.into_iter().map(|(family, values)| (family, in_order(values))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::columns;
    use crate::strategy::brief::Brief;
    use crate::strategy::moves;
    use crate::strategy::tests::brief;

    /// The lattice of one schedule with four stand-ins for knobs of tomorrow.
    fn of_tomorrow() -> Lattice {
        let schedules: Arc<[Schedule]> = vec![brief().space[0]; 8].into();
        let mut columns = columns::from_schedules(schedules.iter());
        let twice = |values: [Value; 4]| [values.clone(), values].concat();
        columns.insert("split_k".to_owned(), twice([json!(1), json!(2), json!(4), json!(16)]));
        columns.insert("swap_ab".to_owned(), (0..8).map(|index| json!(index >= 4)).collect());
        Lattice::of(&columns, schedules)
    }

    fn of_space(brief: &Brief) -> Lattice {
        Lattice::of(&columns::from_schedules(brief.space.iter()), brief.space.clone())
    }

    #[test]
    fn a_knob_that_the_code_does_not_know_is_an_axis_and_steps_lead_along_it() {
        let lattice = of_tomorrow();
        let (split, swap) = (lattice.axis("split_k").unwrap(), lattice.axis("swap_ab").unwrap());
        assert!(lattice.axes()[split].is_ordered && !lattice.axes()[swap].is_ordered);
        assert_eq!((lattice.length(0, split), lattice.length(0, swap)), (4, 2));
        assert_eq!(lattice.point(3)[split], 3, "by size, not by text");
        assert_eq!(lattice.nearest(0, &[(split, 2), (swap, 1)]), Some(6));
        let neighbours = moves::neighbours(&lattice, 0);
        assert!(neighbours.is_superset(&[1, 2, 4].into()), "{neighbours:?}");
        assert!(!neighbours.contains(&3), "three values away: {neighbours:?}");
    }

    #[test]
    fn every_schedule_has_a_place_of_its_own_and_is_nearest_to_itself() {
        let brief = brief();
        let lattice = of_space(&brief);
        for index in 0..lattice.len() {
            let own: Vec<(usize, u16)> = lattice.point(index).iter().copied().enumerate().collect();
            assert_eq!(lattice.nearest(0, &own), Some(index));
        }
    }

    #[test]
    fn crews_and_clusters_move_as_one() {
        let brief = brief();
        let lattice = of_space(&brief);
        assert_eq!(lattice.axis("consumers"), lattice.axis("mode"));
        assert_eq!(lattice.axis("cluster_m"), lattice.axis("cluster_n"));
        assert_eq!(lattice.axis("nothing of the kind"), None);
    }
}
