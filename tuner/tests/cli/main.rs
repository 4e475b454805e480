//! The commands, on made-up and on recorded spaces. One program, so that it is linked once.

#[path = "../common/mod.rs"]
mod common;

mod around;
mod checked_in_results;
mod compare;
mod crate_and_log;
mod exchange;
mod full_loop;
mod no_circles;
mod recordings;
mod report_page;
mod search;
