//! What a prediction rests on.

use std::fmt;

use autokernel_core::Portfolio;

use super::target::Target;

/// Where the images of a portfolio, and the constants of the model that chooses among them, were measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis<'k> {
    /// On the GPU at hand.
    ThisGpu,
    /// On other GPUs of the same arch, as the driver names them.
    Others(&'k [String]),
    /// Nowhere: the model has the GPU's datasheet and estimates.
    Estimates,
}

impl<'k> Basis<'k> {
    pub(super) fn of(portfolio: Option<&'k Portfolio>, target: &Target) -> Self {
        match portfolio.map_or(&[][..], |portfolio| &portfolio.gpus) {
            [] => Basis::Estimates,
            gpus if gpus.iter().any(|gpu| target.is_called(gpu)) => Basis::ThisGpu,
            gpus => Basis::Others(gpus),
        }
    }
}

/// What a plan says after its predicted times.
impl fmt::Display for Basis<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Basis::ThisGpu => Ok(()),
            Basis::Others(gpus) => write!(f, "; by measurements on {}", gpus.join(" and ")),
            Basis::Estimates => f.write_str("; never measured on this GPU"),
        }
    }
}
