//! Finds the fastest schedules for autokernel's kernels.
//!
//! A [`Strategy`](strategy::Strategy) proposes schedules for a [`Target`], an [`Evaluator`](evaluate::Evaluator)
//! measures them, on a GPU or by [`replay`] of a recorded space, a [`Store`](store::Store) remembers every
//! [`Trial`], and [`promote`] writes the winner to `best_config.json` if it beats what is there past the noise.
//!
//! Arrows point one way, which a test holds. From low to high: what everything is about (targets, outcomes, trials, the
//! GPU, knobs); [`evaluate`]; the [`store`] and the journal, [`replay`] and [`llm`], which remember and answer; [`strategy`]; [`session`] and
//! [`promote`], which search and decide; [`gpu`], which measures, and [`gate`] before it; what people read (reports, profiles, listings); [`app`],
//! [`compare`] and [`cli`].

#![warn(missing_docs)]
// The macros of `console` instead, which outlive their reader.
#![warn(clippy::print_stdout, clippy::print_stderr)]

#[macro_use]
pub mod console;

pub mod app;
mod bridge;
mod checkout;
mod chosen;
pub mod cli;
mod columns;
pub mod compare;
pub mod constraints;
mod demand;
mod doctor;
pub mod drawn;
pub mod environment;
pub mod evaluate;
pub mod exchange;
mod filter;
mod folder;
#[cfg(test)]
mod fuzz;
pub mod gate;
pub mod gpu;
mod gpu_facts;
mod grid;
pub mod group_sizes;
mod held_final;
pub mod intents;
pub mod journal;
mod knobs;
pub mod known;
pub mod llm;
mod numbers;
pub mod objective;
mod operand;
mod options;
pub mod outcome;
mod output;
mod placement;
mod portfolio;
mod profile;
pub mod promote;
mod proposer;
pub mod range;
pub mod regime;
mod regret;
pub mod replay;
pub mod report;
pub mod session;
mod show;
mod source;
pub mod stop;
pub mod store;
pub mod strategy;
pub mod strategy_name;
#[cfg(feature = "study")]
pub mod study;
#[cfg(not(feature = "study"))]
#[path = "without_study.rs"]
pub mod study;
mod target;
mod trial;

pub use gpu_facts::GpuFacts;
pub use target::Target;
pub use trial::Trial;
