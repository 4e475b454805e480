//! The rules that a geometry must keep so that it can be launched; the schedule's own rules are checked by nvcc.

use crate::{Error, Family, Geometry, ProblemDescriptor, Result};

/// The most threads of a block on every GPU so far.
const MAX_THREADS: u32 = 1024;
/// The longest side of a tensor map's box.
const MAX_BOX: u32 = 256;
/// The most blocks of a cluster that every GPU with clusters grants.
const MAX_CLUSTER: u32 = 8;

/// Refuses a geometry that cannot be launched on a GPU that grants a block that much dynamic shared memory.
///
/// # Errors
/// [`Error::Geometry`] with the rule.
pub(super) fn check(symbol: &str, problem: &ProblemDescriptor, geometry: &Geometry, shared_limit: u32) -> Result<()> {
    let broken = match geometry.family {
        Family::Sm80 => broken_common(geometry, shared_limit),
        Family::Sm90 => broken_common(geometry, shared_limit).or_else(|| broken_sm90(problem, geometry)),
    };
    match broken {
        Some(reason) => Err(Error::Geometry { symbol: symbol.to_owned(), reason }),
        None => Ok(()),
    }
}

fn broken_common(geometry: &Geometry, shared_limit: u32) -> Option<String> {
    let Geometry { tile_m, tile_n, tile_k, threads, shared_bytes, raster, .. } = *geometry;
    if tile_m == 0 || tile_n == 0 || tile_k == 0 {
        return Some(format!("a tile of {tile_m}x{tile_n}x{tile_k} is empty"));
    }
    if threads == 0 || threads > MAX_THREADS {
        return Some(format!("{threads} threads a block; 1 to {MAX_THREADS} are possible"));
    }
    if shared_bytes > shared_limit {
        return Some(format!("{shared_bytes} bytes of shared memory a block; this GPU grants {shared_limit}"));
    }
    (raster.group == 0).then(|| "a raster group of 0 tiles".to_owned())
}

fn broken_sm90(problem: &ProblemDescriptor, geometry: &Geometry) -> Option<String> {
    let Geometry { tile_m, tile_n, cluster_m, cluster_n, .. } = *geometry;
    if cluster_m == 0 || cluster_n == 0 || cluster_m.saturating_mul(cluster_n) > MAX_CLUSTER {
        return Some(format!("a cluster of {cluster_m}x{cluster_n} blocks; 1 to {MAX_CLUSTER} are possible"));
    }
    if !tile_m.is_multiple_of(cluster_n) || !tile_n.is_multiple_of(cluster_m) {
        return Some(format!("a {cluster_m}x{cluster_n} cluster does not divide a {tile_m}x{tile_n} tile"));
    }
    let b_box = if problem.transpose_b { tile_n / cluster_m } else { 64 };
    if tile_m / cluster_n > MAX_BOX || b_box > MAX_BOX {
        return Some(format!("a box longer than {MAX_BOX} in a {tile_m}x{tile_n} tile"));
    }
    let row = tile_n * problem.output.bytes() as u32;
    (!row.is_multiple_of(16)).then(|| format!("a tile row of {row} bytes of C; multiples of 16 can be stored"))
}
