//! The interpreter: clusters one after another, the warps of a cluster in an order that a seed decides.

mod access;
mod address;
mod block;
mod cluster;
mod context;
mod convergence;
mod exec;
mod grid;
mod mbarrier;
mod pending;
mod place;
mod schedule;
mod stop;
mod tally;
mod values;
mod warp;

pub(crate) use grid::launch;
