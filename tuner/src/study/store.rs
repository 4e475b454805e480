//! A study as a store of trials.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, Row};

use super::error::StudyError;
use super::queue::{Queue, json};
use super::request::{Draft, Request, Task, Tried, digest};
use super::scope::Scope;
use crate::held_final::HeldFinal;
use crate::intents::Intents;
use crate::store::{Records, Reference, Store, StoreError};
use crate::trial::{Trial, TrialKey};

/// The trials of a study, as far as they were read.
pub struct Study {
    queue: Queue,
    scope: Scope,
    records: Records,
    tasks: HashMap<i64, Task>,
    /// The tasks that were read, where the scope has not all of them.
    read: BTreeSet<i64>,
    to: Position,
}

/// How far a study was read.
#[derive(Clone, Debug, Default)]
struct Position {
    /// The time of the last trial, as the server writes it.
    recorded_at: Option<String>,
    line: i64,
}

/// Who recorded a trial earlier may have written it later, by as much as a statement takes.
const OVERLAP: &str = "interval '1 minute'";

/// A line of a journal that is no trial.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line {
    Final(HeldFinal),
    Reference(Reference),
}

impl Line {
    fn task(&self) -> Task {
        let (target, environment) = match self {
            Line::Final(HeldFinal { target, environment, .. }) => (target, environment),
            Line::Reference(Reference { target, environment, .. }) => (target, environment),
        };
        Task { target: target.clone().into(), environment: environment.clone().into() }
    }
}

impl Study {
    /// Reads of the study of `queue` what `scope` says.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(queue: Queue, scope: Scope) -> Result<Self, StudyError> {
        let (records, tasks, read, to) = (Records::default(), HashMap::new(), BTreeSet::new(), Position::default());
        let mut study = Study { queue, scope, records, tasks, read, to };
        study.read_on()?;
        Ok(study)
    }

    /// What was read.
    pub fn into_records(self) -> Records {
        self.records
    }

    /// Reads what came since, and all of those tasks that came into the scope.
    fn read_on(&mut self) -> Result<(), StudyError> {
        let Some(tasks) = self.scope.tasks(&mut self.queue)? else {
            return self.read_of(None, self.to.clone());
        };
        let new: Vec<i64> = tasks.difference(&self.read).copied().collect();
        let old: Vec<i64> = self.read.iter().copied().collect();
        if !old.is_empty() {
            self.read_of(Some(&old), self.to.clone())?;
        }
        if !new.is_empty() {
            self.read_of(Some(&new), Position::default())?;
            self.read.extend(new);
        }
        Ok(())
    }

    /// Reads of these tasks, or of all, what was recorded after `from`.
    fn read_of(&mut self, tasks: Option<&[i64]>, from: Position) -> Result<(), StudyError> {
        self.read_lines(tasks, from.line)?;
        let of_tasks = if tasks.is_some() { "and task = any($2)" } else { "and $2::bigint[] is null" };
        let query = format!(
            "select work.id, task, key, request::text as request, result::text as result, recorded_at::text as at
             from autokernel.work where kind = 'trial' and result is not null {of_tasks}
                 and recorded_at > coalesce($1::text::timestamptz - {OVERLAP}, '-infinity')
             order by recorded_at, work.id"
        );
        // Rows come as they are read: a million trials are not held twice.
        let mut found = Vec::new();
        self.queue.link().run(|client| {
            found.clear();
            each_row(client, &query, (&from.recorded_at, tasks), |row| {
                let (id, task): (i64, i64) = (row.get("id"), row.get("task"));
                let key = <[u8; 16]>::try_from(row.get::<_, &[u8]>("key"));
                let parsed = parse(row.get("request"), row.get("result"));
                found.push((id, task, key, parsed, row.get::<_, String>("at")));
            })
        })?;
        for (id, task, key, parsed, at) in found {
            let (draft, tried) = parsed.map_err(|reason| self.queue.damaged(format!("work {id}"), reason))?;
            let key =
                key.map_err(|_| self.queue.damaged(format!("work {id}"), "its key has not 16 bytes".to_owned()))?;
            let key = TrialKey::of(key);
            if self.records.find(&key).is_none() {
                let trial = draft.tried(&self.task(task)?, tried);
                self.records.push_by(key, trial);
            }
            self.to.recorded_at = self.to.recorded_at.take().max(Some(at));
        }
        Ok(())
    }

    fn task(&mut self, id: i64) -> Result<Task, StudyError> {
        if let Some(task) = self.tasks.get(&id) {
            return Ok(task.clone());
        }
        let task = self.queue.numbered_task(id)?;
        self.tasks.insert(id, task.clone());
        Ok(task)
    }

    fn read_lines(&mut self, tasks: Option<&[i64]>, from: i64) -> Result<(), StudyError> {
        const QUERY: &str = "select id, body::text as body from autokernel.line
            where id > $1 and ($2::bigint[] is null or task = any($2)) order by id";
        let rows = self.queue.link().run(|client| client.query(QUERY, &[&from, &tasks]))?;
        for row in rows {
            let id: i64 = row.get("id");
            let damaged = |reason: String| self.queue.damaged(format!("line {id}"), reason);
            let line: Line = serde_json::from_str(row.get("body")).map_err(|error| damaged(error.to_string()))?;
            match line {
                Line::Final(held) => {
                    held.check().map_err(|implausible| damaged(implausible.to_string()))?;
                    self.records.push_final(held);
                }
                Line::Reference(reference) => {
                    reference.cublas.check().map_err(|implausible| damaged(implausible.to_string()))?;
                    self.records.push_reference(reference);
                }
            }
            self.to.line = self.to.line.max(id);
        }
        Ok(())
    }

    fn write_line(&mut self, line: &Line) -> Result<(), StudyError> {
        const QUERY: &str =
            "insert into autokernel.line (task, key, body) values ($1, $2, $3::text::json) on conflict do nothing";
        let task = self.queue.task(&line.task())?;
        let (key, body) = (digest(line), json(line));
        self.queue.link().run(|client| client.execute(QUERY, &[&task, &key.as_slice(), &body]))?;
        self.read_on()
    }

    /// Writes trials, a thousand at a time; those that are there already stay as they are.
    fn write_trials(&mut self, trials: &[Trial]) -> Result<(), StudyError> {
        const QUERY: &str = "insert into autokernel.work (task, key, kind, request, result, recorded_at)
            select task, key, 'trial', request::json, result::json, clock_timestamp()
            from unnest($1::bigint[], $2::bytea[], $3::text[], $4::text[]) as made (task, key, request, result)
            on conflict (key) do update set result = excluded.result, recorded_at = excluded.recorded_at,
                lease_until = null where work.result is null";
        const AT_ONCE: usize = 1000;
        for trials in trials.chunks(AT_ONCE) {
            let task = |trial: &Trial| Task { target: trial.target.clone(), environment: trial.environment.clone() };
            let tasks = trials.iter().map(|trial| self.queue.task(&task(trial))).collect::<Result<Vec<_>, _>>()?;
            let keys: Vec<Vec<u8>> = trials.iter().map(|trial| trial.key().bytes().to_vec()).collect();
            let requests: Vec<String> = trials.iter().map(|trial| json(&Request::Trial(Draft::of(trial)))).collect();
            let results: Vec<String> = trials.iter().map(|trial| json(&Tried::of(trial))).collect();
            self.queue.link().run(|client| client.execute(QUERY, &[&tasks, &keys, &requests, &results]))?;
        }
        Ok(())
    }
}

