//! The queue of what is to be measured: asked for once, leased to one worker at a time, recorded once.

use std::collections::{HashMap, HashSet};

use postgres::Row;
use postgres::fallible_iterator::FallibleIterator;

use super::error::StudyError;
use super::link::Link;
use super::policy::Policy;
use super::request::{Answer, Key, Request, Task, Tried};
use crate::outcome::{Failure, Outcome};

/// The queue of a study.
pub struct Queue {
    link: Link,
    policy: Policy,
    tasks: HashMap<Key, i64>,
}

/// A task by its number in the database.
#[derive(Clone, Debug)]
pub struct Numbered {
    pub id: i64,
    pub task: Task,
}

/// What became of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// It counts.
    Counted,
    /// The lease was lost, and somebody else has it: the result is kept and not counted.
    Late,
}

impl Queue {
    /// The queue of the study that `link` leads to.
    ///
    /// # Errors
    /// There is none.
    pub fn open(mut link: Link) -> Result<Self, StudyError> {
        let policy = Policy::of(&mut link)?;
        Ok(Queue { link, policy, tasks: HashMap::new() })
    }

    /// How its work is leased.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// The connection.
    pub fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    /// The number of `task`, which is written down if it is new.
    pub fn task(&mut self, task: &Task) -> Result<i64, StudyError> {
        const QUERY: &str = "insert into autokernel.task (key, target, environment)
            values ($1, $2::text::json, $3::text::json)
            on conflict (key) do update set key = excluded.key returning id";
        let key = task.key();
        if let Some(&id) = self.tasks.get(&key) {
            return Ok(id);
        }
        let (target, environment) = (json(&task.target), json(&task.environment));
        let row = self.link.run(|client| client.query_one(QUERY, &[&key.as_slice(), &target, &environment]))?;
        Ok(*self.tasks.entry(key).or_insert(row.get("id")))
    }

    /// Asks for `requests` about `task`, each once: what was asked for already stands as it does.
    pub fn ask(&mut self, task: &Task, requests: &[Request]) -> Result<(), StudyError> {
        const QUERY: &str = "insert into autokernel.work (task, key, kind, request, compiled)
            select $1, key, kind, request::json, kind <> 'trial'
            from unnest($2::bytea[], $3::text[], $4::text[]) as asked (key, kind, request)
            on conflict (key) do nothing";
        let id = self.task(task)?;
        let keys: Vec<Vec<u8>> = requests.iter().map(|request| request.key(task).to_vec()).collect();
        let kinds: Vec<&str> = requests.iter().map(Request::kind).collect();
        let texts: Vec<String> = requests.iter().map(json).collect();
        self.link.run(|client| client.execute(QUERY, &[&id, &keys, &kinds, &texts])).map(drop)
    }

    /// The results of those requests of `keys` that have one, as JSON.
    pub fn results(&mut self, keys: &[Key]) -> Result<Vec<(Key, String)>, StudyError> {
        const QUERY: &str = "select key, result::text as result from autokernel.work
            where key = any($1) and result is not null order by recorded_at, id";
        let keys: Vec<&[u8]> = keys.iter().map(Key::as_slice).collect();
        let rows = self.link.run(|client| client.query(QUERY, &[&keys]))?;
        let read = |row: &Row| Some((row.get::<_, &[u8]>("key").try_into().ok()?, row.get("result")));
        Ok(rows.iter().filter_map(read).collect())
    }

    /// The task of that number.
    pub fn numbered_task(&mut self, id: i64) -> Result<Task, StudyError> {
        const QUERY: &str = "select id, target::text, environment::text from autokernel.task where id = $1";
        let row = self.link.run(|client| client.query_one(QUERY, &[&id]))?;
        Ok(self.numbered(&row)?.task)
    }

