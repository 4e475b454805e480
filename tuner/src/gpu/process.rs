//! A worker process, seen from its parent: one line there, one line back, within a deadline.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::protocol::{Reply, Request};

/// How a worker is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

impl WorkerCommand {
    /// This program, as the worker of GPU `device`.
    ///
    /// # Errors
    /// The system does not know where this program is.
    pub fn of_this_program(device: usize) -> std::io::Result<Self> {
        Ok(WorkerCommand::of(&std::env::current_exe()?, device))
    }

    /// Another program with the tuner's command line, as the worker of GPU `device`.
    pub fn of(program: &Path, device: usize) -> Self {
        let args = ["worker", "--device", &device.to_string()].map(OsString::from);
        WorkerCommand { program: program.to_owned(), args: args.into() }
    }
}

/// Why there is no reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// None came in time.
    Timeout(Duration),
    /// The worker is gone, or talks nonsense: how it ended, and the last it said on its standard error.
    Crash(String),
}

/// A running worker. Dropping it kills it.
pub struct WorkerProcess {
    child: Child,
    requests: ChildStdin,
    replies: Receiver<std::io::Result<String>>,
    last_words: Arc<Mutex<VecDeque<String>>>,
    /// Disconnected once all of its standard error is among the last words.
    silence: Receiver<()>,
}

/// Lines of standard error that are kept.
const LAST_WORDS: usize = 8;
/// How long a worker that closed its output may take to end.
const END: Duration = Duration::from_secs(2);
/// How long the last words of a worker that ended may take: what it started could hold its standard error open.
const LAST_WORDS_LIMIT: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_millis(5);

impl WorkerProcess {
    /// Starts a worker.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn spawn(command: &WorkerCommand) -> std::io::Result<Self> {
        let mut process = Command::new(&command.program);
        process.args(&command.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // In a group of its own, Ctrl-C does not end it in the middle of a candidate that would then be to blame.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut process, 0);
        let mut child = process.spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(requests), Some(stdout), Some(stderr)) = pipes else {
            return Err(std::io::Error::other("the worker's pipes are missing"));
        };
        let last_words = Arc::default();
        let silence = keep_last_words(stderr, Arc::clone(&last_words));
        Ok(WorkerProcess { child, requests, replies: read_lines(stdout), last_words, silence })
    }

    /// Asks, and waits for the reply.
    ///
    /// # Errors
    /// The fault; the worker must then be replaced.
    pub fn ask(&mut self, request: &Request, deadline: Duration) -> Result<Reply, Fault> {
        let mut line = serde_json::to_vec(request).map_err(|error| Fault::Crash(error.to_string()))?;
        line.push(b'\n');
        if self.requests.write_all(&line).and_then(|()| self.requests.flush()).is_err() {
            return Err(Fault::Crash(self.obituary()));
        }
        match self.replies.recv_timeout(deadline) {
            Ok(Ok(line)) => serde_json::from_str(&line)
                .map_err(|_| Fault::Crash(format!("it answered `{}`, which is no reply", excerpt(&line)))),
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => Err(Fault::Crash(self.obituary())),
            Err(RecvTimeoutError::Timeout) => Err(Fault::Timeout(deadline)),
        }
    }

    /// How the worker ended, and its last words.
    fn obituary(&mut self) -> String {
        let deadline = Instant::now() + END;
        let mut status = self.child.try_wait();
        while matches!(status, Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(POLL);
            status = self.child.try_wait();
        }
        let ended = match status {
            Ok(Some(status)) => describe(status),
            _ => "closed its output".to_owned(),
        };
        // Nothing is ever sent: this ends with the pipe, or at the limit.
        let _ = self.silence.recv_timeout(LAST_WORDS_LIMIT);
        let last_words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        let last_words: Vec<&str> = last_words.iter().map(String::as_str).collect();
        match last_words.is_empty() {
            true => format!("the worker {ended}"),
            false => format!("the worker {ended}; its last words: {}", last_words.join(" | ")),
        }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        // A process whose kernel hangs can take its time to die, and the next need not wait for it.
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        let deadline = Instant::now() + END;
        while Instant::now() < deadline {
            std::thread::sleep(POLL);
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
        }
    }
}

fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("was ended by signal {signal}");
    }
    match status.code() {
        Some(code) => format!("exited with code {code}"),
        None => "ended".to_owned(),
    }
}

fn excerpt(line: &str) -> String {
    const MOST: usize = 200;
    line.chars().take(MOST).collect()
}

fn read_lines(stdout: ChildStdout) -> Receiver<std::io::Result<String>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

fn keep_last_words(stderr: ChildStderr, last_words: Arc<Mutex<VecDeque<String>>>) -> Receiver<()> {
    let (speaking, silence) = mpsc::channel();
    std::thread::spawn(move || {
        let _speaking = speaking;
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            let mut kept = last_words.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() == LAST_WORDS {
                kept.pop_front();
            }
            kept.push_back(excerpt(&line));
        }
    });
    silence
}