fn parse(request: &str, result: &str) -> Result<(Draft, Tried), String> {
    let draft: Draft = serde_json::from_str(request).map_err(|error| error.to_string())?;
    Ok((draft, Tried::read(result)?))
}

fn each_row(
    client: &mut Client,
    query: &str,
    (from, tasks): (&Option<String>, Option<&[i64]>),
    mut tell: impl FnMut(&Row),
) -> Result<(), postgres::Error> {
    let parameters: [&(dyn postgres::types::ToSql + Sync); 2] = [from, &tasks];
    let mut rows = client.query_raw(query, parameters)?;
    while let Some(row) = rows.next()? {
        tell(&row);
    }
    Ok(())
}

impl Store for Study {
    fn records(&self) -> &Records {
        &self.records
    }

    fn refresh(&mut self) -> Result<(), StoreError> {
        Ok(self.read_on()?)
    }

    /// Asks the workers for them.
    fn plan(&mut self, drafts: Vec<Trial>) -> Result<(), StoreError> {
        let Some(first) = drafts.first() else { return Ok(()) };
        let task = Task { target: first.target.clone(), environment: first.environment.clone() };
        let requests: Vec<Request> = drafts.iter().map(|draft| Request::Trial(Draft::of(draft))).collect();
        Ok(self.queue.ask(&task, &requests)?)
    }

    /// The workers' own.
    fn intents(&self) -> Option<Arc<Intents>> {
        None
    }

    /// What a worker recorded is written already and stays.
    fn append_all(&mut self, trials: Vec<Trial>) -> Result<(), StoreError> {
        self.write_trials(&trials)?;
        trials.into_iter().for_each(|trial| self.records.push(trial));
        Ok(())
    }

    fn append_final(&mut self, held: HeldFinal) -> Result<(), StoreError> {
        Ok(self.write_line(&Line::Final(held))?)
    }

    fn append_reference(&mut self, reference: Reference) -> Result<(), StoreError> {
        Ok(self.write_line(&Line::Reference(reference))?)
    }
}
