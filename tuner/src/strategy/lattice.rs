//! The space as a lattice: each schedule a point, each knob of its family an axis. What sets axes apart is in the
//! family's table.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use autokernel_codegen::knob::{At, Kind, Knob};
use autokernel_codegen::schedule::{Family, Schedule};

/// An axis of the lattice: a knob, or several that are moved together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Their places in the family's table.
    knobs: Vec<usize>,
    /// Whether neighbouring values are more alike than others.
    pub is_ordered: bool,
    /// Whether another value makes a variant of a schedule rather than one of another look: so does what a launch sets.
    pub is_variant: bool,
    /// Axes whose effects depend on this one's.
    pub pairs: Vec<usize>,
    /// How unwilling it is to follow a move along another axis.
    reluctance: u32,
}

/// A schedule's place: for each axis of its family the index of its value among those in the space.
pub type Point = Vec<u16>;

/// The schedules of a space with their places.
#[derive(Clone, Debug)]
pub struct Lattice {
    frames: HashMap<Family, Frame>,
    schedules: Arc<[Schedule]>,
    points: Vec<Point>,
    index: HashMap<Schedule, usize>,
    at: HashMap<(Family, Point), usize>,
}

/// The axes of a family, and for each value that an axis has in the space the schedules there, in their order.
#[derive(Clone, Debug)]
struct Frame {
    axes: Vec<Axis>,
    holders: Vec<Vec<Vec<usize>>>,
}

impl Lattice {
    /// The lattice of `schedules`.
    pub fn new(schedules: Arc<[Schedule]>) -> Self {
        let families: BTreeSet<Family> = schedules.iter().map(|schedule| schedule.family()).collect();
        let mut points = vec![Point::new(); schedules.len()];
        let mut frames = HashMap::new();
        for family in families {
            let axes = axes(family);
            let of_family: Vec<usize> =
                (0..schedules.len()).filter(|index| schedules[*index].family() == family).collect();
            let mut holders = Vec::with_capacity(axes.len());
            for axis in &axes {
                let value = |index: usize| -> Vec<u16> {
                    axis.knobs.iter().map(|knob| schedules[index].codes()[*knob]).collect()
                };
                let values: BTreeSet<Vec<u16>> = of_family.iter().map(|index| value(*index)).collect();
                let places: HashMap<&Vec<u16>, u16> = values.iter().zip(0..).collect();
                let mut at_place = vec![Vec::new(); values.len()];
                for &index in &of_family {
                    let place = places[&value(index)];
                    points[index].push(place);
                    at_place[usize::from(place)].push(index);
                }
                holders.push(at_place);
            }
            frames.insert(family, Frame { axes, holders });
        }
        let at = schedules.iter().zip(&points).enumerate();
        let at = at.map(|(index, (schedule, point))| ((schedule.family(), point.clone()), index)).collect();
        let index = schedules.iter().enumerate().map(|(index, schedule)| (*schedule, index)).collect();
        Lattice { frames, schedules, points, index, at }
    }

    /// The axes along which the schedule at `index` can move.
    pub fn axes(&self, index: usize) -> &[Axis] {
        &self.frame(index).axes
    }

    /// The axes of the schedule at `index` and where its family's schedules are along them.
    fn frame(&self, index: usize) -> &Frame {
        &self.frames[&self.schedules[index].family()]
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
        self.frame(index).holders[axis].len() as u16
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
        let Frame { axes, holders } = self.frame(from);
        // The rarest value leaves the fewest schedules to look at.
        let with = |&(axis, value): &(usize, u16)| holders[axis].get(usize::from(value)).map_or(&[][..], Vec::as_slice);
        let candidates = fixed.iter().map(with).min_by_key(|candidates| candidates.len())?;
        let fits = |index: &&usize| fixed.iter().all(|&(axis, value)| self.points[**index][axis] == value);
        let is_free = |at: &usize| !fixed.iter().any(|(named, _)| named == at);
        let free: Vec<(usize, &Axis)> = (0..axes.len()).filter(is_free).map(|at| (at, &axes[at])).collect();
        let cost = |index: &&usize| follow_cost(&free, origin, &self.points[**index]);
        candidates.iter().filter(fits).min_by_key(cost).copied()
    }
}

/// How much the axes in `free`, each with its place, had to follow.
fn follow_cost(free: &[(usize, &Axis)], origin: &Point, point: &Point) -> u32 {
    let cost = |&(at, axis): &(usize, &Axis)| {
        let steps = u32::from(origin[at].abs_diff(point[at]));
        let steps = if axis.is_ordered { steps } else { steps.min(1) };
        steps * axis.reluctance
    };
    free.iter().map(cost).sum()
}

