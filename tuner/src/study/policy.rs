//! What all who take part in a study agree on, and how one is made.

use std::time::Duration;

use super::error::StudyError;
use super::link::Link;

/// The version of the tables.
const VERSION: i32 = 2;

/// How work is leased.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// How long a worker holds what it took without a sign of life.
    pub lease: Duration,
    /// How many workers may be lost over one schedule before it is blamed.
    pub attempts: u32,
}

impl Policy {
    /// Makes a study in the database that `link` leads to.
    ///
    /// # Errors
    /// It holds one already, or the user may not make tables.
    pub fn create(self, link: &mut Link) -> Result<(), StudyError> {
        link.run(|client| {
            let mut transaction = client.transaction()?;
            transaction.batch_execute(include_str!("schema.sql"))?;
            let (lease, attempts) = (self.lease.as_secs_f64(), self.attempts as i32);
            transaction.execute(
                "insert into autokernel.study (version, lease, attempts) values ($1, make_interval(secs => $2), $3)",
                &[&VERSION, &lease, &attempts],
            )?;
            transaction.commit()
        })
    }

    /// That of the study that `link` leads to.
    ///
    /// # Errors
    /// There is none, or none that this tuner knows.
    pub fn of(link: &mut Link) -> Result<Self, StudyError> {
        const QUERY: &str =
            "select version, extract(epoch from lease)::float8 as lease, attempts from autokernel.study";
        let row = link.run(|client| client.query_opt(QUERY, &[]))?;
        let row = row.ok_or_else(|| StudyError::NoStudy { place: link.place() })?;
        let found: i32 = row.get("version");
        if found != VERSION {
            return Err(StudyError::Version { place: link.place(), found, known: VERSION });
        }
        let lease = Duration::try_from_secs_f64(row.get("lease")).unwrap_or(Duration::MAX);
        Ok(Policy { lease, attempts: row.get::<_, i32>("attempts").unsigned_abs() })
    }
}
