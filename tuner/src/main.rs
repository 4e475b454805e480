//! The tuner's command line; see the library for what it does.

use std::process::ExitCode;

use clap::Parser;
use tuner::app::{self, AppError, Ending};
use tuner::cli::{Cli, Command};
use tuner::stop::Stop;
use tuner::{console, errln, outln};

fn main() -> ExitCode {
    show_warnings();
    let code = run(Cli::parse());
    if console::failed() && code == ExitCode::SUCCESS { ExitCode::FAILURE } else { code }
}

fn run(cli: Cli) -> ExitCode {
    let args = match cli.command {
        Some(Command::Worker(args)) => return exit_code(args.run()),
        Some(Command::Record(args)) => return exit_code(args.run()),
        Some(Command::Compare(args)) => return args.run().map_or_else(failed, |()| ExitCode::SUCCESS),
        Some(Command::Export(args)) => return exit_code(args.run()),
        Some(Command::Import(args)) => return exit_code(args.run()),
        Some(Command::Final(args)) => return ended(app::finals(&args, &stop_on_signals())),
        #[cfg(feature = "study")]
        Some(Command::Study(command)) => return exit_code(command.run()),
        #[cfg(feature = "study")]
        Some(Command::Work(args)) => return ended(app::work(&args, &stop_on_signals())),
        #[cfg(feature = "study")]
        Some(Command::Journal(command)) => return exit_code(command.run()),
        #[cfg(not(feature = "study"))]
        Some(Command::Study(args) | Command::Work(args) | Command::Journal(args)) => return args.refused(),
        Some(Command::Doctor(args)) => return args.run(),
        Some(Command::Show(args)) => return exit_code(args.run()),
        Some(Command::Portfolio(args)) => return exit_code(args.run()),
        Some(Command::Grid(args)) => return exit_code(args.run()),
        Some(Command::Regret(args)) => return exit_code(args.run(&stop_on_signals())),
        Some(Command::Profile(args)) => return exit_code(args.run()),
        Some(Command::Report(args)) => {
            // Without --follow a signal ends it at once.
            let stop = if args.follow.is_some() { stop_on_signals() } else { Stop::default() };
            return exit_code(args.run(&stop));
        }
        Some(Command::Tune(args)) => *args,
        None => cli.tune,
    };
    let result = app::tune(&args, &stop_on_signals());
    if let Some(error) = result.as_ref().err().filter(|_| args.json) {
        outln!("{}", app::RunDocument::failed(error).to_json());
    }
    ended(result)
}

fn ended(result: Result<Ending, AppError>) -> ExitCode {
    match result {
        Ok(ending) => {
            if let Ending::Broken(reason) = &ending {
                errln!("error: {reason}");
            }
            ExitCode::from(ending.exit_code())
        }
        Err(error) => failed(error),
    }
}

/// Shows what the library warns of, such as a key that travels unencrypted, on standard error.
fn show_warnings() {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing::Level::WARN)
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .log_internal_errors(false)
        .init();
}

fn failed(error: AppError) -> ExitCode {
    errln!("error: {error}");
    ExitCode::from(error.exit_code())
}

fn stop_on_signals() -> Stop {
    Stop::on_signals().unwrap_or_else(|error| {
        errln!("warning: {error}; Ctrl-C will end the run at once");
        Stop::default()
    })
}

fn exit_code<E: std::fmt::Display>(result: Result<(), E>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            errln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
