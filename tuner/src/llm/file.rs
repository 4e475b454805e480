//! A folder as the model: prompts are written there, and whoever answers writes the replies beside them.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::error::LlmError;
use super::provider::{JsonSchema, Message, Provider, Reply, Role, Usage};

/// Most bytes of a reply file: as much as any model writes.
const MAX_REPLY_BYTES: u64 = 4 << 20;

/// A model that is reached through files: `prompt-001.md` is answered by `reply-001.md`, and so on.
///
/// The one who answers may be a person, a program, or a machine with no network between. A reply may be there before
/// its prompt. It counts once it is not blank and has stayed the same for one poll; best is to write it under another
/// name and rename it.
#[derive(Debug)]
pub struct FileProvider {
    folder: PathBuf,
    deadline: Duration,
    poll: Duration,
    next: AtomicU32,
}

impl FileProvider {
    /// The model behind `folder`, which is created if it is not there; each reply must come within `deadline`.
    ///
    /// Prompts are numbered after those that earlier runs left in the folder.
    ///
    /// # Errors
    /// [`LlmError::File`]: the folder cannot be created or read.
    pub fn new(folder: &Path, deadline: Duration) -> Result<FileProvider, LlmError> {
        fs::create_dir_all(folder).map_err(failed("creating", folder))?;
        let last = last_prompt(folder).map_err(failed("reading", folder))?;
        let poll = Duration::from_millis(200);
        Ok(FileProvider { folder: folder.to_owned(), deadline, poll, next: AtomicU32::new(last.saturating_add(1)) })
    }

    /// The same, looking for replies every `poll`.
    pub fn polling_every(self, poll: Duration) -> Self {
        FileProvider { poll, ..self }
    }

    fn write_prompt(&self, number: u32, text: &str) -> Result<(), LlmError> {
        let path = self.folder.join(format!("prompt-{number:03}.md"));
        // Renamed into place, so that nobody reads half a prompt.
        let unfinished = self.folder.join(format!(".prompt-{number:03}.md"));
        fs::write(&unfinished, text).and_then(|()| fs::rename(&unfinished, &path)).map_err(failed("writing", &path))?;
        let reply = reply_path(&self.folder, number);
        tracing::info!(prompt = %path.display(), reply = %reply.display(), "waiting for a reply file");
        Ok(())
    }

    fn await_reply(&self, path: &Path) -> Result<String, LlmError> {
        let start = Instant::now();
        let mut seen = None;
        loop {
            let now = stamp(path);
            // The same twice: whoever writes it has finished.
            if now.is_some() && now == seen {
                let text = read_capped(path)?;
                if !text.trim().is_empty() {
                    return Ok(text);
                }
            }
            seen = now;
            let left = self.deadline.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Err(LlmError::NoReplyFile { path: path.to_owned(), waited: self.deadline });
            }
            std::thread::sleep(self.poll.min(left));
        }
    }
}

impl Provider for FileProvider {
    fn name(&self) -> String {
        format!("files in {}", self.folder.display())
    }

    fn complete(&self, messages: &[Message], _wanted: Option<&JsonSchema>) -> Result<Reply, LlmError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = reply_path(&self.folder, number);
        self.write_prompt(number, &render(messages, &path))?;
        let text = self.await_reply(&path)?;
        Ok(Reply { text, model: "file".to_owned(), usage: Usage::default() })
    }
}

fn reply_path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("reply-{number:03}.md"))
}

/// The messages as one readable document that says where its answer goes.
fn render(messages: &[Message], reply: &Path) -> String {
    let name = reply.file_name().unwrap_or_default().display();
    let mut text = format!("<!-- Write the reply to {name} in this folder. -->\n");
    for Message { role, content } in messages {
        let heading = match role {
            Role::System => "Instructions",
            Role::User => "The tuner",
            Role::Assistant => "Your earlier reply",
        };
        text.push_str(&format!("\n---\n**{heading}**\n\n{}\n", content.trim_end()));
    }
    text
}

/// The number of the last prompt in `folder`; 0 if there is none.
fn last_prompt(folder: &Path) -> io::Result<u32> {
    let mut last = 0;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("prompt-")?.strip_suffix(".md")?.parse().ok());
        last = last.max(number.unwrap_or(0));
    }
    Ok(last)
}

/// Size and time of `path`; `None` while it is missing or empty.
fn stamp(path: &Path) -> Option<(u64, SystemTime)> {
    let metadata = fs::metadata(path).ok().filter(|metadata| metadata.len() > 0)?;
    Some((metadata.len(), metadata.modified().ok()?))
}

fn read_capped(path: &Path) -> Result<String, LlmError> {
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(MAX_REPLY_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(failed("reading", path))?;
    if bytes.len() as u64 > MAX_REPLY_BYTES {
        return Err(LlmError::TooLarge { limit_bytes: MAX_REPLY_BYTES });
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LlmError {
    let path = path.to_owned();
    move |source| LlmError::File { action, path, source }
}
