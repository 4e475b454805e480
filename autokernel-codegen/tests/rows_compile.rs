//! Row-wise schedules at the edge of their rules: the rules' contract is that what passes them compiles without spills.

use std::collections::BTreeSet;
use std::path::Path;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::rows::{Keep, Problem, Schedule, Sm80Schedule, Sm90Schedule, emit, problem, sm80, sm90};

/// Schedules of each body that are compiled; each takes seconds where the cache does not have it.
const SAMPLE: usize = 3;

const BODIES: [&str; 4] = [
    "fn softmax(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
        let e = (x - row_max(x)).exp();
        out = e / row_sum(e);
    }",
    "fn add_rms_norm(x: &Matrix<bf16>, skip: &Matrix<bf16>, weight: &Row<bf16>, sum: &mut Matrix<bf16>, out: &mut Matrix<bf16>) {
        let y = x + skip;
        sum = y;
        out = y / (row_mean(y * y) + 1e-6).sqrt() * weight;
    }",
    "fn layer_norm(x: &Matrix<f32>, weight: &Row<f32>, bias: &Row<f32>, out: &mut Matrix<f32>) {
        let centred = x - row_mean(x);
        out = centred / (row_mean(centred * centred) + 1e-5).sqrt() * weight + bias;
    }",
    "fn gelu(x: &Matrix<f16>, out: &mut Matrix<f16>) {
        out = 0.5 * x * (1.0 + erf(0.707_106_77 * x));
    }",
];

/// The schedules that hold so many vectors that twice as many break a rule.
fn edge(problem: &Problem) -> Vec<Sm80Schedule> {
    let class = problem.class();
    let all = sm80::schedules(&class, Arch::SM_80);
    let is_edge = |schedule: &&Sm80Schedule| {
        let twice = Sm80Schedule { vectors: 2 * schedule.vectors, ..**schedule };
        let is_plain = schedule.blocks_per_sm == 0 && schedule.parked == 0;
        is_plain && schedule.keep == Keep::Values && twice.check(&class, Arch::SM_80).is_err()
    };
    all.iter().filter(is_edge).copied().collect()
}

/// Says why not where there is none.
fn compiler() -> Option<Compiler> {
    let cache: std::path::PathBuf =
        std::env::var_os("AUTOKERNEL_CACHE_DIR").map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), Into::into);
    match Nvcc::locate(Path::new(env!("CARGO_MANIFEST_DIR")), &cache) {
        Ok(nvcc) => Some(Compiler::new(nvcc, cache)),
        Err(reason) => {
            eprintln!("skipped: {reason}");
            None
        }
    }
}

#[test]
fn schedules_at_the_edge_of_the_rules_compile_without_spills() {
    let Some(compiler) = compiler() else { return };
    // nvcc takes one core.
    std::thread::scope(|scope| {
        for body in BODIES {
            scope.spawn(|| compile_the_edge(body, &compiler));
        }
    });
}

#[test]
fn long_rows_are_held_without_spills_on_a_gpu_without_clusters() {
    let Some(compiler) = compiler() else { return };
    std::thread::scope(|scope| {
        for body in &BODIES[..3] {
            let compiler = &compiler;
            scope.spawn(move || {
                let problem = problem(&syn::parse_str(body).unwrap()).unwrap();
                let schedule = Sm80Schedule::for_columns(&problem.class(), 65_536, Arch::SM_80);
                assert!(schedule.parked > 0, "{schedule}");
                compiler.compile(&emit::kernel(&problem, &schedule).0, Arch::SM_80).unwrap();
            });
        }
    });
}

