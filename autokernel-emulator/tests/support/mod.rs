//! What the tests of our own kernels share.
#![allow(dead_code)] // each test binary uses a part

pub mod arguments;
pub mod attention;
mod attention_sequences;
pub mod case;
pub mod compile;
pub mod host;
pub mod reducing;
pub mod rows;
pub mod sample;
pub mod skip;
