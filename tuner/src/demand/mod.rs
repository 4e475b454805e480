//! What somebody wants to be fast: the kernels that a crate declares, the products that a program computed.

mod args;
mod declared;
mod error;
mod launch_log;
mod matching;
mod package;
mod wanted;

pub use args::DemandArgs;
pub use error::DemandError;
pub use package::{Package, PackageError};
pub use wanted::{Demand, Demands};

use autokernel_core::Extents;

use self::launch_log::LaunchLog;

/// What `args` want by `--crate` and `--shapes-from`, with the `shapes` of `--shape`; `None` without either.
///
/// # Errors
/// The sources or the log cannot be read, or hold nothing.
pub fn demands(
    args: &DemandArgs,
    shapes: &[Extents],
    package: Option<&Package>,
) -> Result<Option<Demands>, DemandError> {
    let log = args.shapes_from.as_deref().map(LaunchLog::load).transpose()?;
    let mut demands = match (package, &log) {
        (Some(package), log) => declared::demands(args, shapes, package, log.as_ref())?,
        (None, Some(log)) => matching::of_log(log),
        (None, None) => return Ok(None),
    };
    if let Some(log) = &log {
        demands.notes.extend(log.note());
        demands.wanted.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
    }
    Ok(Some(demands))
}
