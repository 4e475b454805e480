//! Histories by number.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::history::{Event, History};

/// Histories without gaps, which cost no allocation each: the reads of all of them lie one behind the other. Equal ones
/// that come soon after each other have one number.
#[derive(Debug)]
pub(super) struct Histories {
    spans: Vec<Span>,
    reads: Vec<Event>,
    /// Of each digest, the number of the latest history.
    latest: Vec<u32>,
}

/// Where a history's reads lie.
#[derive(Clone, Debug, Default)]
struct Span {
    write: Option<Event>,
    start: usize,
    end: usize,
}

/// Digests that are told apart.
const DIGESTS: usize = 1 << 13;

impl Histories {
    /// The first `count` are those of bytes that nobody has touched.
    pub fn new(count: u32) -> Self {
        Histories { spans: vec![Span::default(); count as usize], reads: Vec::new(), latest: vec![0; DIGESTS] }
    }

    pub fn len(&self) -> usize {
        self.spans.len()
    }

    pub fn get(&self, number: u32) -> Option<History<'_>> {
        let Span { write, start, end } = self.spans.get(number as usize)?;
        Some(History { write: write.as_ref(), reads: self.reads.get(*start..*end)? })
    }

    /// The number of the history of a byte that was just written.
    pub fn written(&mut self, event: Event) -> u32 {
        self.number(Some(event), self.reads.len())
    }

    /// The number of history `number` after a read, when only those before count that are to be kept.
    pub fn read(&mut self, number: u32, keep: impl Fn(&Event) -> bool, event: Event) -> u32 {
        let Span { write, start, end } = self.spans.get(number as usize).cloned().unwrap_or_default();
        let first = self.reads.len();
        for at in start..end {
            self.reads.extend(self.reads.get(at).copied().filter(&keep));
        }
        self.reads.push(event);
        self.number(write, first)
    }

    /// The number of a history that may be another table's.
    pub fn copy(&mut self, write: Option<Event>, reads: impl Iterator<Item = Event>) -> u32 {
        let first = self.reads.len();
        self.reads.extend(reads);
        self.number(write, first)
    }

    /// The number of the history whose reads are those from `start` on; they go where it has one already.
    fn number(&mut self, write: Option<Event>, start: usize) -> u32 {
        let reads = self.reads.get(start..).unwrap_or_default();
        let digest = digest(write.as_ref(), reads);
        let before = self.latest.get(digest).copied().unwrap_or_default();
        if self.get(before) == Some(History { write: write.as_ref(), reads }) {
            self.reads.truncate(start);
            return before;
        }
        let number = self.spans.len() as u32;
        self.spans.push(Span { write, start, end: self.reads.len() });
        if let Some(latest) = self.latest.get_mut(digest) {
            *latest = number;
        }
        number
    }
}

/// Of histories of one length, those at both ends of the reads tell nearly all apart.
fn digest(write: Option<&Event>, reads: &[Event]) -> usize {
    let mut hasher = FxHasher::default();
    (write, reads.len(), reads.first(), reads.last()).hash(&mut hasher);
    hasher.finish() as usize % DIGESTS
}
