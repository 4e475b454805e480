//! `cargo xtask attention-cubins`: attention by several schedules, each a cubin, for docs/results/attention-h200/run.py.

mod bodies;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use autokernel_codegen::arch::Arch;
use autokernel_codegen::attention::sequences::{Keys, Sequences};
use autokernel_codegen::attention::{Problem, Schedule, Sm90Schedule, emit};
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::problem;
use autokernel_codegen::schedule::Family;
use clap::Args;
use rayon::prelude::*;
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
    /// For portable.py: kernels of the portable family, as other GPUs have them, and beside them Hopper's; with `--sweep` more of
    /// their schedules.
    #[arg(long, conflicts_with = "decoding")]
    portable: bool,
    /// For bodies.py: heads of 64 and 128 without a body and with each of some, by the schedules that kernels carry for whole tiles;
    /// with `--sweep` those with every share of exponentials that is computed by FMA.
    #[arg(long, conflicts_with_all = ["decoding", "portable"])]
    bodies: bool,
    /// For windows.py: causal heads of 64 and 128 without a window and with each of some, by the schedules that kernels carry for whole
    /// tiles.
    #[arg(long, conflicts_with_all = ["decoding", "portable", "bodies", "sweep"])]
    windows: bool,
    /// For packed.py: heads of 64 and 128, causal and not, of sequences that lie one behind the other, by the schedules that kernels
    /// carry and by two consumers that share keys; with `--sweep` more tiles of one head.
    #[arg(long, conflicts_with_all = ["decoding", "portable", "bodies", "windows"])]
    packed: bool,
    /// For chunks.py: heads of 64 and 128, packed queries on caches that are counted, and in pages of 64 and 16, causal, by the tiles of
    /// one head that kernels carry and by two consumers that share keys; with `--sweep` more tiles of one head.
    #[arg(long, conflicts_with_all = ["decoding", "portable", "bodies", "windows", "packed"])]
    chunks: bool,
}

/// Elements of a query and of a value.
const HEADS: [[u32; 2]; 6] = [[64, 64], [96, 96], [128, 128], [192, 128], [192, 192], [256, 256]];
const HEADS_OF_DECODING: [u32; 2] = [64, 128];
const HEADS_OF_BODIES: [u32; 2] = [64, 128];
const HEADS_OF_PACKED: [u32; 2] = [64, 128];
/// 0 is none.
const WINDOWS: [u32; 5] = [0, 8192, 4096, 1024, 256];
/// How caches lie that many queries see.
const CACHES_OF_CHUNKS: [Keys; 3] = [Keys::Counted, Keys::Paged(64), Keys::Paged(16)];
/// How caches of decoding lie.
const CACHES: [Keys; 4] = [Keys::Whole, Keys::Counted, Keys::Paged(16), Keys::Paged(64)];

pub fn run(root: &Path, options: &Options) -> Result<()> {
    let cache = root.join("target/autokernel-cache");
    let compiler = Compiler::new(Nvcc::locate(root, &cache)?, cache);
    std::fs::create_dir_all(&options.folder)?;
    let mut jobs = Vec::new();
    for (body, problem) in problems(options)? {
        jobs.extend(schedules(&problem, options).into_iter().map(|schedule| (body, problem.clone(), schedule)));
    }
    let variant = |(body, problem, schedule): &(&str, Problem, Schedule)| {
        let (source, plan) = emit::kernel(problem, schedule);
        let image = compiler.compile(&source, Arch::SM_90A).with_context(|| schedule.to_string())?;
        let name = name(problem, body, schedule);
        let file = format!("{name}.cubin");
        std::fs::copy(&image.cubin, options.folder.join(&file))?;
        let (rows, tile_keys, stages) = (schedule.tile_queries(), schedule.tile_keys(), schedule.stages());
        let page = if let Keys::Paged(page) = problem.sequences.keys { page } else { 0 };
        Ok(json!({
            "name": name, "body": body, "file": file, "symbol": source.symbol, "check": !options.sweep, "speed": true,
            "D": problem.head_dim, "DV": problem.value_dim, "T": "bf16", "causal": problem.causal,
            "WINDOW": problem.window.unwrap_or(0),
            "SCALE": problem.scale, "C": rows / 64, "BN": tile_keys, "stages": stages, "portable": matches!(schedule, Schedule::Sm80(_)),
            "keys": problem.sequences.slug().trim_start_matches('_'), "page": page, "plan": plan,
        }))
    };
    let variants: Vec<_> = jobs.par_iter().map(variant).collect::<Result<_>>()?;
    println!("{} cubins", variants.len());
    std::fs::write(options.folder.join("variants.json"), serde_json::to_string_pretty(&variants)?)?;
    Ok(())
}

