//! The client of language models against real servers, and the searches that they lead. One program, so that it is linked
//! once.

#[path = "../common/mod.rs"]
mod common;
#[path = "../llm_support/mod.rs"]
mod llm_support;

mod anthropic;
mod compare;
mod conversation;
mod extras;
mod faults;
mod file;
mod resume;
mod secrets;
mod strategy;
mod transcript;
