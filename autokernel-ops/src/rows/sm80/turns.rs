//! How the blocks of a launch lie on a GPU: how many teams are under way at once, in how many turns they take all rows, and how
//! much of the work the busiest SM has.

use super::schedule::Sm80Schedule;

/// Groups of SMs in which the blocks of a cluster stay together. A group has an even number of SMs, which differs from one to the next, so that
/// a cluster of more blocks than two SMs hold leaves half of what it needs beyond those without a block, in the mean.
const GROUPS: u32 = 8;
/// Turns up to which blocks that leave end together, as they began.
const TOGETHER: f64 = 4.0;

/// Teams, each of which takes the rows of one block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turns {
    /// Teams that are under way at once.
    pub at_once: f64,
    /// Rows of a team one after the other.
    pub count: f64,
    /// The share of the work that the busiest SM has.
    pub busiest: f64,
}

impl Turns {
    /// Those of `teams` by a schedule of which an SM holds so many blocks.
    pub fn new(schedule: &Sm80Schedule, teams: u32, blocks: u32, sms: u32) -> Self {
        let cluster = schedule.cluster.max(1);
        let stays = schedule.blocks_per_sm > 0;
        let [at_once, alone] = [blocks, 1].map(|blocks| clusters(cluster, blocks, sms));
        let together = |limit: f64, teams: f64, at_once: f64| {
            let (mean, most) = (teams / at_once, (teams / at_once).ceil());
            // Blocks that stay have equal shares, and of those that leave the last begin one by one.
            if stays { most } else { mean + (most - mean) * (limit / most).min(1.0) }
        };
        let teams = f64::from(teams.max(1));
        let of_sm = together(f64::from(blocks), teams, alone);
        Turns {
            at_once: at_once.min(teams),
            count: together(TOGETHER, teams, at_once),
            busiest: (of_sm / (teams * f64::from(cluster))).max(1.0 / f64::from(sms)),
        }
    }
}

/// Clusters that a GPU holds.
fn clusters(cluster: u32, blocks: u32, sms: u32) -> f64 {
    let left = if cluster > 1 { GROUPS * cluster.saturating_sub(2 * blocks) / 2 } else { 0 };
    f64::from(((sms * blocks).saturating_sub(left) / cluster).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Keep;

    /// As an H200 was found to hold, of 132 SMs.
    #[test]
    fn clusters_of_four_and_eight_leave_sms_without_a_block_unless_an_sm_holds_several() {
        for (cluster, blocks, least, most) in
            [(2, 1, 66, 66), (4, 1, 30, 31), (8, 1, 13, 15), (4, 2, 66, 66), (8, 4, 66, 66)]
        {
            let held = clusters(cluster, blocks, 132);
            assert!((f64::from(least)..=f64::from(most)).contains(&held), "{held} clusters of {cluster}");
        }
    }

    #[test]
    fn a_few_rows_more_than_are_taken_at_once_take_another_turn() {
        let schedule = Sm80Schedule {
            threads_per_row: 1024,
            rows_per_block: 1,
            vector: 8,
            cluster: 2,
            vectors: 4,
            keep: Keep::Values,
            blocks_per_sm: 1,
            joins: false,
            parked: 0,
            keeps_rows: false,
        };
        let count = |teams: u32| Turns::new(&schedule, teams, 1, 132).count;
        assert_eq!([66, 67, 85, 132, 133].map(count), [1.0, 2.0, 2.0, 2.0, 3.0]);
        let leaving = Sm80Schedule { blocks_per_sm: 0, ..schedule };
        let many = Turns::new(&leaving, 6601, 1, 132).count;
        assert!(many < 100.5, "{many}: the last of many rows begin one by one");
    }
}
