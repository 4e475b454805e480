//! The project's own commands. `cargo xtask --help` lists them.

mod attention_cubins;
mod cargo;
mod gpu_pack;
mod guide;
mod sass;
mod schema;
mod setup;
mod shell;
mod size;
mod soak;
mod test;
mod toolkit;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Commands for people who work on autokernel.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Setup(setup::Options),
    Test(test::Options),
    #[command(hide = true)]
    RunTest(test::beside::Options),
    GpuPack(gpu_pack::Options),
    Guide(guide::Options),
    Sass(sass::Options),
    AttentionCubins(attention_cubins::Options),
    /// Write the expression trees of the built-in epilogues anew from their text.
    Builtins,
    /// Write best_config.schema.json anew from the types in autokernel-codegen.
    Schema,
    /// Run the checks that are too long for every run: the second operation, mutants of the kernels, fuzzing, many seeds.
    Soak,
}

fn main() -> ExitCode {
    match run(&Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command) -> Result<()> {
    let root = workspace::root()?;
    match command {
        Command::Setup(options) => setup::run(&root, options),
        Command::Test(options) => test::run(&root, options),
        Command::RunTest(options) => test::beside::run(options),
        Command::GpuPack(options) => gpu_pack::run(&root, options),
        Command::Guide(options) => guide::run(&root, options),
        Command::Sass(options) => sass::run(&root, options),
        Command::AttentionCubins(options) => attention_cubins::run(&root, options),
        Command::Builtins => schema::builtins(&root),
        Command::Schema => schema::run(&root),
        Command::Soak => soak::run(&root),
    }
}
