//! A model's replies of an earlier run, given again in the same order.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::llm::{JsonSchema, LlmError, Message, Provider, Reply, Usage};

/// Answers the first request with `reply-001.md`, the next with `reply-002.md`, whatever is asked.
///
/// The first reply is what the model said to the same task. Later ones were made for the times that its own run had
/// seen, so a search that has seen others gets advice that does not know of them.
#[derive(Debug)]
pub struct RecordedReplies {
    folder: PathBuf,
    replies: Vec<String>,
    next: AtomicUsize,
}

impl RecordedReplies {
    /// The replies in `folder/slug`. Where that holds folders, each is a run of its own, and seeds take turns.
    ///
    /// # Errors
    /// There is no reply.
    pub fn open(folder: &Path, slug: &str, seed: u64) -> Result<Self, LlmError> {
        let of_target = folder.join(slug);
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| LlmError::File { action: "reading", path, source }
        };
        let mut runs = Vec::new();
        for entry in std::fs::read_dir(&of_target).map_err(failed(&of_target))? {
            let path = entry.map_err(failed(&of_target))?.path();
            runs.extend(path.is_dir().then_some(path));
        }
        runs.sort();
        let folder = if runs.is_empty() { of_target } else { runs[seed as usize % runs.len()].clone() };
        let mut replies = Vec::new();
        loop {
            let path = folder.join(format!("reply-{:03}.md", replies.len() + 1));
            match std::fs::read_to_string(&path) {
                Ok(reply) => replies.push(reply),
                Err(_) if !replies.is_empty() => break,
                Err(error) => return Err(failed(&path)(error)),
            }
        }
        Ok(RecordedReplies { folder, replies, next: AtomicUsize::new(0) })
    }
}

impl Provider for RecordedReplies {
    fn name(&self) -> String {
        format!("replies in {}", self.folder.display())
    }

    fn complete(&self, _messages: &[Message], _wanted: Option<&JsonSchema>) -> Result<Reply, LlmError> {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        let text = self.replies.get(next).cloned().ok_or_else(|| LlmError::NoReplyFile {
            path: self.folder.join(format!("reply-{:03}.md", next + 1)),
            waited: Duration::ZERO,
        })?;
        Ok(Reply { text, model: "recorded".to_owned(), usage: Usage::default(), retried: Vec::new(), cut_short: false })
    }
}
