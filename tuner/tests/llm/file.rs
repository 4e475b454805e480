//! The folder as a model: prompts and replies as files.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tuner::llm::{FileProvider, LlmError, Message, Provider};

const POLL: Duration = Duration::from_millis(5);
const SOON: Duration = Duration::from_millis(60);
const LATE: Duration = Duration::from_secs(5);

fn provider(folder: &Path, deadline: Duration) -> FileProvider {
    FileProvider::new(folder, deadline).unwrap().polling_every(POLL)
}

fn ask(provider: &FileProvider) -> Result<String, LlmError> {
    let messages = [Message::system("Be brief."), Message::user("Propose."), Message::assistant("{}")];
    provider.complete(&messages, None).map(|reply| reply.text)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Waits for `path`, as the one who answers does.
fn read_when_there(path: PathBuf) -> String {
    let start = Instant::now();
    while start.elapsed() < LATE {
        if let Ok(text) = fs::read_to_string(&path) {
            return text;
        }
        thread::sleep(POLL);
    }
    panic!("{} did not appear", path.display());
}

#[test]
fn a_prompt_appears_whole_and_its_reply_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let answering = folder.path().to_owned();
    let person = thread::spawn(move || {
        let prompt = read_when_there(answering.join("prompt-001.md"));
        fs::write(answering.join("reply-001.md"), "an answer").unwrap();
        prompt
    });
    assert_eq!(ask(&provider(folder.path(), LATE)).unwrap(), "an answer");
    let prompt = person.join().unwrap();
    for part in ["reply-001.md", "Be brief.", "Propose.", "Your earlier reply"] {
        assert!(prompt.contains(part), "{prompt}");
    }
    assert_eq!(names(folder.path()), ["prompt-001.md", "reply-001.md"]);
}

#[test]
fn a_reply_that_is_written_slowly_is_read_when_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reply-001.md");
    fs::write(&path, "").unwrap();
    let slow = thread::spawn(move || {
        let mut text = String::new();
        for part in ["one ", "two ", "three"] {
            text.push_str(part);
            fs::write(&path, &text).unwrap();
            thread::sleep(Duration::from_millis(50));
        }
    });
    let provider = FileProvider::new(folder.path(), LATE).unwrap().polling_every(Duration::from_millis(200));
    assert_eq!(ask(&provider).unwrap(), "one two three");
    slow.join().unwrap();
}

#[test]
fn prompts_are_numbered_after_those_of_earlier_runs_and_replies_may_wait_for_them() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("prompt-007.md", "old"), ("reply-007.md", "old"), ("prompt-x.md", ""), ("notes.txt", "")] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    fs::write(folder.path().join("reply-008.md"), "eight").unwrap();
    fs::write(folder.path().join("reply-009.md"), "nine").unwrap();
    let provider = provider(folder.path(), LATE);
    assert_eq!([ask(&provider).unwrap(), ask(&provider).unwrap()], ["eight", "nine"]);
}

#[test]
fn a_reply_that_never_comes_ends_at_the_deadline_with_the_file_to_write() {
    let folder = tempfile::tempdir().unwrap();
    for blank in [None, Some(""), Some(" \n")] {
        let provider = provider(folder.path(), SOON);
        let number = names(folder.path()).iter().filter(|name| name.starts_with("prompt")).count() + 1;
        let reply = folder.path().join(format!("reply-{number:03}.md"));
        if let Some(text) = blank {
            fs::write(&reply, text).unwrap();
        }
        let error = ask(&provider).unwrap_err();
        assert!(matches!(error, LlmError::NoReplyFile { .. }), "{error:?}");
        assert!(error.to_string().contains(reply.to_str().unwrap()), "{error}");
    }
}

#[test]
fn a_huge_reply_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("reply-001.md"), vec![b'x'; 5 << 20]).unwrap();
    let error = ask(&provider(folder.path(), LATE)).unwrap_err();
    assert!(matches!(error, LlmError::TooLarge { .. }), "{error:?}");
}

#[test]
fn a_folder_that_cannot_be_used_is_an_error_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = FileProvider::new(&file.join("below"), SOON).unwrap_err();
    assert!(matches!(error, LlmError::File { .. }) && error.to_string().contains("below"), "{error}");
    let gone = tempfile::tempdir().unwrap();
    let provider = provider(gone.path(), SOON);
    gone.close().unwrap();
    let error = ask(&provider).unwrap_err();
    assert!(
        error.to_string().contains("prompt-001.md") && error.to_string().contains("check that the folder"),
        "{error}"
    );
}
