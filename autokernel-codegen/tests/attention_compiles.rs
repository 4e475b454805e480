//! The schedules that heads ship with, of the Hopper family wide ones and those of bodies: none spills, whatever the mask and the body.
//! Ordinarily a part is compiled; all of them with `AUTOKERNEL_SOAK=1`.

use std::path::{Path, PathBuf};

use autokernel_codegen::arch::Arch;
use autokernel_codegen::attention::sequences::{Keys, Sequences};
use autokernel_codegen::attention::{Problem, Schedule, emit, problem};
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::problem;
use rayon::prelude::*;

const PLAIN: &str =
    "fn f(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, out: &mut Heads<bf16>) { score = score * scale; }";
const SLOPED: &str =
    "fn f(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, slope: &PerHead<f32>, out: &mut Heads<bf16>) {
        score = score * scale + slope * (key - query);
    }";
const BOUNDED: &str = "fn f(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, cap: f32, out: &mut Heads<bf16>) {
        score = cap * (score * scale / cap).tanh();
    }";
const CAPPED: &str =
    "fn f(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, slope: &PerHead<f32>, cap: f32, out: &mut Heads<bf16>) {
        let capped = cap * (score * scale / cap).tanh();
        score = capped + slope * (key - query);
    }";

const CHOSEN: &str = "fn f(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, second: f32, out: &mut Heads<bf16>) {
        let scaled = score * scale;
        score = if (key < second && query < second) || (key >= second && query >= second) { scaled } else { -1e30 };
    }";

const RELATIVE: &str =
    "fn f(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, bias: &PerDistance<f32>, out: &mut Heads<bf16>) {
        score = score * scale + bias;
    }";
const RELATIVE_CAP: &str =
    "fn f(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, bias: &PerDistance<f32>, cap: &Scalar<f32>, out: &mut Heads<bf16>) {
        score = cap * (score * scale / cap).tanh() + bias;
    }";

/// Numbers by distance are on their way to registers that sums have, or scores. (On heads of 256 few queries spill some: there is nothing
/// smaller, and a build says so.)
#[test]
fn schedules_of_bodies_that_read_numbers_by_distance_compile_without_spills() {
    let of = |(dim, body): (u32, &str)| {
        let settings = syn::parse_str(&format!("causal, head_dim = {dim}")).unwrap();
        problem(&syn::parse_str(body).unwrap(), settings).unwrap()
    };
    let whole = [(64, RELATIVE), (64, RELATIVE_CAP), (128, RELATIVE_CAP), (128, RELATIVE)].map(of);
    let sequences = Sequences { packed_queries: false, keys: Keys::Paged(64) };
    let paged = [64, 128].map(|dim| Problem { sequences, log_sum_exp: true, ..of((dim, RELATIVE_CAP)) });
    compile(&[&whole[..], &paged].concat(), Arch::SM_90A);
    compile(&[of((128, RELATIVE_CAP)), of((256, RELATIVE)), paged[0].clone()], Arch::SM_80);
}

fn problems(dims: &[u32]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for mask in ["", "causal,", "window = 1024,"] {
        for dim in dims {
            let settings = || syn::parse_str(&format!("{mask} head_dim = {dim}")).unwrap();
            let of = |body| problem(&syn::parse_str(body).unwrap(), settings()).unwrap();
            problems.push(Problem { score: None, ..of(PLAIN) });
            problems.extend([SLOPED, BOUNDED, CAPPED, CHOSEN].map(of));
        }
    }
    problems
}

#[test]
fn schedules_of_wide_heads_compile_without_spills() {
    compile(&problems(&[192, 256]), Arch::SM_90A);
}

#[test]
fn schedules_of_bodies_compile_without_spills() {
    let all = problems(&[64, 128]).into_iter().filter(|problem| problem.score.is_some() && problem.window.is_none());
    compile(&all.collect::<Vec<_>>(), Arch::SM_90A);
}

/// Three consumers leave few registers, and the logarithm of each sum takes one.
#[test]
fn schedules_of_caps_compile_without_spills() {
    let narrow = |problem: &Problem| Problem { value_dim: 64, ..problem.clone() };
    let all = problems(&[64, 128]).into_iter().filter(|problem| problem.class().may_stay_within());
    let all = all.map(|problem| Problem { log_sum_exp: true, ..problem });
    let all: Vec<Problem> = all.flat_map(|problem| [narrow(&problem), problem]).collect();
    compile(&all, Arch::SM_90A);
}

