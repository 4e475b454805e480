//! What can go wrong with a study.

use postgres::error::SqlState;

use crate::store::StoreError;

/// A study that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// The database cannot be reached, or not any more.
    #[error(
        "{place}: {reason}; check that the server runs, that this machine may reach it, and that its certificate is trusted here (SSL_CERT_FILE), then run the command again"
    )]
    Unreachable {
        /// The database.
        place: String,
        /// What the system or the server said.
        reason: String,
    },
    /// User, password or database are not accepted.
    #[error("{place}: the server does not let this user in; check user and password of the URL (or PGPASSWORD)")]
    Refused {
        /// The database.
        place: String,
    },
    /// Nobody made a study in it.
    #[error("{place} holds no study; make one with `tuner study create URL`")]
    NoStudy {
        /// The database.
        place: String,
    },
    /// There is one already.
    #[error("{place} holds a study already; use it, or name another database")]
    Exists {
        /// The database.
        place: String,
    },
    /// Another tuner made it.
    #[error(
        "{place} holds a study of version {found}, and this tuner knows version {known}; use the tuner that made it"
    )]
    Version {
        /// The database.
        place: String,
        /// The version that it has.
        found: i32,
        /// The version that this tuner knows.
        known: i32,
    },
    /// A row is not what this tuner writes.
    #[error("{place}: {row}: {reason}; it was changed by hand or by another version: delete the row")]
    Damaged {
        /// The database.
        place: String,
        /// Which row.
        row: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The server refuses what is asked of it.
    #[error("{place}: {reason}; check the user's rights and the server's log")]
    Database {
        /// The database.
        place: String,
        /// What the server said.
        reason: String,
    },
    /// The run is to end while the server cannot be reached.
    #[error("interrupted while {place} could not be reached")]
    Interrupted {
        /// The database.
        place: String,
    },
}

impl From<StudyError> for StoreError {
    fn from(error: StudyError) -> Self {
        StoreError::new(error)
    }
}

/// What to make of an error of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The connection is gone or cannot be had now: try again.
    Transient,
    /// User or password.
    Credentials,
    /// There is no such table.
    NoStudy,
    /// There is such a table.
    Exists,
    /// Anything else.
    Other,
}

pub(super) fn kind(error: &postgres::Error) -> Kind {
    let Some(code) = error.code() else {
        // What did not come from the server came from the way there.
        return Kind::Transient;
    };
    match code.code().get(..2).unwrap_or_default() {
        // Connections, operator's intervention (a restart), too few resources, rollbacks.
        "08" | "57" | "53" | "40" => Kind::Transient,
        "28" => Kind::Credentials,
        _ if *code == SqlState::UNDEFINED_TABLE => Kind::NoStudy,
        _ if *code == SqlState::DUPLICATE_SCHEMA => Kind::Exists,
        _ => Kind::Other,
    }
}

/// Whether the server is there, and says that it is starting or stopping.
pub(super) fn is_restarting(error: &postgres::Error) -> bool {
    error.code().is_some_and(|code| code.code().starts_with("57P"))
}

/// The server's own words, or the system's; none of them repeat credentials.
pub(super) fn reason(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(told) => told.message().to_owned(),
        None => match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}
