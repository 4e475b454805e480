//! Why a proposal cannot be tried.

use std::fmt;

use autokernel_codegen::schedule::Schedule;
use autokernel_core::Ms;

use crate::outcome::Outcome;

/// Why a proposal cannot be tried.
#[derive(Clone, Debug, PartialEq)]
pub enum Rejection {
    /// This schedule was tried before.
    AlreadyTried {
        /// The schedule.
        schedule: Schedule,
        /// What became of it, once that was looked up.
        became: Option<Box<Outcome>>,
    },
    /// Another reason, in the words that help the model most.
    Because(String),
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejection::AlreadyTried { became, .. } => {
                f.write_str("duplicate: already tried")?;
                match became.as_deref() {
                    Some(Outcome::Measured(measurement)) => write!(f, ": {}", Ms(measurement.median_ms)),
                    Some(Outcome::Failed(failure)) => write!(f, ": {failure}"),
                    None => Ok(()),
                }
            }
            Rejection::Because(reason) => f.write_str(reason),
        }
    }
}

impl From<String> for Rejection {
    fn from(reason: String) -> Self {
        Rejection::Because(reason)
    }
}

impl From<&str> for Rejection {
    fn from(reason: &str) -> Self {
        Rejection::Because(reason.to_owned())
    }
}
