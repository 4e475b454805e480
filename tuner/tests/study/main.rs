//! Studies in a real Postgres, with real processes that are killed.
#![cfg(unix)]
#![allow(clippy::duplicate_mod, reason = "both supports say what was skipped")]

#[path = "../common/mod.rs"]
mod common;

#[path = "../gpu_support/mod.rs"]
mod gpu_support;

#[path = "../llm_support/mod.rs"]
mod llm_support;

mod commands;
mod compilers;
mod elsewhere;
mod faults;
mod postgres_server;
mod proxy;
mod scale;
mod watching;
