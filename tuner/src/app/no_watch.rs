//! What stands for `watch.rs` in a tuner that was built without studies.

use super::args::TuneArgs;
use super::ending::Ending;
use super::error::AppError;
use crate::stop::Stop;
use crate::study::StudyUrl;

pub fn watch(_: &TuneArgs, url: &StudyUrl, _: &Stop) -> Result<Ending, AppError> {
    match *url {}
}
