//! What is running: written down before it begins, so that whatever takes the tuner or the machine down is known.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use autokernel_codegen::schedule::Schedule;
use serde::{Deserialize, Serialize};

use crate::outcome::{Failure, Outcome};
use crate::trial::Trial;

/// The schedules that run on each GPU at this moment, in `….running` beside the journal.
///
/// Before a launch the trial that it would become is written and synced, with a failure for its outcome; after the
/// launch a line takes it back. What was never taken back when a journal is opened again was running when the tuner
/// was killed or the machine went down: it is journaled as it stands, and so never tried again.
#[derive(Debug)]
pub struct Intents {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// There once the first schedule begins.
    file: Option<File>,
    drafts: HashMap<Schedule, Trial>,
    running: usize,
    lines: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line {
    Begin { gpu: usize, trial: Box<Trial> },
    End { gpu: usize },
}

/// The file is begun anew after this many lines, when nothing runs.
const MOST_LINES: usize = 1000;

impl Intents {
    /// The intents beside `journal`.
    pub fn beside(journal: &Path) -> Self {
        let mut path = journal.as_os_str().to_owned();
        path.push(".running");
        Intents { path: path.into(), state: Mutex::default() }
    }

    /// Says what each schedule of the next batch would be journaled as, were it the last that this tuner did.
    pub fn plan(&self, trials: impl IntoIterator<Item = Trial>) {
        self.state().drafts = trials.into_iter().map(|trial| (trial.schedule, trial)).collect();
    }

    /// Writes down that `schedule` is about to run on GPU `gpu`, and waits until that is on disk. A schedule that is in no
    /// plan is nobody's trial and leaves no trace.
    ///
    /// # Errors
    /// It cannot be written: the schedule must not run.
    pub fn begin(&self, gpu: usize, schedule: &Schedule) -> std::io::Result<()> {
        let mut state = self.state();
        let Some(mut trial) = state.drafts.get(schedule).cloned() else { return Ok(()) };
        trial.outcome = Outcome::Failed(Failure::Crash {
            detail: format!("the tuner or the machine went down while this schedule ran on GPU {gpu}"),
        });
        if state.running == 0 && state.lines >= MOST_LINES {
            state.file = None;
        }
        if state.file.is_none() {
            state.file = Some(OpenOptions::new().write(true).create(true).truncate(true).open(&self.path)?);
            state.lines = 0;
        }
        state.write(&Line::Begin { gpu, trial: Box::new(trial) }, true)?;
        state.running += 1;
        Ok(())
    }

    /// Takes back what [`Intents::begin`] said: whatever became of the launch, the tuner has seen the end of it.
    ///
    /// Not synced: were the line lost with the power, the next `begin` or the journal itself say as much.
    pub fn end(&self, gpu: usize, schedule: &Schedule) {
        let mut state = self.state();
        if !state.drafts.contains_key(schedule) {
            return;
        }
        state.running = state.running.saturating_sub(1);
        // A line that cannot be written leaves the schedule under suspicion, which the journal's own line clears.
        let _ = state.write(&Line::End { gpu }, false);
    }

    /// Takes everything back: the person ends the tuner, and what runs is not to blame.
    pub fn withdraw(&self) {
        let mut state = self.state();
        if state.file.take().is_some() {
            let _ = std::fs::remove_file(&self.path);
        }
        *state = State::default();
    }

    /// What was begun and never taken back.
    pub fn left_behind(&self) -> std::io::Result<Vec<Trial>> {
        let mut text = Vec::new();
        match File::open(&self.path) {
            Ok(mut file) => file.read_to_end(&mut text)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut running = HashMap::new();
        // A line that is cut short was never synced, so its schedule never ran.
        for line in text.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()) {
            match line {
                Line::Begin { gpu, trial } => running.insert(gpu, *trial),
                Line::End { gpu } => running.remove(&gpu),
            };
        }
        let mut left: Vec<(usize, Trial)> = running.into_iter().collect();
        left.sort_by_key(|(gpu, _)| *gpu);
        Ok(left.into_iter().map(|(_, trial)| trial).collect())
    }

    /// Removes the file, unless something runs.
    pub fn clear(&self) {
        let mut state = self.state();
        if state.running == 0 {
            state.file = None;
            let _ = std::fs::remove_file(&self.path);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn write(&mut self, line: &Line, sync: bool) -> std::io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        file.write_all(&text)?;
        self.lines += 1;
        if sync { file.sync_data() } else { Ok(()) }
    }
}