/// Shares and tiles are found with few registers beside a producer's, and consumers hold where a tile is.
#[test]
fn schedules_of_packed_sequences_compile_without_spills() {
    let all = problems(&[64, 128]).into_iter().filter(|problem| problem.window.is_none());
    let sequences = Sequences { packed_queries: true, keys: Keys::Packed };
    let all = all.map(|problem| Problem { sequences, log_sum_exp: problem.score.is_some(), ..problem });
    compile(&all.collect::<Vec<_>>(), Arch::SM_90A);
}

/// Many queries on a cache, whole and packed.
#[test]
fn schedules_of_caches_compile_without_spills() {
    let all = problems(&[64, 128]).into_iter().filter(|problem| problem.window.is_none());
    let on_caches = all.flat_map(|problem| {
        CACHES.map(|keys| {
            let sequences = Sequences { packed_queries: problem.causal, keys };
            Problem { sequences, log_sum_exp: problem.score.is_some(), ..problem.clone() }
        })
    });
    compile(&on_caches.collect::<Vec<_>>(), Arch::SM_90A);
}

const CACHES: [Keys; 3] = [Keys::Counted, Keys::Paged(64), Keys::Paged(16)];

/// With the logarithm of each sum, and where the device knows where sequences lie.
#[test]
fn schedules_of_the_portable_family_compile_without_spills() {
    let mut all = problems(&[64, 128, 256]);
    all.iter_mut().step_by(2).for_each(|problem| problem.log_sum_exp = true);
    let plain: Vec<Problem> = all.iter().filter(|problem| problem.score.is_none()).cloned().collect();
    for keys in [Keys::Packed, Keys::Paged(64)] {
        let sequences = Sequences { packed_queries: true, keys };
        all.extend(plain.iter().map(|problem| Problem { sequences, log_sum_exp: true, ..problem.clone() }));
    }
    compile(&all, Arch::SM_80);
}

/// A body, and shares that the device finds, beside the sums of wide values; on keys that all queries see and on those up to their own:
/// one of three, as these take nvcc longest.
#[test]
fn schedules_of_bodies_on_keys_that_the_device_locates_compile_without_spills() {
    let all = problems(&[192, 256]).into_iter().filter(|problem| problem.score.is_some() && problem.window.is_none());
    let located = [Keys::Counted, Keys::Paged(64), Keys::Packed].into_iter().enumerate();
    let located = located.flat_map(|(number, keys)| {
        let sequences = Sequences { packed_queries: keys == Keys::Packed, keys };
        let of_mask = all.clone().filter(move |problem| problem.causal == (number % 2 == 0));
        of_mask.map(move |problem| Problem { sequences, log_sum_exp: true, ..problem })
    });
    let located: Vec<Problem> = located.step_by(3).collect();
    [Arch::SM_80, Arch::SM_90A].into_iter().for_each(|arch| compile(&located, arch));
}

/// Ordinarily one of so many schedules is compiled, of another problem another.
const SAMPLE: usize = 8;

/// What each kernel carries where nothing was tuned.
fn compile(problems: &[Problem], arch: Arch) {
    let cache: PathBuf =
        std::env::var_os("AUTOKERNEL_CACHE_DIR").map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), Into::into);
    let compiler = match Nvcc::locate(Path::new(env!("CARGO_MANIFEST_DIR")), &cache) {
        Ok(nvcc) => Compiler::new(nvcc, cache),
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    let every = if std::env::var_os("AUTOKERNEL_SOAK").is_some() { 1 } else { SAMPLE };
    let mut jobs = Vec::new();
    for (turn, problem) in problems.iter().enumerate() {
        let schedules = problem::Problem::Attention(problem.clone()).class().portfolio(arch);
        assert!(!schedules.is_empty(), "{problem} has no schedule");
        let typed = schedules.iter().map(|schedule| Schedule::try_from(schedule).unwrap());
        jobs.extend(typed.skip(turn % every).step_by(every).map(|schedule| (problem, schedule)));
    }
    let refused = |(problem, schedule): &(&Problem, Schedule)| {
        let (source, _) = emit::kernel(problem, schedule);
        let error = compiler.compile(&source, arch).err()?;
        Some(format!("{problem} by {schedule}: {error}"))
    };
    let wrong: Vec<String> = jobs.par_iter().filter_map(refused).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), jobs.len(), wrong.join("\n"));
}
