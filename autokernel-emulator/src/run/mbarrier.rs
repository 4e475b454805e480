//! An mbarrier (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier").

use crate::check::{Event, Knowledge};
use crate::fault::MbarrierFault;

/// Bytes of an mbarrier in shared memory.
pub(super) const MBARRIER_BYTES: u32 = 8;
/// The largest count of arrivals and of transactions.
const MAX_COUNT: u32 = (1 << 20) - 1;

pub(super) struct Mbarrier {
    /// Arrivals that later phases expect.
    expected: u32,
    /// Arrivals that this phase still waits for.
    pub pending: u32,
    /// Bytes announced and not yet delivered; negative if delivered before they were announced.
    pub transactions: i64,
    /// Phases that have completed.
    pub phase: u32,
    /// How its asynchronous copies are known: those of phase n to who has learnt of n + 1.
    pub channel: u32,
    /// What those knew who have arrived in this phase.
    pub arriving: Knowledge,
    /// What those knew who arrived in the phases that have completed.
    pub completed: Knowledge,
    /// The initialisation.
    pub made: Event,
}

impl Mbarrier {
    pub fn new(count: u64, channel: u32, made: Event) -> Result<Self, MbarrierFault> {
        let expected = u32::try_from(count).ok().filter(|count| (1..=MAX_COUNT).contains(count));
        let expected = expected.ok_or(MbarrierFault::Count(count))?;
        Ok(Mbarrier {
            expected,
            pending: expected,
            transactions: 0,
            phase: 0,
            channel,
            arriving: Knowledge::default(),
            completed: Knowledge::default(),
            made,
        })
    }

    /// Whether the phase of that parity is over. The phase before the first counts as over.
    pub fn has_passed(&self, parity: bool) -> bool {
        (self.phase % 2 == 1) != parity
    }

    pub fn expect(&mut self, bytes: u64) -> Result<(), MbarrierFault> {
        self.change_transactions(i64::try_from(bytes).unwrap_or(i64::MAX))
    }

    pub fn deliver(&mut self, bytes: u64) -> Result<(), MbarrierFault> {
        self.change_transactions(-i64::try_from(bytes).unwrap_or(i64::MAX))?;
        self.complete_if_done();
        Ok(())
    }

    fn change_transactions(&mut self, by: i64) -> Result<(), MbarrierFault> {
        let next = self.transactions.saturating_add(by);
        if next.unsigned_abs() > MAX_COUNT.into() {
            return Err(MbarrierFault::Transactions(next));
        }
        self.transactions = next;
        Ok(())
    }

    /// `drops`: the arrivals leave later phases too.
    pub fn arrive(&mut self, count: u64, drops: bool) -> Result<(), MbarrierFault> {
        let arriving = u32::try_from(count).unwrap_or(u32::MAX);
        if arriving == 0 || arriving > MAX_COUNT {
            return Err(MbarrierFault::Count(count));
        }
        let Some(pending) = self.pending.checked_sub(arriving) else {
            return Err(MbarrierFault::TooManyArrivals { pending: self.pending, arriving });
        };
        self.pending = pending;
        if drops {
            self.expected = self.expected.saturating_sub(arriving);
        }
        self.complete_if_done();
        Ok(())
    }

    /// More arrivals are expected in this phase: those of `cp.async.mbarrier.arrive`.
    pub fn raise(&mut self) -> Result<(), MbarrierFault> {
        if self.pending >= MAX_COUNT {
            return Err(MbarrierFault::Count(u64::from(self.pending) + 1));
        }
        self.pending += 1;
        Ok(())
    }

    fn complete_if_done(&mut self) {
        if self.pending == 0 && self.transactions == 0 {
            self.phase += 1;
            self.pending = self.expected;
            self.completed.join(&self.arriving);
            self.completed.learn_channel(self.channel, self.phase);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Threads;

    fn barrier(count: u64) -> Result<Mbarrier, MbarrierFault> {
        Mbarrier::new(count, 9, Threads::new(1, 0).event(0, 0, false, 1))
    }

    #[test]
    fn a_phase_ends_with_its_last_arrival_and_its_last_byte() {
        let mut barrier = barrier(2).unwrap();
        assert!(barrier.has_passed(true) && !barrier.has_passed(false), "the phase before the first is over");
        barrier.expect(32).unwrap();
        barrier.arrive(2, false).unwrap();
        barrier.deliver(16).unwrap();
        assert!(!barrier.has_passed(false));
        barrier.deliver(16).unwrap();
        assert!(barrier.has_passed(false) && !barrier.has_passed(true));
        assert_eq!((barrier.phase, barrier.pending), (1, 2));
    }

    #[test]
    fn bytes_may_come_before_they_are_announced() {
        let mut barrier = barrier(1).unwrap();
        barrier.deliver(16).unwrap();
        barrier.expect(16).unwrap();
        barrier.arrive(1, false).unwrap();
        assert_eq!(barrier.phase, 1);
    }

    #[test]
    fn a_dropped_arrival_is_missing_in_later_phases_too() {
        let mut barrier = barrier(3).unwrap();
        barrier.arrive(1, true).unwrap();
        barrier.arrive(2, false).unwrap();
        assert_eq!((barrier.phase, barrier.pending), (1, 2));
    }

    #[test]
    fn counts_have_limits() {
        assert_eq!(barrier(0).err(), Some(MbarrierFault::Count(0)));
        assert_eq!(barrier(1 << 20).err(), Some(MbarrierFault::Count(1 << 20)));
        let mut barrier = barrier(1).unwrap();
        assert_eq!(barrier.expect(1 << 20), Err(MbarrierFault::Transactions(1 << 20)));
        assert_eq!(barrier.arrive(2, false), Err(MbarrierFault::TooManyArrivals { pending: 1, arriving: 2 }));
    }
}
