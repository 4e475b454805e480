//! The schedules that wide heads ship with: none spills, whatever the mask and the body. (With a body on heads of 256 that for few
//! queries may, by some hundred bytes with the fewest keys that there are; a build then leaves it out.)

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use autokernel_codegen::arch::Arch;
use autokernel_codegen::attention::{AttentionSchedule, Problem, emit, problem};
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::problem;

/// Kernels that are compiled at once.
const THREADS: usize = 2;

const PLAIN: &str =
    "fn f(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, out: &mut Heads<bf16>) { score = score * scale; }";
const SLOPED: &str =
    "fn f(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, slope: &PerHead<f32>, out: &mut Heads<bf16>) {
        score = score * scale + slope * (key - query);
    }";
const CAPPED: &str =
    "fn f(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, slope: &PerHead<f32>, cap: f32, out: &mut Heads<bf16>) {
        let capped = cap * (score * scale / cap).tanh();
        score = capped + slope * (key - query);
    }";

fn problems() -> Vec<Problem> {
    let mut problems = Vec::new();
    for mask in ["", "causal,", "window = 1024,"] {
        for dim in [192, 256] {
            let settings = || syn::parse_str(&format!("{mask} head_dim = {dim}")).unwrap();
            let of = |body| problem(&syn::parse_str(body).unwrap(), settings()).unwrap();
            problems.push(Problem { score: None, ..of(PLAIN) });
            problems.extend([SLOPED, CAPPED].map(of));
        }
    }
    problems
}

#[test]
fn schedules_of_wide_heads_compile_without_spills() {
    let cache: PathBuf =
        std::env::var_os("AUTOKERNEL_CACHE_DIR").map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), Into::into);
    let compiler = match Nvcc::locate(Path::new(env!("CARGO_MANIFEST_DIR")), &cache) {
        Ok(nvcc) => Compiler::new(nvcc, cache),
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    let mut jobs = Vec::new();
    for problem in problems() {
        let schedules = problem::Problem::Attention(problem.clone()).class().portfolio(Arch::SM_90A);
        assert!(!schedules.is_empty(), "{problem} has no schedule");
        let typed = schedules.iter().map(|schedule| AttentionSchedule::try_from(schedule).unwrap());
        let may_spill = |it: &AttentionSchedule| it.share_keys && problem.score.is_some() && problem.value_dim == 256;
        jobs.extend(typed.filter(|schedule| !may_spill(schedule)).map(|schedule| (problem.clone(), schedule)));
    }
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((problem, schedule)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (source, _) = emit::kernel(problem, schedule);
            if let Err(error) = compiler.compile(&source, Arch::SM_90A) {
                panic!("{problem} by {schedule}: {error}");
            }
        }
    };
    std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(work))));
}
