//! Studies in a real Postgres, with real processes that are killed.
#![cfg(unix)]

#[path = "../common/mod.rs"]
mod common;

mod commands;
mod faults;
mod postgres_server;
mod proxy;
mod scale;
