//! What stands for a study in a tuner that was built without: its URL is refused where it is given.

use std::fmt;
use std::str::FromStr;

use clap::builder::ValueParserFactory;

use crate::options::Unrepeated;

/// The URL of a study. There is none in this build.
#[derive(Clone, Debug)]
pub enum StudyUrl {}

impl FromStr for StudyUrl {
    type Err = &'static str;

    /// # Errors
    /// Always.
    fn from_str(_: &str) -> Result<Self, Self::Err> {
        Err("this tuner was built without studies; build it with `cargo build --release -p tuner --features study`")
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
