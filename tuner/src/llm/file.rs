//! A folder as the model: prompts are written there, and whoever answers writes the replies beside them.

use std::collections::VecDeque;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::error::LlmError;
use super::provider::{JsonSchema, Message, Provider, Reply, Role, Usage};

/// Most bytes of a reply file: as much as any model writes.
const MAX_REPLY_BYTES: u64 = 4 << 20;
/// A reply that is being written when the time is up may take this much longer.
const SETTLING: Duration = Duration::from_secs(5);

/// A model that is reached through files: `prompt-001.md` is answered by `reply-001.md`, and so on.
///
/// The one who answers may be a person, a program, or a machine with no network between. A reply may be there before
/// its prompt. It counts once it is not blank and has stayed the same for one poll; best is to write it under another
/// name and rename it.
///
/// Prompts and replies stay, and the nth prompt about a topic keeps its number: a search that is run again finds its
/// answered prompts and asks only what was not answered yet. An answered prompt is never written again.
pub struct FileProvider {
    folder: PathBuf,
    deadline: Duration,
    poll: Duration,
    announce: Arc<dyn Fn(&str) + Send + Sync>,
    place: Mutex<Place>,
}

impl fmt::Debug for FileProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileProvider").field("folder", &self.folder).field("deadline", &self.deadline).finish()
    }
}

/// Where the conversation is.
#[derive(Debug, Default)]
struct Place {
    topic: String,
    /// Prompts about the topic that earlier runs wrote and this one has not come to yet.
    earlier: VecDeque<u32>,
}

impl FileProvider {
    /// The model behind `folder`, which is created if it is not there; each reply must come within `deadline`.
    ///
    /// New prompts are numbered after those that earlier runs left in the folder.
    ///
    /// # Errors
    /// [`LlmError::File`]: the folder cannot be created or read.
    pub fn new(folder: &Path, deadline: Duration) -> Result<FileProvider, LlmError> {
        fs::create_dir_all(folder).map_err(failed("creating", folder))?;
        prompts(folder).map_err(failed("reading", folder))?;
        let (poll, announce) = (Duration::from_millis(200), Arc::new(|_: &str| ()));
        Ok(FileProvider { folder: folder.to_owned(), deadline, poll, announce, place: Mutex::default() })
    }

    /// The same, looking for replies every `poll`.
    pub fn polling_every(self, poll: Duration) -> Self {
        FileProvider { poll, ..self }
    }

    /// The same, calling `announce` with a line for people when a reply has to be waited for.
    pub fn announcing(self, announce: impl Fn(&str) + Send + Sync + 'static) -> Self {
        FileProvider { announce: Arc::new(announce), ..self }
    }

    /// The number of the next prompt, and its topic.
    fn next(&self) -> Result<(u32, String), LlmError> {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        let number = match place.earlier.pop_front() {
            Some(number) => number,
            None => {
                let known = match prompts(&self.folder) {
                    // Writing the prompt will say so.
                    Err(gone) if gone.kind() == io::ErrorKind::NotFound => Vec::new(),
                    known => known.map_err(failed("reading", &self.folder))?,
                };
                known.last().map_or(0, |last| *last).saturating_add(1)
            }
        };
        Ok((number, place.topic.clone()))
    }

    /// Writes the prompt unless it is there already.
    fn write_prompt(&self, number: u32, text: &str) -> Result<(), LlmError> {
        let path = prompt_path(&self.folder, number);
        if fs::read_to_string(&path).is_ok_and(|written| written == text) {
            return Ok(());
        }
        // Renamed into place, so that nobody reads half a prompt.
        let unfinished = self.folder.join(format!(".prompt-{number:03}.md"));
        fs::write(&unfinished, text).and_then(|()| fs::rename(&unfinished, &path)).map_err(failed("writing", &path))
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
            let changing = now.is_some() && now != seen;
            seen = now;
            let left = self.deadline.saturating_sub(start.elapsed());
            if left.is_zero() && !(changing && start.elapsed() < self.deadline.saturating_add(SETTLING)) {
                return Err(LlmError::NoReplyFile { path: path.to_owned(), waited: self.deadline });
            }
            std::thread::sleep(if left.is_zero() { self.poll } else { self.poll.min(left) });
        }
    }
}

impl Provider for FileProvider {
    fn name(&self) -> String {
        format!("files in {}", self.folder.display())
    }

    fn complete(&self, messages: &[Message], _wanted: Option<&JsonSchema>) -> Result<Reply, LlmError> {
        let (number, topic) = self.next()?;
        let path = reply_path(&self.folder, number);
        let (is_asked, is_answered) = (prompt_path(&self.folder, number).exists(), stamp(&path).is_some());
        if !(is_asked && is_answered) {
            self.write_prompt(number, &render(messages, &topic, &path))?;
        }
        if !is_answered {
            let prompt = prompt_path(&self.folder, number);
            (self.announce)(&format!("{} awaits its reply in {}", prompt.display(), path.display()));
        }
        let text = self.await_reply(&path)?;
        Ok(Reply { text, model: "file".to_owned(), usage: Usage::default(), retried: Vec::new(), cut_short: false })
    }

    fn begin(&self, topic: &str) {
        let earlier = prompts(&self.folder).unwrap_or_default();
        let about = |number: &u32| {
            let text = fs::read_to_string(prompt_path(&self.folder, *number)).unwrap_or_default();
            text.lines().next() == Some(&heading(topic))
        };
        let earlier = earlier.into_iter().filter(about).collect();
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = Place { topic: topic.to_owned(), earlier };
    }

    fn repeats_itself(&self) -> bool {
        true
    }
}

fn prompt_path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("prompt-{number:03}.md"))
}

fn reply_path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("reply-{number:03}.md"))
}

/// The first line of a prompt about `topic`, by which a later run knows it.
fn heading(topic: &str) -> String {
    format!("<!-- {topic} -->")
}

/// The messages as one readable document that says where its answer goes.
fn render(messages: &[Message], topic: &str, reply: &Path) -> String {
    let name = reply.file_name().unwrap_or_default().display();
    let mut text = format!("{}\n<!-- Write the reply to {name} in this folder. -->\n", heading(topic));
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

/// The numbers of the prompts in `folder`, ascending.
fn prompts(folder: &Path) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number: Option<u32> =
            name.to_str().and_then(|name| name.strip_prefix("prompt-")?.strip_suffix(".md")?.parse().ok());
        numbers.extend(number);
    }
    numbers.sort_unstable();
    Ok(numbers)
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
