//! `cargo xtask attention-cubins`: attention by several schedules, each a cubin, for docs/results/attention-h200/run.py.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use autokernel_codegen::arch::Arch;
use autokernel_codegen::attention::sequences::Sequences;
use autokernel_codegen::attention::{AttentionSchedule, Problem, emit};
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::problem;
use clap::Args;
use serde_json::json;

/// Compile attention by several schedules for `run.py`: a cubin each, and `variants.json`, which lists them.
#[derive(Args)]
pub struct Options {
    /// Where run.py will run: beside it.
    folder: PathBuf,
    /// Every schedule of two stages and at least 64 keys a block, and not those alone that kernels carry.
    #[arg(long)]
    sweep: bool,
}

const HEADS: [u32; 4] = [64, 96, 128, 256];

pub fn run(root: &Path, options: &Options) -> Result<()> {
    let cache = root.join("target/autokernel-cache");
    let compiler = Compiler::new(Nvcc::locate(root, &cache)?, cache);
    std::fs::create_dir_all(&options.folder)?;
    let mut variants = Vec::new();
    for (head_dim, causal) in HEADS.into_iter().flat_map(|dim| [(dim, false), (dim, true)]) {
        let problem = problem(head_dim, causal);
        for schedule in schedules(&problem, options.sweep) {
            let (source, _) = emit::kernel(&problem, &schedule);
            let image = compiler.compile(&source, Arch::SM_90A).with_context(|| schedule.to_string())?;
            let name = name(&problem, &schedule);
            let file = format!("{name}.cubin");
            std::fs::copy(&image.cubin, options.folder.join(&file))?;
            variants.push(json!({
                "name": name, "file": file, "symbol": source.symbol, "check": !options.sweep, "speed": true,
                "D": head_dim, "DV": head_dim, "T": "bf16", "causal": causal, "WINDOW": 0, "SCALE": problem.scale,
                "C": schedule.consumers, "BN": schedule.tile_keys,
            }));
        }
    }
    println!("{} cubins", variants.len());
    std::fs::write(options.folder.join("variants.json"), serde_json::to_string_pretty(&variants)?)?;
    Ok(())
}

/// With the logarithm of each sum, which run.py compares too.
fn problem(head_dim: u32, causal: bool) -> Problem {
    Problem {
        dtype: Dtype::Bf16,
        head_dim,
        value_dim: head_dim,
        causal,
        window: None,
        scale: (head_dim as f32).sqrt().recip(),
        log_sum_exp: true,
        score: None,
        sequences: Sequences::default(),
    }
}

/// Those of one kernel for whole tiles, whose arguments run.py passes.
fn schedules(problem: &Problem, sweep: bool) -> Vec<AttentionSchedule> {
    let class = problem::Problem::Attention(problem.clone()).class();
    let all = if sweep {
        class.families(Arch::SM_90A).iter().flat_map(|family| class.schedules(*family, Arch::SM_90A)).collect()
    } else {
        class.portfolio(Arch::SM_90A)
    };
    let typed = all.iter().filter_map(|schedule| AttentionSchedule::try_from(schedule).ok());
    let wanted = |it: &AttentionSchedule| !it.share_keys && (!sweep || (it.stages == 2 && it.tile_keys >= 64));
    typed.filter(wanted).collect()
}

/// `d128c_2x176s2pp`: heads, causal, consumers and keys of a block, stages, ping-pong.
fn name(problem: &Problem, schedule: &AttentionSchedule) -> String {
    let AttentionSchedule { consumers, tile_keys, stages, ping_pong, .. } = schedule;
    let causal = if problem.causal { "c" } else { "" };
    let ping_pong = if *ping_pong { "pp" } else { "" };
    format!("d{}{causal}_{consumers}x{tile_keys}s{stages}{ping_pong}", problem.head_dim)
}
