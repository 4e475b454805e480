//! The tuner's command line.

use clap::Parser;
use tuner::gpu::cli::{RecordArgs, WorkerArgs};

#[derive(Parser)]
enum Command {
    /// Measure a whole space of schedules on this machine's GPU.
    Record(RecordArgs),
    /// Serve measurements (started by the tuner itself).
    #[command(hide = true)]
    Worker(WorkerArgs),
}

fn main() {
    let result: Result<(), Box<dyn std::error::Error>> = match Command::parse() {
        Command::Record(args) => args.run().map_err(Into::into),
        Command::Worker(args) => args.run().map_err(Into::into),
    };
    if let Err(error) = result {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
