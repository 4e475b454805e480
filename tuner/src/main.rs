//! The tuner's command line; see the library for what it does.

use std::process::ExitCode;

use clap::Parser;
use tuner::app::{self, Ending};
use tuner::cli::{Cli, Command};
use tuner::session::Stop;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let args = match cli.command {
        Some(Command::Worker(args)) => return exit_code(args.run()),
        Some(Command::Record(args)) => return exit_code(args.run()),
        Some(Command::Doctor(args)) => return args.run(),
        Some(Command::Show(args)) => return exit_code(args.run()),
        Some(Command::Profile(args)) => return exit_code(args.run()),
        Some(Command::Report(args)) => return exit_code(args.run()),
        Some(Command::Tune(args)) => *args,
        None => cli.tune,
    };
    let stop = match Stop::on_signals() {
        Ok(stop) => stop,
        Err(error) => {
            eprintln!("warning: {error}; Ctrl-C will end the run at once");
            Stop::default()
        }
    };
    match app::tune(&args, &stop) {
        Ok(ending) => {
            if let Ending::Broken(reason) = &ending {
                eprintln!("error: {reason}");
            }
            ExitCode::from(ending.exit_code())
        }
        Err(error) => {
            if args.json {
                println!("{}", app::RunDocument::failed(&error).to_json());
            }
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn exit_code<E: std::fmt::Display>(result: Result<(), E>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