    /// What `see` makes of the tasks in the environments of these, the oldest first: there may be millions, so that none is kept here.
    /// It begins anew where the connection broke.
    pub fn fold_tasks_in<T>(
        &mut self,
        tasks: &[Task],
        begin: impl Fn() -> T,
        mut see: impl FnMut(&mut T, Numbered),
    ) -> Result<T, StudyError> {
        // As their texts: two that differ in that alone have different keys, too.
        const QUERY: &str = "select id, target::text, environment::text from autokernel.task
            where environment::text = any($1) order by id";
        let environments: HashSet<String> = tasks.iter().map(|task| json(&task.environment)).collect();
        let environments: Vec<String> = environments.into_iter().collect();
        let (made, damage) = self.link.run(|client| {
            let (mut made, mut damage) = (begin(), None);
            let mut rows = client.query_raw(QUERY, [&environments])?;
            while let Some(row) = rows.next()? {
                match read(&row) {
                    Ok(numbered) => see(&mut made, numbered),
                    Err(damaged) => damage = damage.or(Some(damaged)),
                }
            }
            Ok((made, damage))
        })?;
        damage.map_or(Ok(made), |(row, reason)| Err(self.damaged(row, reason)))
    }

    pub(super) fn numbered(&self, row: &Row) -> Result<Numbered, StudyError> {
        read(row).map_err(|(row, reason)| self.damaged(row, reason))
    }

    /// Writes the result of a claim. Once it has come back the result cannot be lost.
    pub fn record(&mut self, id: i64, attempt: i32, worker: &str, answer: &Answer) -> Result<Recorded, StudyError> {
        const COUNT: &str = "update autokernel.work set result = $3::text::json, recorded_at = clock_timestamp(),
            lease_until = null where id = $1 and attempt = $2 and result is null";
        // That it was recorded before the connection broke is told by the attempt.
        const IS_OURS: &str =
            "select attempt = $2 and worker = $3 as ours from autokernel.work where id = $1 and result is not null";
        const LATE: &str = "insert into autokernel.late (work, attempt, worker, result)
            values ($1, $2, $3, $4::text::json) on conflict (work, attempt) do nothing";
        let text = json(answer);
        self.link.run(|client| {
            if client.execute(COUNT, &[&id, &attempt, &text])? == 1 {
                return Ok(Recorded::Counted);
            }
            let row = client.query_opt(IS_OURS, &[&id, &attempt, &worker])?;
            if row.is_some_and(|row| row.get("ours")) {
                return Ok(Recorded::Counted);
            }
            client.execute(LATE, &[&id, &attempt, &worker, &text])?;
            Ok(Recorded::Late)
        })
    }

    /// Gives back what was claimed and will not be done, as if nobody had held it.
    pub fn give_back(&mut self, claims: &[(i64, i32)]) -> Result<(), StudyError> {
        const QUERY: &str = "update autokernel.work set lease_until = null, given_back = given_back + 1
            from unnest($1::bigint[], $2::integer[]) as held (id, attempt)
            where work.id = held.id and work.attempt = held.attempt and result is null
                and lease_until is not null";
        let (ids, attempts): (Vec<i64>, Vec<i32>) = claims.iter().copied().unzip();
        self.link.run(|client| client.execute(QUERY, &[&ids, &attempts])).map(drop)
    }

    /// Blames schedules over which as many workers were lost as the study allows.
    pub fn blame(&mut self) -> Result<u64, StudyError> {
        const QUERY: &str = "update autokernel.work set result = $2::text::json, recorded_at = clock_timestamp()
            where kind = 'trial' and result is null and attempt - given_back >= $1 and lease_until < now()";
        let attempts = self.policy.attempts as i32;
        let detail = format!("{attempts} workers were lost while they held it, and none told of its end");
        let tried = Tried { outcome: Outcome::Failed(Failure::Crash { detail }), seconds: 0.0 };
        let text = json(&tried);
        self.link.run(|client| client.execute(QUERY, &[&attempts, &text]))
    }

    /// A row that is not what this tuner writes.
    pub fn damaged(&self, row: String, reason: String) -> StudyError {
        StudyError::Damaged { place: self.link.place(), row, reason }
    }
}

/// The task of a row; else which it is, and what is wrong with it.
fn read(row: &Row) -> Result<Numbered, (String, String)> {
    let id: i64 = row.get("id");
    let damaged = |error: serde_json::Error| (format!("task {id}"), error.to_string());
    let target = serde_json::from_str(row.get("target")).map_err(damaged)?;
    let environment = serde_json::from_str(row.get("environment")).map_err(damaged)?;
    Ok(Numbered { id, task: Task { target, environment } })
}

pub(super) fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("all keys are strings")
}
