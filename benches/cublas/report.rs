//! The lines on the terminal, and the JSON file.

use std::path::PathBuf;

use autokernel::timing::Statistics;
use autokernel::{DeviceInfo, Extents};
use serde_json::{Value, json};

use crate::Outcome;
use crate::comparison::Row;
use crate::overhead::Overhead;

/// Where and how: what every number below must say.
pub fn header(info: &DeviceInfo) {
    println!("{} (CUDA {} driver), random normal data, sustained load, interleaved rounds", info.name, cuda(info));
    println!(
        "{:<22} {:>18} {:>9} {:>8} {:>9} {:>10} {:>8}  {:>9}  schedule",
        "kernel", "shape", "ms", "spread", "TFLOP/s", "% roofline", "x cuBLAS", "cuBLAS ms"
    );
}

/// One line a shape.
pub fn line(row: &Row) {
    println!(
        "{:<22} {:>18} {:>9.4} {:>7.1}% {:>9.1} {:>9.1}% {:>8.3}  {:>9.4}  {}",
        row.name,
        row.shape.to_string(),
        row.ours.median_ms,
        row.ours.spread_pct,
        row.tflops,
        row.roofline_pct,
        row.speedup.median,
        row.theirs.median_ms,
        row.schedule,
    );
    if let Some(share) = row.copy_share {
        println!(
            "{:<22} {:>18} {:.0} GB/s, {:.1} % of a copy's bandwidth (spread {:.1} %)",
            "",
            "",
            row.gb_s,
            100.0 * share.median,
            share.spread_pct
        );
    }
}

/// The geometric mean over the shapes of each kernel.
pub fn summary(rows: &[Row]) {
    let mut names: Vec<&str> = rows.iter().map(|row| row.name).collect();
    names.dedup();
    for name in names {
        let own: Vec<&Row> = rows.iter().filter(|row| row.name == name).collect();
        let logs: f64 = own.iter().map(|row| row.speedup.median.ln()).sum();
        let lowest = own.iter().map(|row| row.speedup.median).fold(f64::INFINITY, f64::min);
        let mean = (logs / own.len() as f64).exp();
        println!(
            "{name}: {mean:.3} x {} (geometric mean of {} shapes, lowest {lowest:.3})",
            own[0].opponent,
            own.len()
        );
    }
}

/// What the epilogue adds to the plain product.
pub fn fusion(shape: Extents, ratio: &Statistics) {
    let cost_pct = 100.0 * (ratio.median - 1.0);
    let (rounds, spread) = (ratio.samples, ratio.spread_pct);
    println!(
        "fused LeakyReLU over the plain product at {shape}: {cost_pct:+.2} % ({rounds} rounds, spread {spread:.1} %)"
    );
}

/// What a safe launch costs the host.
pub fn overhead(overhead: &Overhead) {
    println!(
        "host time of a launch, {} weights in rotation: {:.2} us, {:.2} x a bare cudarc launch of {:.2} us \
         ({} rounds, spread {:.1} %)",
        overhead.weights,
        overhead.safe_us.median,
        overhead.ratio.median,
        overhead.raw_us.median,
        overhead.ratio.samples,
        overhead.ratio.spread_pct
    );
}

/// Everything, for the record.
pub fn save(info: &DeviceInfo, rows: &[Row], overheads: &[Overhead]) -> Outcome<()> {
    let path = std::env::var_os("AUTOKERNEL_BENCH_OUT").map_or("target/bench/cublas.json".into(), PathBuf::from);
    let record = json!({
        "gpu": info.name,
        "driver_cuda": cuda(info),
        "data": "random normal",
        "cache": "cold: buffers rotate past twice the L2 cache; hot: one set of buffers",
        "launches_on_the_host": overheads.iter().map(host_record).collect::<Vec<Value>>(),
        "rows": rows.iter().map(record).collect::<Vec<Value>>(),
    });
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(&path, format!("{record:#}\n"))?;
    println!("written to {}", path.display());
    Ok(())
}

fn host_record(overhead: &Overhead) -> Value {
    json!({
        "weights_in_rotation": overhead.weights,
        "us": overhead.safe_us.median,
        "over_bare_cudarc": overhead.ratio.median,
        "spread_pct": overhead.ratio.spread_pct,
    })
}

fn record(row: &Row) -> Value {
    json!({
        "kernel": row.name,
        "opponent": row.opponent,
        "shape": row.shape.to_string(),
        "cache": row.buffers.cache(),
        "schedule": row.schedule,
        "median_ms": row.ours.median_ms,
        "spread_pct": row.ours.spread_pct,
        "tflops": row.tflops,
        "roofline_pct": row.roofline_pct,
        "gb_s": row.gb_s,
        "share_of_copy_bandwidth": row.copy_share.map(|share| share.median),
        "opponent_median_ms": row.theirs.median_ms,
        "opponent_spread_pct": row.theirs.spread_pct,
        "opponent_heuristics": row.heuristics,
        "speedup_median": row.speedup.median,
        "speedup_spread_pct": row.speedup.spread_pct,
        "rounds": row.ours.samples,
        "launches_per_round": row.launches_per_round,
        "buffer_sets": row.sets,
    })
}

fn cuda(info: &DeviceInfo) -> String {
    format!("{}.{}", info.driver_version / 1000, info.driver_version % 1000 / 10)
}
