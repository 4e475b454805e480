//! What stands for `on_study.rs` in a tuner that was built without studies.

use super::args::TuneArgs;
use super::error::AppError;
use super::job::Job;
use super::on_gpu::Wanted;
use crate::stop::Stop;
use crate::store::Store;
use crate::study::StudyUrl;

pub fn store(url: &StudyUrl, _: &[Job], _: &Stop) -> Result<Box<dyn Store>, AppError> {
    match *url {}
}

pub fn served(url: &StudyUrl, _: Vec<Job>, _: &Stop) -> Result<Vec<Job>, AppError> {
    match *url {}
}

pub fn jobs(_: &TuneArgs, url: &StudyUrl, _: &Wanted<'_>, _: &Stop) -> Result<Option<Vec<Job>>, AppError> {
    match *url {}
}
