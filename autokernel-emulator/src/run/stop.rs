//! How an instruction fails.

use crate::fault::FaultKind;

/// A fault before its place is known: only which lane it was.
#[derive(Debug)]
pub(super) struct Stop {
    pub lane: usize,
    pub kind: Box<FaultKind>,
}

pub(super) type Exec<T> = Result<T, Stop>;

pub(super) fn stop<T>(lane: usize, kind: FaultKind) -> Exec<T> {
    Err(Stop { lane, kind: Box::new(kind) })
}

/// A fault of what the hardware refuses and no other kind names.
pub(super) fn refuse<T>(lane: usize, reason: impl Into<String>) -> Exec<T> {
    stop(lane, FaultKind::Refused { reason: reason.into() })
}
