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
    let broken = broken_common(problem, geometry, shared_limit).or_else(|| match geometry.family {
        Family::Sm80 => None,
        Family::Sm90 => broken_sm90(problem, geometry),
    });
    match broken {
        Some(reason) => Err(Error::Geometry { symbol: symbol.to_owned(), reason }),
        None => Ok(()),
    }
}

fn broken_common(problem: &ProblemDescriptor, geometry: &Geometry, shared_limit: u32) -> Option<String> {
    if problem.input.bytes() != 2 {
        return Some(format!("inputs of {}; the kernels take bf16 and f16", problem.input));
    }
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
    let Geometry { tile_m, tile_n, cluster_m, cluster_n, swap_ab, split_k, .. } = *geometry;
    if !(1..=MAX_CLUSTER).contains(&geometry.cluster_size()) {
        return Some(format!("a cluster of {cluster_m}x{cluster_n}x{split_k} blocks; 1 to {MAX_CLUSTER} are possible"));
    }
    if split_k > 1 && cluster_m * cluster_n > 1 {
        return Some(format!("a {cluster_m}x{cluster_n} cluster with K split in {split_k}; only one of them can be"));
    }
    if !tile_m.is_multiple_of(cluster_n) || !tile_n.is_multiple_of(cluster_m) {
        return Some(format!("a {cluster_m}x{cluster_n} cluster does not divide a {tile_m}x{tile_n} tile"));
    }
    let b_box = if problem.transpose_b { tile_n / cluster_m } else { 64 };
    if tile_m / cluster_n > MAX_BOX || b_box > MAX_BOX {
        return Some(format!("a box longer than {MAX_BOX} in a {tile_m}x{tile_n} tile"));
    }
    if swap_ab && !tile_m.is_multiple_of(8) {
        return Some(format!("a transposed tile of {tile_m} rows; multiples of 8 can be stored"));
    }
    let row = tile_n * problem.output.bytes() as u32;
    (!row.is_multiple_of(16)).then(|| format!("a tile row of {row} bytes of C; multiples of 16 can be stored"))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::{Dtype, Raster, RasterOrder};

    const SHARED_LIMIT: u32 = 232_448;
    const GOOD: Geometry = Geometry {
        family: Family::Sm90,
        tile_m: 128,
        tile_n: 256,
        tile_k: 64,
        cluster_m: 2,
        cluster_n: 1,
        swap_ab: false,
        split_k: 1,
        threads: 384,
        shared_bytes: 200_000,
        raster: Raster::new(RasterOrder::AlongM, 8),
    };

    fn refusal(geometry: Geometry, input: Dtype) -> Option<String> {
        let problem = ProblemDescriptor {
            input,
            output: Dtype::Bf16,
            transpose_b: true,
            known_n: None,
            known_k: None,
            epilogue: Cow::Borrowed("identity"),
        };
        check("symbol", &problem, &geometry, SHARED_LIMIT).err().map(|error| error.to_string())
    }

    #[test]
    fn a_launchable_geometry_is_accepted() {
        assert_eq!(refusal(GOOD, Dtype::Bf16), None);
        let sm80 = Geometry { family: Family::Sm80, cluster_m: 0, cluster_n: 0, ..GOOD };
        assert_eq!(refusal(sm80, Dtype::F16), None, "the sm80 family has no clusters");
    }

    #[test]
    fn each_rule_that_is_broken_is_named() {
        let cases = [
            (Geometry { tile_n: 0, ..GOOD }, "128x0x64 is empty"),
            (Geometry { threads: 2048, ..GOOD }, "2048 threads"),
            (Geometry { threads: 0, ..GOOD }, "0 threads"),
            (Geometry { shared_bytes: SHARED_LIMIT + 1, ..GOOD }, "grants 232448"),
            (Geometry { raster: Raster::new(RasterOrder::AlongN, 0), ..GOOD }, "raster group of 0"),
            (Geometry { cluster_m: 0, ..GOOD }, "cluster of 0x1"),
            (Geometry { cluster_m: 16, ..GOOD }, "cluster of 16x1"),
            (Geometry { cluster_m: 3, ..GOOD }, "does not divide"),
            (Geometry { split_k: 0, ..GOOD }, "cluster of 2x1x0"),
            (Geometry { split_k: 4, ..GOOD }, "K split in 4"),
            (Geometry { swap_ab: true, tile_m: 12, ..GOOD }, "transposed tile of 12 rows"),
            (Geometry { tile_m: 512, ..GOOD }, "box longer than 256"),
            (Geometry { tile_n: 4, ..GOOD }, "8 bytes of C"),
        ];
        for (geometry, reason) in cases {
            let text = refusal(geometry, Dtype::Bf16).unwrap_or_default();
            assert!(text.contains(reason), "{reason}: {text}");
        }
        assert!(refusal(GOOD, Dtype::F32).unwrap_or_default().contains("bf16 and f16"));
    }
}