/// What kernels are compiled for: with the logarithm of each sum, which run.py compares too, where they are not for decoding.
fn problems(options: &Options) -> Result<Vec<(&'static str, Problem)>> {
    if options.bodies {
        let plain = HEADS_OF_BODIES.into_iter().flat_map(|dim| [false, true].map(|causal| problem(dim, causal)));
        return Ok(plain.map(|problem| bodies::of(&problem)).collect::<Result<Vec<_>>>()?.concat());
    }
    if options.windows {
        let windows = HEADS_OF_BODIES.into_iter().flat_map(|dim| WINDOWS.map(|window| (dim, window)));
        let of = |(dim, window)| ("", Problem { window: Some(window).filter(|it| *it != 0), ..problem(dim, true) });
        return Ok(windows.map(of).collect());
    }
    Ok(plain(options).into_iter().map(|problem| ("", problem)).collect())
}

/// Those without a body.
fn plain(options: &Options) -> Vec<Problem> {
    if options.portable {
        return portable(options.sweep);
    }
    if options.packed {
        let sequences = Sequences { packed_queries: true, keys: Keys::Packed };
        let of = |dim| [false, true].map(|causal| Problem { log_sum_exp: false, sequences, ..problem(dim, causal) });
        return HEADS_OF_PACKED.into_iter().flat_map(of).collect();
    }
    if options.chunks {
        let of = |dim| {
            CACHES_OF_CHUNKS.map(|keys| {
                let sequences = Sequences { packed_queries: true, keys };
                Problem { log_sum_exp: false, sequences, ..problem(dim, true) }
            })
        };
        return HEADS_OF_PACKED.into_iter().flat_map(of).collect();
    }
    if !options.decoding {
        let of = |[head_dim, value_dim]: [u32; 2]| {
            [false, true].map(|causal| Problem { value_dim, ..problem(head_dim, causal) })
        };
        return HEADS.into_iter().flat_map(of).collect();
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

/// Whole sequences, and where it is not to be swept caches that are counted, and in pages.
fn portable(sweep: bool) -> Vec<Problem> {
    let whole = [64, 128, 256].into_iter().flat_map(|dim| [false, true].map(|causal| problem(dim, causal)));
    let cached = CACHES.into_iter().flat_map(|keys| {
        let sequences = Sequences { keys, ..Sequences::default() };
        HEADS_OF_DECODING.map(|dim| Problem { sequences, ..problem(dim, true) })
    });
    let cached = cached.filter(|problem| !sweep && !problem.sequences.are_whole());
    whole.chain(cached).collect()
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

/// Those of one kernel for whole tiles, whose arguments run.py passes, or of one for decoding; or portable ones.
fn schedules(problem: &Problem, options: &Options) -> Vec<Schedule> {
    let class = problem::Problem::Attention(problem.clone()).class();
    let Options { sweep, decoding, portable, bodies, windows, packed, chunks, .. } = *options;
    let all = match (portable, sweep) {
        (true, false) if problem.sequences.are_whole() => {
            [class.portfolio(Arch::SM_80), class.portfolio(Arch::SM_90A)].concat()
        }
        (true, false) => class.portfolio(Arch::SM_80),
        _ if bodies || windows => class.portfolio(Arch::SM_90A),
        (true, true) => class.schedules(Family::AttentionSm80, Arch::SM_80),
        (false, true) => class.schedules(Family::AttentionSm90, Arch::SM_90A),
        (false, false) => class.portfolio(Arch::SM_90A),
    };
    let wanted = |it: &Schedule| match (portable, decoding) {
        (true, _) => !sweep || (!it.shares_keys() && it.stages() <= 3 && [32, 64, 96, 128].contains(&it.tile_keys())),
        (_, true) => it.shares_keys() && it.tile_queries() == 64 && (!sweep || it.tile_keys().is_multiple_of(64)),
        _ if packed => !sweep || is_packed_tile(it),
        _ if chunks => !it.shares_keys() && (!sweep || is_packed_tile(it)),
        _ if bodies || windows => !it.shares_keys() && it.tile_queries() > 64,
        (_, false) => !it.shares_keys() && (!sweep || (it.stages() == 2 && it.tile_keys() >= 64)),
    };
    let mut all: Vec<Schedule> = all.iter().filter_map(|it| Schedule::try_from(it).ok()).filter(wanted).collect();
    if packed || chunks {
        all.push(Sm90Schedule::many_for(&problem.class()).into());
    }
    match bodies && sweep {
        true => with_shares(&all).into_iter().filter(|it| class.check(&(*it).into(), Arch::SM_90A).is_ok()).collect(),
        false => all,
    }
}

/// Of the tiles of one head those of as many consumers and keys as may be fastest.
fn is_packed_tile(schedule: &Schedule) -> bool {
    let Schedule::Sm90(it) = schedule else { return false };
    let turns = it.ping_pong == (it.consumers > 1);
    !it.share_keys
        && turns
        && it.stages == 2
        && it.exp_by_fma == 0
        && [64, 80, 96, 112, 128, 144, 160, 176].contains(&it.tile_keys)
}

/// The same with every share of exponentials that is computed by FMA.
fn with_shares(schedules: &[Schedule]) -> Vec<Schedule> {
    let of = |schedule: &Schedule| match *schedule {
        Schedule::Sm90(it) => (0..=4).map(|exp_by_fma| Sm90Schedule { exp_by_fma, ..it }.into()).collect(),
        other => vec![other],
    };
    schedules.iter().flat_map(of).collect()
}

/// `d128c_2x176s2pp`: heads, with the elements of a value where they are others (`d192v128`), causal, its window (`w1024`), how sequences lie, consumers and keys of a block, stages, ping-pong, `k` where blocks
/// share keys; or of the portable family `d128c_w4x32x64s2`: warps, rows of each and keys of a block. A body's name stands last.
fn name(problem: &Problem, body: &str, schedule: &Schedule) -> String {
    let causal = if problem.causal { "c" } else { "" };
    let window = problem.window.map(|window| format!("w{window}")).unwrap_or_default();
    let sequences = problem.sequences.slug();
    let of_schedule = match schedule {
        Schedule::Sm80(it) => {
            let shared = if it.share_keys { "k" } else { "" };
            format!("w{}x{}x{}s{}{shared}", it.warps, it.rows_of_warp, it.tile_keys, it.stages)
        }
        Schedule::Sm90(Sm90Schedule { consumers, tile_keys, stages, ping_pong, share_keys, exp_by_fma }) => {
            let (turns, shared) = (if *ping_pong { "pp" } else { "" }, if *share_keys { "k" } else { "" });
            let by_fma = if *exp_by_fma == 0 { String::new() } else { format!("e{exp_by_fma}") };
            format!("{consumers}x{tile_keys}s{stages}{turns}{shared}{by_fma}")
        }
    };
    let body = if body.is_empty() { String::new() } else { format!("_{body}") };
    let value = if problem.value_dim == problem.head_dim { String::new() } else { format!("v{}", problem.value_dim) };
    format!("d{}{value}{causal}{window}{sequences}_{of_schedule}{body}", problem.head_dim)
}