/// What a kernel carries of them, and such as the rules refuse with twice as many vectors.
#[test]
fn blocks_that_stay_and_keep_rows_compile_without_spills() {
    let Some(compiler) = compiler() else { return };
    let layer_norm = BODIES[2];
    std::thread::scope(|scope| {
        for body in
            ["f16", "bf16", "f32"].map(|ty| layer_norm.replace("f32", ty)).into_iter().chain([BODIES[1].to_owned()])
        {
            let compiler = &compiler;
            scope.spawn(move || {
                let problem = problem(&syn::parse_str(&body).unwrap()).unwrap();
                let class = problem.class();
                let all = sm80::schedules(&class, Arch::SM_80);
                let edge: Vec<_> = all
                    .into_iter()
                    .filter(|schedule| {
                        let twice = Sm80Schedule { vectors: 2 * schedule.vectors, ..*schedule };
                        schedule.keeps_rows && twice.check(&class, Arch::SM_80).is_err()
                    })
                    .collect();
                let sample = (0..SAMPLE).map(|at| edge[(edge.len() - 1) * at / (SAMPLE - 1)]);
                for schedule in sample.chain(Sm80Schedule::for_shifted(&class, Arch::SM_80)) {
                    let image = compiler.compile(&emit::kernel(&problem, &schedule).0, Arch::SM_80);
                    let image = image.unwrap_or_else(|error| panic!("{problem} by {schedule}: {error}"));
                    println!("{problem} by {schedule}: {} registers", image.report.registers);
                }
            });
        }
    });
}

/// Of 2048 threads a multiprocessor of these has room for 1536.
#[test]
fn kernels_ask_for_no_more_blocks_than_a_multiprocessor_of_each_gpu_holds() {
    let Some(compiler) = compiler() else { return };
    let mut jobs = Vec::new();
    for (arch, ty) in [("sm_86", "bf16"), ("sm_89", "f16"), ("sm_120", "bf16")] {
        let body = "fn gate(x: &Matrix<TY>, up: &Matrix<TY>, out: &mut Matrix<TY>) { out = silu(x) * up; }";
        let problem = problem(&syn::parse_str(&body.replace("TY", ty)).unwrap()).unwrap();
        let (class, arch) = (problem.class(), arch.parse::<Arch>().unwrap());
        let schedule = Sm80Schedule::for_columns(&class, 4096, arch);
        assert!(schedule.threads() * sm80::resident_blocks(&schedule, &class) > 1536, "{problem}: {schedule}");
        jobs.push((problem, schedule, arch));
    }
    std::thread::scope(|scope| {
        for (problem, schedule, arch) in &jobs {
            let compiler = &compiler;
            scope.spawn(move || compiler.compile(&emit::kernel(problem, schedule).0, *arch).unwrap());
        }
    });
}

#[test]
fn what_a_kernel_carries_compiles_without_spills_where_its_reductions_are_joined() {
    let Some(compiler) = compiler() else { return };
    let softmax = BODIES[0].to_owned();
    let layer_norm = BODIES[2].to_owned();
    let narrow = layer_norm.replace("f32", "bf16");
    std::thread::scope(|scope| {
        for body in [softmax.replace("bf16", "f32"), softmax, layer_norm, narrow] {
            let compiler = &compiler;
            scope.spawn(move || compile_the_joined(&body, compiler));
        }
    });
}

/// What a kernel carries of Hopper's family, and schedules of it that are at the edge of the rule `registers`.
#[test]
fn blocks_to_which_rows_are_brought_compile_without_spills() {
    let Some(compiler) = compiler() else { return };
    let [softmax, add_rms_norm, layer_norm, _] = BODIES.map(str::to_owned);
    let others =
        [softmax.replace("bf16", "f32"), add_rms_norm.replace("bf16", "f32"), layer_norm.replace("f32", "f16")];
    std::thread::scope(|scope| {
        for body in others.into_iter().chain([softmax, add_rms_norm, layer_norm]) {
            let compiler = &compiler;
            scope.spawn(move || compile_what_rings_bring(&body, compiler));
        }
    });
}

