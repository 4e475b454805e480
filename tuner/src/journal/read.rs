//! Reading a journal back, after whatever ended its writer.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use autokernel_codegen::schedule::Schedule;

use super::checksum::{self, Verdict};
use super::error::{JournalError, io};
use super::line::{Line, Lines, VERSION};
use crate::trial::Trial;

/// What had to be repaired when a journal was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Bytes of a last line that was cut short, now dropped.
    pub dropped_bytes: usize,
    /// Lines of another version of the tuner that this one does not understand, kept but not used.
    pub foreign_lines: usize,
    /// Schedules that were running when the last tuner was killed or the machine went down, now journaled as failed.
    pub blamed: Vec<Schedule>,
}

/// The lines of `file`, which is left ready to append whole lines to.
pub fn read_and_repair(file: &mut File, path: &Path) -> Result<(Lines, Recovery), JournalError> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes)).map_err(io(path))?;
    let mut recovery = Recovery::default();
    let whole = whole_lines(&bytes);
    let mut lines = parse(&bytes[..whole], path, &mut recovery)?;
    let rest = &bytes[whole..];
    if rest.is_empty() {
        return Ok((lines, recovery));
    }
    // Only the newline may be missing: then the line counts.
    if let Some(line) = whole_line(rest, lines.version) {
        file.write_all(b"\n").and_then(|()| file.sync_data()).map_err(io(path))?;
        lines.push(line);
    } else {
        file.set_len(whole as u64).and_then(|()| file.sync_data()).map_err(io(path))?;
        recovery.dropped_bytes = rest.len();
    }
    Ok((lines, recovery))
}

/// The trials of the journal at `path`, which is left as it is: another process may be writing it.
///
/// # Errors
/// It cannot be read, or a line in its middle is not JSON.
pub fn read_trials(path: &Path) -> Result<Vec<Trial>, JournalError> {
    parse_trials(&std::fs::read(path).map_err(io(path))?, path)
}

/// The trials of a journal's bytes.
pub fn parse_trials(bytes: &[u8], path: &Path) -> Result<Vec<Trial>, JournalError> {
    let whole = whole_lines(bytes);
    let mut lines = parse(&bytes[..whole], path, &mut Recovery::default())?;
    // The writer may be in the middle of its last line.
    if let Some(line) = whole_line(&bytes[whole..], lines.version) {
        lines.push(line);
    }
    Ok(lines.trials)
}

/// Length of the part of `bytes` that ends with its last newline.
fn whole_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1)
}

/// A last line without its line break, if nothing else of it is missing.
fn whole_line(text: &[u8], version: Option<u32>) -> Option<Line> {
    read_line(text, version).ok().flatten()
}

fn parse(bytes: &[u8], path: &Path, recovery: &mut Recovery) -> Result<Lines, JournalError> {
    let mut lines = Lines::default();
    for (index, text) in bytes.split(|&byte| byte == b'\n').enumerate() {
        if text.trim_ascii().is_empty() {
            continue;
        }
        match read_line(text, lines.version) {
            Ok(Some(line)) => lines.push(line),
            Ok(None) => recovery.foreign_lines += 1,
            Err(reason) => return Err(JournalError::Damaged { path: path.to_owned(), line: index + 1, reason }),
        }
    }
    Ok(lines)
}

/// One line of a journal of that version; none if another version of the tuner wrote what this one does not know.
fn read_line(text: &[u8], version: Option<u32>) -> Result<Option<Line>, String> {
    match checksum::verify(text) {
        Verdict::Damaged => return Err("the checksum does not fit the line".to_owned()),
        Verdict::Absent if version.is_some() => return Err("the line lacks its checksum".to_owned()),
        Verdict::Whole | Verdict::Absent => {}
    }
    match serde_json::from_slice::<Line>(text) {
        Ok(Line::Journal { version }) if version > VERSION => {
            Err(format!("a newer tuner began this journal, as version {version}; update the tuner"))
        }
        Ok(line) => line.check().map(|()| Some(line)).map_err(|implausible| implausible.to_string()),
        Err(error) if error.is_data() => Ok(None),
        Err(error) => Err(format!("this is no line of JSON ({error})")),
    }
}

/// A journal of `trials`, as it is written.
#[cfg(test)]
pub fn sealed(trials: &[Trial]) -> Vec<u8> {
    let lines = std::iter::once(Line::Journal { version: VERSION }).chain(trials.iter().cloned().map(Line::Trial));
    let seal = |line: Line| [checksum::seal(serde_json::to_vec(&line).unwrap()), b"\n".to_vec()].concat();
    lines.flat_map(seal).collect()
}

/// The line of a trial in a journal of version 1.
#[cfg(test)]
pub fn unsealed(trial: &Trial) -> String {
    serde_json::to_string(&Line::Trial(trial.clone())).unwrap()
}
