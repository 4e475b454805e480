//! `cargo xtask attention-cubins`: attention by several schedules, each a cubin, for docs/results/attention-h200/run.py.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use autokernel_codegen::arch::Arch;
use autokernel_codegen::attention::sequences::{Keys, Sequences};
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
    /// For decoding.py: kernels whose blocks share keys, of caches in one piece, counted, and in pages of 16 and 64; with
    /// `--sweep` those of one consumer by every schedule, for caches in one piece.
    #[arg(long)]
    decoding: bool,
}

const HEADS: [u32; 4] = [64, 96, 128, 256];
const HEADS_OF_DECODING: [u32; 2] = [64, 128];
/// How caches of decoding lie.
const CACHES: [Keys; 4] = [Keys::Whole, Keys::Counted, Keys::Paged(16), Keys::Paged(64)];

pub fn run(root: &Path, options: &Options) -> Result<()> {
    let cache = root.join("target/autokernel-cache");
    let compiler = Compiler::new(Nvcc::locate(root, &cache)?, cache);
    std::fs::create_dir_all(&options.folder)?;
    let mut variants = Vec::new();
    for problem in problems(options) {
        for schedule in schedules(&problem, options) {
            let (source, plan) = emit::kernel(&problem, &schedule);
            let image = compiler.compile(&source, Arch::SM_90A).with_context(|| schedule.to_string())?;
            let name = name(&problem, &schedule);
            let file = format!("{name}.cubin");
            std::fs::copy(&image.cubin, options.folder.join(&file))?;
            let page = if let Keys::Paged(page) = problem.sequences.keys { page } else { 0 };
            variants.push(json!({
                "name": name, "file": file, "symbol": source.symbol, "check": !options.sweep, "speed": true,
                "D": problem.head_dim, "DV": problem.value_dim, "T": "bf16", "causal": problem.causal, "WINDOW": 0,
                "SCALE": problem.scale, "C": schedule.consumers, "BN": schedule.tile_keys, "stages": schedule.stages,
                "keys": problem.sequences.slug().trim_start_matches('_'), "page": page, "plan": plan,
            }));
        }
    }
    println!("{} cubins", variants.len());
    std::fs::write(options.folder.join("variants.json"), serde_json::to_string_pretty(&variants)?)?;
    Ok(())
}

/// What kernels are compiled for: with the logarithm of each sum, which run.py compares too, where they are not for decoding.
fn problems(options: &Options) -> Vec<Problem> {
    if !options.decoding {
        return HEADS.into_iter().flat_map(|dim| [false, true].map(|causal| problem(dim, causal))).collect();
    }
    let caches = if options.sweep { &CACHES[..1] } else { &CACHES };
    let of = |head_dim| {
        caches.iter().map(move |&keys| Problem {
            log_sum_exp: false,
            sequences: Sequences { keys, ..Sequences::default() },
            ..problem(head_dim, true)
        })
    };
    HEADS_OF_DECODING.into_iter().flat_map(of).collect()
}

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

/// Those of one kernel for whole tiles, whose arguments run.py passes, or of one for decoding.
fn schedules(problem: &Problem, options: &Options) -> Vec<AttentionSchedule> {
    let class = problem::Problem::Attention(problem.clone()).class();
    let Options { sweep, decoding, .. } = *options;
    let all = if sweep {
        class.families(Arch::SM_90A).iter().flat_map(|family| class.schedules(*family, Arch::SM_90A)).collect()
    } else {
        class.portfolio(Arch::SM_90A)
    };
    let typed = all.iter().filter_map(|schedule| AttentionSchedule::try_from(schedule).ok());
    let wanted = |it: &AttentionSchedule| match decoding {
        true => it.share_keys && it.consumers == 1 && (!sweep || it.tile_keys.is_multiple_of(64)),
        false => !it.share_keys && (!sweep || (it.stages == 2 && it.tile_keys >= 64)),
    };
    typed.filter(wanted).collect()
}

/// `d128c_2x176s2pp`: heads, causal, how sequences lie, consumers and keys of a block, stages, ping-pong.
fn name(problem: &Problem, schedule: &AttentionSchedule) -> String {
    let AttentionSchedule { consumers, tile_keys, stages, ping_pong, .. } = schedule;
    let causal = if problem.causal { "c" } else { "" };
    let ping_pong = if *ping_pong { "pp" } else { "" };
    let sequences = problem.sequences.slug();
    format!("d{}{causal}{sequences}_{consumers}x{tile_keys}s{stages}{ping_pong}", problem.head_dim)
}
