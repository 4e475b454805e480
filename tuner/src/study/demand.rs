//! What is demanded of a study, and who searches it: leased to one searcher at a time, for each kind of GPU.

use std::collections::HashSet;

use autokernel_codegen::problem::Problem;
use autokernel_core::Extents;
use postgres::Row;
use serde::{Deserialize, Serialize};

use super::error::StudyError;
use super::queue::{Queue, json};
use super::request::{Key, Task, digest};

/// A problem at a shape that somebody wants to be fast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wanted {
    /// What is computed.
    pub problem: Problem,
    /// At which shape.
    pub shape: Extents,
}

impl Queue {
    /// Demands these, those first that are named first; how many are new.
    pub fn demand(&mut self, wanted: &[Wanted]) -> Result<u64, StudyError> {
        const QUERY: &str = "insert into autokernel.demand (key, body)
            select key, body::json from unnest($1::bytea[], $2::text[]) as asked (key, body) on conflict (key) do nothing";
        let keys: Vec<Vec<u8>> = wanted.iter().map(|wanted| digest(wanted).to_vec()).collect();
        let texts: Vec<String> = wanted.iter().map(json).collect();
        self.link().run(|client| client.execute(QUERY, &[&keys, &texts]))
    }

    /// What is demanded, in the order in which it was.
    pub fn demanded(&mut self) -> Result<Vec<Wanted>, StudyError> {
        const QUERY: &str = "select id, body::text as body from autokernel.demand order by id";
        let rows = self.link().run(|client| client.query(QUERY, &[]))?;
        let read = |row: &Row| {
            let body = serde_json::from_str(row.get("body"));
            body.map_err(|error| self.damaged(format!("demand {}", row.get::<_, i64>("id")), error.to_string()))
        };
        rows.iter().map(read).collect()
    }

    /// The keys of the tasks whose search is done, or that somebody searches.
    pub fn taken_searches(&mut self) -> Result<HashSet<Key>, StudyError> {
        const QUERY: &str = "select key from autokernel.search join autokernel.task on task.id = search.task
            where done_at is not null or lease_until >= now()";
        let rows = self.link().run(|client| client.query(QUERY, &[]))?;
        Ok(rows.iter().filter_map(|row| row.get::<_, &[u8]>("key").try_into().ok()).collect())
    }

    /// Leases the search of `task` to `searcher`: its number and attempt, unless it is done or somebody has it.
    pub fn claim_search(&mut self, task: &Task, searcher: &str) -> Result<Option<(i64, i32)>, StudyError> {
        // Whoever had it and asks again, as the answer was lost, has it.
        const QUERY: &str = "insert into autokernel.search as held (task, searcher, lease_until)
            values ($1, $2, now() + make_interval(secs => $3))
            on conflict (task) do update set attempt = held.attempt + 1, searcher = excluded.searcher,
                lease_until = excluded.lease_until
            where held.done_at is null
                and (held.lease_until is null or held.lease_until < now() or held.searcher = excluded.searcher)
            returning task, attempt";
        let (id, lease) = (self.task(task)?, self.policy().lease.as_secs_f64());
        let row = self.link().run(|client| client.query_opt(QUERY, &[&id, &searcher, &lease]))?;
        Ok(row.map(|row| (row.get("task"), row.get("attempt"))))
    }

    /// Says that a search has come to its end, which holds whoever has the lease by now.
    pub fn finish_search(&mut self, task: i64) -> Result<(), StudyError> {
        const QUERY: &str =
            "update autokernel.search set done_at = coalesce(done_at, now()), lease_until = null where task = $1";
        self.link().run(|client| client.execute(QUERY, &[&task])).map(drop)
    }

    /// Gives back searches that did not come to their end.
    pub fn give_back_searches(&mut self, held: &[(i64, i32)]) -> Result<(), StudyError> {
        const QUERY: &str = "update autokernel.search set lease_until = null
            from unnest($1::bigint[], $2::integer[]) as held (task, attempt)
            where search.task = held.task and search.attempt = held.attempt and done_at is null";
        let (tasks, attempts): (Vec<i64>, Vec<i32>) = held.iter().copied().unzip();
        self.link().run(|client| client.execute(QUERY, &[&tasks, &attempts])).map(drop)
    }
}
