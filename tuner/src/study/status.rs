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
    /// Work that nobody measures.
    pub open: i64,
    /// That of it whose kernels are compiled.
    pub compiled: i64,
    /// Results that came after their lease was lost.
    pub late: i64,
    /// Workers that live and measure.
    pub workers: i64,
    /// Workers that live and compile.
    pub compilers: i64,
    /// Who lives and searches what is demanded.
    pub searchers: i64,
    /// Targets that are demanded.
    pub demanded: i64,
    /// Searches of them that came to their end, one for each kind of GPU.
    pub searched: i64,
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
            open.open, open.compiled,
            (select count(*) from autokernel.late) as late,
            alive.workers, alive.compilers, alive.searchers,
            (select count(*) from autokernel.demand) as demanded,
            (select count(*) from autokernel.search where done_at is not null) as searched
            from (select count(*) as open, count(*) filter (where compiled and kind = 'trial') as compiled
                  from autokernel.work where result is null and (lease_until is null or lease_until < now())) as open,
                 (select count(*) filter (where role = 'measure') as workers,
                    count(*) filter (where role = 'compile') as compilers,
                    count(*) filter (where role = 'search') as searchers
                  from autokernel.worker where seen_at > now() - make_interval(secs => $1)) as alive";
        let lease = queue.policy().lease.as_secs_f64();
        let row = queue.link().run(|client| client.query_one(QUERY, &[&lease]))?;
        let count = |name| row.get::<_, i64>(name);
        Ok(Status {
            recorded: count("recorded"),
            leased: count("leased"),
            open: count("open"),
            compiled: count("compiled"),
            late: count("late"),
            workers: count("workers"),
            compilers: count("compilers"),
            searchers: count("searchers"),
            demanded: count("demanded"),
            searched: count("searched"),
        })
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Status { recorded, leased, open, compiled, late, workers, .. } = self;
        write!(f, "{recorded} recorded, {leased} being measured, {open} waiting")?;
        if *compiled > 0 {
            write!(f, " ({compiled} of them compiled)")?;
        }
        write!(f, "; {workers} workers")?;
        for (count, word) in [(self.compilers, "compilers"), (self.searchers, "searchers")] {
            if count > 0 {
                write!(f, ", {count} {word}")?;
            }
        }
        if self.demanded > 0 {
            write!(f, "; {} demanded, {} searches done", self.demanded, self.searched)?;
        }
        if *late > 0 { write!(f, "; {late} results came too late and are not counted") } else { Ok(()) }
    }
}
