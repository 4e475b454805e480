//! What a kernel does, counted on an emulated GPU: a few of its tiles, with every access checked; and how the order of all
//! tiles reuses the L2 cache, by a model.

mod accesses;
mod advice;
mod cache;
mod document;
mod reuse;
mod run;
mod sample;
mod text;

pub use advice::next as advice;
pub use document::Emulated;
pub use run::profile;
