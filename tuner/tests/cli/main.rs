//! The commands, on made-up and on recorded spaces. One program, so that it is linked once.

#[path = "../common/mod.rs"]
mod common;
#[cfg(unix)]
mod python;

mod around;
// Tests begin in the order of their names: the one that waits for a server longest is among the first, and there are enough
// others to run meanwhile.
#[cfg(unix)]
mod behind_litellm;
mod checked_in_results;
mod compare;
mod crate_and_log;
mod exchange;
mod full_loop;
mod limits;
mod progress;
mod ranges;
mod recordings;
mod remedies;
mod report_page;
mod search;
mod unknown_gpu;
