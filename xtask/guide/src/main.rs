//! Builds the guide into `target/guide`, or into the folder that is named.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let out = std::env::args_os().nth(1).map_or_else(|| guide::repository().join("target/guide"), PathBuf::from);
    let out = std::path::absolute(&out).unwrap_or(out);
    match guide::build(&out) {
        Ok(()) => {
            println!("{}", out.join("index.html").display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