/// The axes of `family`, as its table describes them.
fn axes(family: Family) -> Vec<Axis> {
    let knobs = family.knobs();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, knob) in knobs.iter().enumerate() {
        let shared = knob.search.axis;
        let same = |group: &&mut Vec<usize>| shared.is_some() && knobs[group[0]].search.axis == shared;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    let axis_of = |name: &str| {
        let knob = family.knob(name)?;
        groups.iter().position(|group| group.contains(&knob))
    };
    let axis = |group: &Vec<usize>| {
        let members = || group.iter().map(|at| &knobs[*at]);
        let pairs: BTreeSet<usize> =
            members().flat_map(|knob: &Knob| knob.search.pairs).filter_map(|name| axis_of(name)).collect();
        Axis {
            knobs: group.clone(),
            is_ordered: group.len() == 1 && members().all(|knob| knob.kind == Kind::Number),
            is_variant: members().all(|knob| knob.search.is_variant || knob.at == At::Launch),
            pairs: pairs.into_iter().collect(),
            reluctance: members().map(|knob| knob.search.reluctance).max().unwrap_or(0),
        }
    };
    groups.iter().map(axis).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::moves;
    use crate::strategy::seeds;
    use crate::strategy::tests::brief;

    /// The axis of the knob called `name`, in the family of the brief's space.
    fn axis(name: &str) -> usize {
        let at = Family::Sm90.knob(name).unwrap();
        axes(Family::Sm90).iter().position(|axis| axis.knobs.contains(&at)).unwrap()
    }

    /// Schedules that differ in two knobs alone.
    fn grid() -> Lattice {
        let base = brief().space[0];
        let with = |swap, split| base.with("swap_ab", swap).unwrap().with("split_k", split).unwrap();
        let schedules: Vec<Schedule> =
            [0, 1].into_iter().flat_map(|swap| [1, 2, 4, 16].map(|split| with(swap, split))).collect();
        Lattice::new(schedules.into())
    }

    #[test]
    fn a_knob_is_an_axis_by_its_table_and_steps_lead_along_it() {
        let lattice = grid();
        let (split, swap) = (axis("split_k"), axis("swap_ab"));
        assert!(lattice.axes(0)[split].is_ordered && !lattice.axes(0)[swap].is_ordered);
        assert_eq!((lattice.length(0, split), lattice.length(0, swap)), (4, 2));
        assert_eq!(lattice.point(3)[split], 3, "by size, not by text");
        assert_eq!(lattice.nearest(0, &[(split, 2), (swap, 1)]), Some(6));
        let neighbours = moves::neighbours(&lattice, 0);
        assert!(neighbours.is_superset(&[1, 2, 4].into()), "{neighbours:?}");
        assert!(!neighbours.contains(&3), "three values away: {neighbours:?}");
    }

    #[test]
    fn knobs_that_act_together_are_moved_together_and_others_are_not() {
        let base = brief().space[0];
        let with = |changes: &[(&str, u16)]| {
            changes.iter().fold(base, |schedule, (knob, value)| schedule.with(knob, *value).unwrap())
        };
        let corners = |one: &'static str, other: &'static str| {
            let schedules: Vec<Schedule> = vec![base, with(&[(one, 250), (other, 250)])];
            moves::neighbours(&Lattice::new(schedules.into()), 0).contains(&1)
        };
        assert!(corners("tile_m", "tile_n"), "the far corner follows in any case");
        let stepped = |one: &'static str, other: &'static str| {
            let schedules = vec![base, with(&[(one, 250)]), with(&[(other, 250)]), with(&[(one, 250), (other, 250)])];
            moves::neighbours(&Lattice::new(schedules.into()), 0).contains(&3)
        };
        assert!(stepped("tile_m", "tile_n") && stepped("tile_n", "split_k"));
        assert!(!stepped("tile_m", "stages"));
    }

    #[test]
    fn every_schedule_has_a_place_of_its_own_and_is_nearest_to_itself() {
        let lattice = Lattice::new(brief().space);
        for index in 0..lattice.schedules().len() {
            let own: Vec<(usize, u16)> = lattice.point(index).iter().copied().enumerate().collect();
            assert_eq!(lattice.nearest(0, &own), Some(index));
        }
    }

    #[test]
    fn another_split_is_no_other_look_of_a_tile_and_another_tile_is() {
        let base = brief().space[0];
        let split = base.with("splits", 1).unwrap().with("split_k", 4).unwrap();
        let other = base.with("tile_n", 250).unwrap();
        let lattice = Lattice::new(vec![base, split, other].into());
        let look = |index| seeds::look(&lattice, index);
        assert_eq!(look(0), look(1));
        assert_ne!(look(0), look(2));
        assert_ne!(base.form(), split.form(), "which is timed apart for all that");
    }

    #[test]
    fn crews_and_clusters_move_as_one() {
        assert_eq!(axis("consumers"), axis("mode"));
        assert_eq!(axis("cluster_m"), axis("cluster_n"));
        assert_ne!(axis("tile_m"), axis("tile_n"));
    }

    #[test]
    fn every_knob_of_every_family_is_on_one_axis() {
        for family in Family::ALL {
            let mut knobs: Vec<usize> = axes(*family).into_iter().flat_map(|axis| axis.knobs).collect();
            knobs.sort_unstable();
            assert_eq!(knobs, (0..family.knobs().len()).collect::<Vec<_>>());
        }
    }
}
