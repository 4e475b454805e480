//! Vector clocks whose elements are agents.

use super::history::Agent;

/// How far each agent is known to have come.
///
/// An agent is a lane of a dimension: dimensions are warps, and channels of asynchronous operations. Mostly a whole
/// dimension is known up to one time; a lane that is known further is listed by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock {
    whole: Vec<u32>,
    /// Sorted by agent.
    lanes: Vec<(Agent, u32)>,
}

impl Clock {
    fn of_dimension(&self, dimension: u32) -> u32 {
        self.whole.get(dimension as usize).copied().unwrap_or(0)
    }

    /// Whether the agent is known up to `time`.
    pub fn reaches(&self, agent: Agent, time: u32) -> bool {
        if self.of_dimension(agent.dimension) >= time {
            return true;
        }
        let found = self.lanes.binary_search_by_key(&agent, |(agent, _)| *agent).ok();
        found.and_then(|at| self.lanes.get(at)).is_some_and(|(_, known)| *known >= time)
    }

    /// Every lane of the dimension is known up to `time`.
    pub fn learn_dimension(&mut self, dimension: u32, time: u32) {
        let at = dimension as usize;
        if self.whole.len() <= at {
            self.whole.resize(at + 1, 0);
        }
        let Some(known) = self.whole.get_mut(at) else { return };
        if *known < time {
            *known = time;
            self.lanes.retain(|(agent, known)| agent.dimension != dimension || *known > time);
        }
    }

    /// One agent is known up to `time`.
    pub fn learn(&mut self, agent: Agent, time: u32) {
        if self.of_dimension(agent.dimension) >= time {
            return;
        }
        match self.lanes.binary_search_by_key(&agent, |(agent, _)| *agent) {
            Ok(at) => {
                if let Some((_, known)) = self.lanes.get_mut(at) {
                    *known = (*known).max(time);
                }
            }
            Err(at) => self.lanes.insert(at, (agent, time)),
        }
    }

    /// Everything that `other` knows.
    pub fn join(&mut self, other: &Clock) {
        if self.whole.len() < other.whole.len() {
            self.whole.resize(other.whole.len(), 0);
        }
        for (known, &theirs) in self.whole.iter_mut().zip(&other.whole) {
            *known = (*known).max(theirs);
        }
        for &(agent, time) in &other.lanes {
            self.learn(agent, time);
        }
        if !self.lanes.is_empty() {
            let whole = &self.whole;
            let of = |dimension: u32| whole.get(dimension as usize).copied().unwrap_or(0);
            self.lanes.retain(|(agent, known)| *known > of(agent.dimension));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Agent = Agent { dimension: 2, lane: 5 };
    const B: Agent = Agent { dimension: 2, lane: 6 };

    #[test]
    fn a_lane_is_known_alone_or_with_its_dimension() {
        let mut clock = Clock::default();
        clock.learn(A, 3);
        assert!(clock.reaches(A, 3) && !clock.reaches(A, 4) && !clock.reaches(B, 1));
        clock.learn_dimension(2, 3);
        assert!(clock.reaches(B, 3) && clock.lanes.is_empty());
    }

    #[test]
    fn a_join_knows_what_either_knew() {
        let (mut left, mut right) = (Clock::default(), Clock::default());
        left.learn(A, 7);
        right.learn_dimension(2, 5);
        right.learn_dimension(9, 1);
        left.join(&right);
        assert!(left.reaches(A, 7) && left.reaches(B, 5) && left.reaches(Agent { dimension: 9, lane: 0 }, 1));
        left.learn_dimension(2, 8);
        assert!(left.lanes.is_empty());
    }
}
