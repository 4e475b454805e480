//! What stands for a study in a tuner that was built without: its URL is refused where it is given.

use std::ffi::OsString;
use std::fmt;
use std::process::ExitCode;
use std::str::FromStr;

use clap::Args;
use clap::builder::ValueParserFactory;

use crate::options::Unrepeated;

const REMEDY: &str =
    "this tuner was built without studies; build it with `cargo build --release -p tuner --features study`";

/// What a command of a study was given. None of it is looked at, and it may hold a password.
#[derive(Args)]
pub struct LeftOut {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

impl LeftOut {
    /// Says how such commands are had.
    pub fn refused(&self) -> ExitCode {
        errln!("error: {REMEDY}");
        ExitCode::from(2)
    }
}

impl fmt::Debug for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} arguments", self.rest.len())
    }
}

/// The URL of a study. There is none in this build.
#[derive(Clone, Debug)]
pub enum StudyUrl {}

impl FromStr for StudyUrl {
    type Err = &'static str;

    /// # Errors
    /// Always.
    fn from_str(_: &str) -> Result<Self, Self::Err> {
        Err(REMEDY)
    }
}

impl ValueParserFactory for StudyUrl {
    type Parser = Unrepeated<StudyUrl>;

    fn value_parser() -> Unrepeated<StudyUrl> {
        Unrepeated::new()
    }
}

impl fmt::Display for StudyUrl {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}
