//! How a study stands.

use std::fmt;

use super::error::StudyError;
use super::queue::Queue;

/// How a study stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Work whose result counts.
    pub recorded: i64,
    /// Work that a worker holds.
    pub leased: i64,
    /// Work that nobody holds.
    pub open: i64,
    /// Results that came after their lease was lost.
    pub late: i64,
    /// Workers that live.
    pub workers: i64,
}

impl Status {
    /// That of the study of `queue`.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(queue: &mut Queue) -> Result<Self, StudyError> {
        const QUERY: &str = "select
            (select count(*) from autokernel.work where result is not null) as recorded,
            (select count(*) from autokernel.work where result is null and lease_until >= now()) as leased,
            (select count(*) from autokernel.work
                where result is null and (lease_until is null or lease_until < now())) as open,
            (select count(*) from autokernel.late) as late,
            (select count(*) from autokernel.worker where seen_at > now() - make_interval(secs => $1)) as workers";
        let lease = queue.policy().lease.as_secs_f64();
        let row = queue.link().run(|client| client.query_one(QUERY, &[&lease]))?;
        let count = |name| row.get::<_, i64>(name);
        let [recorded, leased, open, late, workers] = ["recorded", "leased", "open", "late", "workers"].map(count);
        Ok(Status { recorded, leased, open, late, workers })
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Status { recorded, leased, open, late, workers } = self;
        write!(f, "{recorded} recorded, {leased} being measured, {open} waiting; {workers} workers")?;
        if *late > 0 { write!(f, "; {late} results came too late and are not counted") } else { Ok(()) }
    }
}
