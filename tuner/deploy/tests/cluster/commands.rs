//! The commands in the files by the tuner's own command line.

use clap::Parser;
use tuner::cli::{Cli, Command};

use crate::files;

/// What a file lets the tuner do.
fn check(words: &[String]) -> Command {
    // Where a variable holds the URL it is not set here.
    let words = words.iter().map(|word| if word == "env:STUDY" { "postgres://ann@db.example/tuning" } else { word });
    Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).command.unwrap()
}

/// The words of a shell's line, of which variables stay.
fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(|word| word.trim_matches('"').replace("$SLURM_CPUS_PER_TASK", "8")).collect()
}

/// The commands by the names of their files.
fn commands() -> Vec<(String, Vec<String>)> {
    let mut commands = Vec::new();
    for (path, text) in files("slurm", ".sbatch") {
        let line = text.lines().find_map(|line| line.strip_prefix("exec ")).unwrap();
        commands.push((path.display().to_string(), words(line)));
    }
    for (path, text) in files("kubernetes", ".yaml") {
        let Some(args) = text.lines().find_map(|line| line.trim().strip_prefix("args: ")) else { continue };
        let args: Vec<String> = serde_json::from_str(args).unwrap();
        commands.push((path.display().to_string(), [vec!["tuner".to_owned()], args].concat()));
    }
    commands
}

#[test]
fn every_command_is_one_that_the_tuner_knows_and_compiles_where_its_file_says_so() {
    let commands = commands();
    assert_eq!(commands.len(), 4);
    for (file, words) in commands {
        assert!(words.iter().any(|word| word == "env:STUDY"), "{file}: {words:?}");
        let Command::Work(args) = check(&words) else { panic!("{file}: {words:?}") };
        assert_eq!(args.compile, file.contains("compile"), "{file}");
        assert_eq!(args.idle, Some(600.0), "{file}");
    }
}