/// Of this some words are spilled by as many registers as ptxas takes by itself.
#[test]
fn reductions_of_many_vectors_along_columns_compile_without_spills() {
    let Some(compiler) = compiler() else { return };
    let body = "fn bent(x: &Matrix<bf16>, out: &mut Row<f16>) {
        let left = (if (x * x >= 1e-6) || ((0.000_001).exp() <= x) || ((if x == 1e-6 { x } else { 1e-6 }) == x.min(1e-6)) { x } else { x }) - x;
        let bent = gelu(left) / 1e-6;
        let y = ((1e-6 + bent) * (if bent / 6.0 < bent { 1e-6 } else { x }) * (x.tanh() * bent - 1e-6)).abs();
        let gate = (x - x) - (1e-6).sqrt();
        let other = (if (y * y >= gate.abs()) || (gate.min(3.0).exp() <= y) || ((if y == gate { y } else { gate }) == gate.min(y)) { y } else { y }) - y;
        let twice = gelu(other) / gate;
        out = column_mean((1e-6 + twice) * (if twice / 6.0 < twice { gate } else { y }) * (y.tanh() * twice - gate) + x);
    }";
    let problem = problem(&syn::parse_str(body).unwrap()).unwrap();
    let narrow = Sm80Schedule { threads_per_row: 8, rows_per_block: 8, vector: 4, vectors: 8, ..edge(&problem)[0] };
    let schedule = Sm80Schedule { keep: Keep::Values, blocks_per_sm: 0, cluster: 0, joins: false, ..narrow };
    assert_eq!(schedule.check(&problem.class(), Arch::SM_90A), Ok(()));
    let image = compiler.compile(&emit::kernel(&problem, &schedule).0, Arch::SM_90A);
    let image = image.unwrap_or_else(|error| panic!("{problem} by {schedule}: {error}"));
    println!("{schedule}: {} registers", image.report.registers);
}

fn compile_what_rings_bring(body: &str, compiler: &Compiler) {
    let problem = problem(&syn::parse_str(body).unwrap()).unwrap();
    let class = problem.class();
    let of_widths = [8192, 16_384, 65_536].map(|columns| Sm90Schedule::for_columns(&class, columns, Arch::SM_90A));
    let of_widths: BTreeSet<_> = of_widths.into_iter().flatten().collect();
    assert!(!of_widths.is_empty(), "{problem}");
    let edge: Vec<_> = sm90::schedules(&class, Arch::SM_90A)
        .into_iter()
        .filter(|schedule| {
            let twice = Sm90Schedule { vectors: 2 * schedule.vectors, ..*schedule };
            twice.check(&class, Arch::SM_90A).is_err_and(|broken| ["registers", "vectors"].contains(&broken.rule))
        })
        .collect();
    let sample = (0..SAMPLE).map(|at| edge[(edge.len() - 1) * at / (SAMPLE - 1)]);
    for schedule in of_widths.into_iter().chain(sample).map(Schedule::from) {
        let image = compiler.compile(&schedule.kernel(&problem).0, Arch::SM_90A);
        let image = image.unwrap_or_else(|error| panic!("{problem} by {schedule}: {error}"));
        println!("{problem} by {schedule}: {} registers", image.report.registers);
    }
}

fn compile_the_joined(body: &str, compiler: &Compiler) {
    let problem = problem(&syn::parse_str(body).unwrap()).unwrap();
    let widths =
        [8192, 16_384, 65_536].map(|columns| Sm80Schedule::for_columns(&problem.class(), columns, Arch::SM_90A));
    // Those that ship, and what a search may make of those that do not.
    let joined = widths.map(|schedule| Sm80Schedule { joins: true, ..schedule });
    let valid = |schedule: &Sm80Schedule| schedule.check(&problem.class(), Arch::SM_90A).is_ok();
    let joined: BTreeSet<_> = joined.into_iter().filter(valid).collect();
    assert!(joined.len() >= 2, "{problem}: {widths:?}");
    for schedule in joined {
        let image = compiler.compile(&emit::kernel(&problem, &schedule).0, Arch::SM_90A);
        let image = image.unwrap_or_else(|error| panic!("{problem} by {schedule}: {error}"));
        println!("{problem} by {schedule}: {} registers", image.report.registers);
    }
}

fn compile_the_edge(body: &str, compiler: &Compiler) {
    let problem = problem(&syn::parse_str(body).unwrap()).unwrap();
    let edge = edge(&problem);
    // Spread over the space, always the same.
    for at in (0..SAMPLE).map(|at| (edge.len() - 1) * at / (SAMPLE - 1)) {
        let schedule = edge[at];
        let (source, _) = emit::kernel(&problem, &schedule);
        for arch in [Arch::SM_80, Arch::SM_90A] {
            let image = compiler.compile(&source, arch);
            let image = image.unwrap_or_else(|error| panic!("{problem} by {schedule} for {arch}: {error}"));
            let available = (65_536 / schedule.threads()).min(255);
            println!("{schedule} for {arch}: {} registers of {available}", image.report.registers);
        }
    }
}
