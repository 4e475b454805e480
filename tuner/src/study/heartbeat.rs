//! Signs of life of a worker, on a thread and a connection of their own.

use std::collections::HashSet;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::error::StudyError;
use super::kind::Kind;
use super::link::Link;
use super::queue::json;

/// Signs of life in the time of a lease: some may be lost.
const A_LEASE: u32 = 4;

/// What a worker is for.
pub enum Role {
    /// It measures, on GPUs of this kind unless it replays.
    Measure(Option<Kind>),
    /// It compiles for those that measure.
    Compile,
    /// It searches what is demanded.
    Search,
}

impl Role {
    /// The word for it in the database.
    fn word(&self) -> &'static str {
        match self {
            Role::Measure(_) => "measure",
            Role::Compile => "compile",
            Role::Search => "search",
        }
    }

    fn kind(&self) -> Option<String> {
        match self {
            Role::Measure(kind) => kind.as_ref().map(json),
            Role::Compile | Role::Search => None,
        }
    }

    /// How it prolongs what it holds.
    fn prolong(&self) -> &'static str {
        match self {
            Role::Measure(_) => {
                "update autokernel.work set lease_until = now() + make_interval(secs => $3)
                 from unnest($1::bigint[], $2::integer[]) as held (id, attempt)
                 where work.id = held.id and work.attempt = held.attempt and result is null and lease_until is not null"
            }
            Role::Compile => {
                "update autokernel.work set compile_until = now() + make_interval(secs => $3)
                 from unnest($1::bigint[], $2::integer[]) as held (id, attempt)
                 where work.id = held.id and work.compile_attempt = held.attempt and result is null
                    and compile_until is not null"
            }
            Role::Search => {
                "update autokernel.search set lease_until = now() + make_interval(secs => $3)
                 from unnest($1::bigint[], $2::integer[]) as held (task, attempt)
                 where search.task = held.task and search.attempt = held.attempt and lease_until is not null"
            }
        }
    }
}

/// Tells the study that a worker lives, and prolongs what it holds, until it is dropped.
pub struct Heartbeat {
    held: Arc<Held>,
    /// None once the thread is to end.
    alive: Option<mpsc::Sender<()>>,
    left: mpsc::Receiver<()>,
}

/// How long a worker that ends waits until it has taken its leave.
const LEAVE: Duration = Duration::from_secs(2);

type Held = Mutex<HashSet<(i64, i32)>>;

impl Heartbeat {
    /// Begins for the worker of that name. The first sign has been given when it comes back.
    pub fn begin(mut link: Link, name: String, role: Role, lease: Duration) -> Result<Self, StudyError> {
        let held = Arc::new(Held::default());
        beat(&mut link, &held, &name, &role, lease)?;
        let (alive, ended) = mpsc::channel();
        let (leave, left) = mpsc::channel();
        let of_thread = Arc::clone(&held);
        std::thread::spawn(move || {
            while ended.recv_timeout(lease / A_LEASE) == Err(RecvTimeoutError::Timeout) {
                if let Err(error) = beat(&mut link, &of_thread, &name, &role, lease) {
                    errln!("warning: no sign of life could be given: {error}");
                }
            }
            let _ = link.run(|client| client.execute("delete from autokernel.worker where name = $1", &[&name]));
            let _ = leave.send(());
        });
        Ok(Heartbeat { held, alive: Some(alive), left })
    }

    /// Prolongs these from here on.
    pub fn hold(&self, claims: impl IntoIterator<Item = (i64, i32)>) {
        lock(&self.held).extend(claims);
    }

    /// Lets one end.
    pub fn drop_claim(&self, claim: (i64, i32)) {
        lock(&self.held).remove(&claim);
    }

    /// What is held.
    pub fn held(&self) -> Vec<(i64, i32)> {
        lock(&self.held).iter().copied().collect()
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.alive = None;
        // A server that is away learns of it when no sign of life comes.
        let _ = self.left.recv_timeout(LEAVE);
    }
}

fn lock(held: &Held) -> std::sync::MutexGuard<'_, HashSet<(i64, i32)>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

fn beat(link: &mut Link, held: &Held, name: &str, role: &Role, lease: Duration) -> Result<(), StudyError> {
    const ALIVE: &str =
        "insert into autokernel.worker (name, role, kind, seen_at) values ($1, $2, $3::text::json, now())
        on conflict (name) do update set role = excluded.role, kind = excluded.kind, seen_at = excluded.seen_at";
    let (word, kind, lease) = (role.word(), role.kind(), lease.as_secs_f64());
    link.run(|client| {
        client.execute(ALIVE, &[&name, &word, &kind])?;
        let (ids, attempts): (Vec<i64>, Vec<i32>) = lock(held).iter().copied().unzip();
        if !ids.is_empty() {
            client.execute(role.prolong(), &[&ids, &attempts, &lease])?;
        }
        Ok(())
    })
}
