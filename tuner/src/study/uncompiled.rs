//! What is open and not compiled: leased to workers without a GPU, beside the leases of those who measure.

use super::claim::Claim;
use super::error::StudyError;
use super::queue::{Numbered, Queue, json};
use super::request::Tried;

/// The rows that nobody measures or compiles. One over which `$1` workers were lost while they compiled it is left to those
/// who measure, and blamed by what becomes of them.
const UNCOMPILED: &str = "result is null and not compiled and kind = 'trial'
    and (lease_until is null or lease_until < now())
    and (compile_until is null or compile_until < now())
    and compile_lost + (compile_until is not null)::integer < $1";

impl Queue {
    /// The tasks that have something to compile.
    pub fn uncompiled_tasks(&mut self) -> Result<Vec<Numbered>, StudyError> {
        self.tasks_with("result is null and not compiled", UNCOMPILED)
    }

    /// Leases trials of a task to who compiles: the oldest, at most `most`.
    pub fn claim_uncompiled(&mut self, task: i64, most: usize) -> Result<Vec<Claim>, StudyError> {
        let query = format!(
            "with next as (
                select id from autokernel.work where task = $2 and {UNCOMPILED}
                order by id limit $3 for update skip locked)
            update autokernel.work set compile_attempt = compile_attempt + 1,
                compile_lost = compile_lost + (compile_until is not null)::integer,
                compile_until = now() + make_interval(secs => $4)
            from next where work.id = next.id
            returning work.id, compile_attempt as attempt, kind, request::text as request"
        );
        let (lease, attempts) = (self.policy().lease.as_secs_f64(), self.policy().attempts as i32);
        let rows = self.link().run(|client| client.query(&query, &[&attempts, &task, &(most as i64), &lease]))?;
        self.claims(&rows)
    }

    /// Says that the kernels of these are in the cache, which holds whoever has the lease by now.
    pub fn note_compiled(&mut self, work: &[i64]) -> Result<(), StudyError> {
        const QUERY: &str = "update autokernel.work set compiled = true, compile_until = null
            where id = any($1) and result is null";
        self.link().run(|client| client.execute(QUERY, &[&work])).map(drop)
    }

    /// Writes why these cannot be compiled; how many that were. One that is being measured is its worker's to record, who
    /// finds the same.
    pub fn record_refused(&mut self, work: &[i64], tried: &Tried) -> Result<u64, StudyError> {
        const QUERY: &str = "update autokernel.work set result = $2::text::json, recorded_at = clock_timestamp(),
                lease_until = null, compile_until = null
            where id = any($1) and result is null and (lease_until is null or lease_until < now())";
        let text = json(tried);
        self.link().run(|client| client.execute(QUERY, &[&work, &text]))
    }

    /// Gives back what was claimed and will not be compiled, as if nobody had held it.
    pub fn give_back_uncompiled(&mut self, claims: &[(i64, i32)]) -> Result<(), StudyError> {
        const QUERY: &str = "update autokernel.work set compile_until = null
            from unnest($1::bigint[], $2::integer[]) as held (id, attempt)
            where work.id = held.id and work.compile_attempt = held.attempt and result is null";
        let (ids, attempts): (Vec<i64>, Vec<i32>) = claims.iter().copied().unzip();
        self.link().run(|client| client.execute(QUERY, &[&ids, &attempts])).map(drop)
    }
}
