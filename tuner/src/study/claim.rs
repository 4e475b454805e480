//! Taking work: leased to one worker at a time.

use postgres::Row;
use postgres::types::Type;

use super::error::StudyError;
use super::queue::{Numbered, Queue};
use super::request::Request;

/// Work that a worker holds. Its attempt is the token by which a result that comes too late is known.
#[derive(Clone, Debug)]
pub struct Claim {
    pub id: i64,
    pub attempt: i32,
    pub request: Request,
}

/// How far the kernels of open work are. Who measures takes them in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readiness {
    /// In the cache that workers share.
    Compiled,
    /// Nobody compiles them.
    Untouched,
    /// A worker without a GPU compiles them now.
    BeingCompiled,
}

impl Readiness {
    const IN_ORDER: [Readiness; 3] = [Readiness::Compiled, Readiness::Untouched, Readiness::BeingCompiled];

    /// The rows of `work` that are so far. Each has an index of its own, so that none is looked for among the others.
    const fn condition(self) -> &'static str {
        match self {
            Readiness::Compiled => "compiled",
            Readiness::Untouched => "not compiled and (compile_until is null or compile_until < now())",
            Readiness::BeingCompiled => "not compiled and compile_until is not null and compile_until >= now()",
        }
    }
}

/// The rows that nobody measures and that may be tried once more, where workers may be lost `$1` times.
const FREE: &str = "result is null and (lease_until is null or lease_until < now())
    and (kind <> 'trial' or attempt - given_back < $1)";

impl Queue {
    /// The tasks that have work which nobody holds.
    pub fn open_tasks(&mut self) -> Result<Vec<Numbered>, StudyError> {
        self.tasks_with("result is null", FREE)
    }

    /// The tasks that have work of which `condition` holds, where workers may be lost `$1` times. `indexed` is the condition of an
    /// index by tasks: the next task that has such work is looked up there, however much work each has and however much of all was
    /// recorded, which a join would read.
    pub(super) fn tasks_with(&mut self, indexed: &str, condition: &str) -> Result<Vec<Numbered>, StudyError> {
        let query = format!(
            "with recursive open as (
                (select task from autokernel.work where {indexed} order by task limit 1)
                union all
                select (select work.task from autokernel.work where {indexed} and work.task > open.task
                        order by work.task limit 1)
                from open where open.task is not null)
             select id, target::text, environment::text from open join autokernel.task on id = open.task
             where exists (select from autokernel.work where work.task = open.task and {condition}) order by id"
        );
        let attempts = self.policy().attempts as i32;
        let rows = self.link().run(|client| client.query_typed(&query, &[(&attempts, Type::INT4)]))?;
        rows.iter().map(|row| self.numbered(row)).collect()
    }

    /// Leases work of a task to `worker`: what is compiled before what is not, the oldest that nobody holds, at most
    /// `most`, and no more than its share where other workers live.
    pub fn claim(&mut self, task: i64, worker: &str, most: usize) -> Result<Vec<Claim>, StudyError> {
        for readiness in Readiness::IN_ORDER {
            let claims = self.claim_of(readiness, task, worker, most)?;
            if !claims.is_empty() {
                return Ok(claims);
            }
        }
        Ok(Vec::new())
    }

    fn claim_of(
        &mut self,
        readiness: Readiness,
        task: i64,
        worker: &str,
        most: usize,
    ) -> Result<Vec<Claim>, StudyError> {
        let ready = readiness.condition();
        let query = format!(
            "with alive as (
                select greatest(1, count(*)) as workers from autokernel.worker
                where role = 'measure' and seen_at > now() - make_interval(secs => $5)),
            share as (
                select greatest(1, least($4::bigint, ((
                    select count(*) from (
                        select from autokernel.work where task = $2 and {FREE} and {ready}
                        order by id limit $4::bigint * workers
                    ) as open) + workers - 1) / workers)) as size from alive),
            next as (
                select id from autokernel.work where task = $2 and {FREE} and {ready}
                order by id limit (select size from share) for update skip locked)
            update autokernel.work set attempt = attempt + 1, worker = $3,
                lease_until = now() + make_interval(secs => $5)
            from next where work.id = next.id
            returning work.id, attempt, kind, request::text as request"
        );
        let most = most.max(1) as i64;
        let (lease, attempts) = (self.policy().lease.as_secs_f64(), self.policy().attempts as i32);
        // With the types said, it is one exchange with the server.
        let rows = self.link().run(|client| {
            client.query_typed(
                &query,
                &[
                    (&attempts, Type::INT4),
                    (&task, Type::INT8),
                    (&worker, Type::TEXT),
                    (&most, Type::INT8),
                    (&lease, Type::FLOAT8),
                ],
            )
        })?;
        self.claims(&rows)
    }

    /// The claims that `rows` are, the oldest first.
    pub(super) fn claims(&self, rows: &[Row]) -> Result<Vec<Claim>, StudyError> {
        let read = |row: &Row| {
            let id: i64 = row.get("id");
            let request = Request::read(row.get("kind"), row.get("request"));
            let request = request.map_err(|reason| self.damaged(format!("work {id}"), reason))?;
            Ok(Claim { id, attempt: row.get("attempt"), request })
        };
        let mut claims = rows.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        claims.sort_by_key(|claim| claim.id);
        Ok(claims)
    }
}
