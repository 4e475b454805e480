//! Mistakes in our own kernels: each must show as a fault or as a wrong result.
//!
//! Ordinarily a sample is run; all of them with `AUTOKERNEL_SOAK=1`. `AUTOKERNEL_MUTANT=text` runs those whose names
//! contain the text, and prints what became of them. `AUTOKERNEL_MUTANT_RESULTS=path` writes a line each to a file:
//! `results.txt` holds those of the last soak.

mod list;
mod two_products;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use self::list::{Expect, MUTANTS, Mutant, On};
use crate::support::arguments::{self, MULTIPROCESSORS, Placed};
use crate::support::case::{Case, Outcome, SM80, SM90, Variation, problem};
use crate::support::compile::{Change, Compiler};
use crate::support::host::{Matrix, allocate, download, product, shape};
use crate::support::sample::sample;
use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype::{Bf16, F16, F32};
use autokernel_codegen::emit::emit_reference;
use autokernel_codegen::matmul::problem::Layout::{Nn, Nt};
use autokernel_codegen::matmul::schedule::{Mode, Schedule, Sm80Schedule, Sm90Schedule};
use autokernel_emulator::{Gpu, Module, Options};

/// Of the mutants, one in so many is run ordinarily.
const SAMPLE: usize = 4;

/// Orders of events that are tried, and shapes: inside a tile, more laps than the ring has stages, several tiles, and no K.
const SEEDS: u64 = 4;
const SHAPES: [(u32, u32, u32); 4] = [(130, 136, 456), (200, 200, 72), (70, 67, 250), (9, 10, 0)];
/// So many that the last wave of tiles is part-filled where clusters share its tiles.
const SHARED_MULTIPROCESSORS: u32 = 5;
/// Where clusters share tiles: shares of two lengths, and a tile of many.
const SHARED_SHAPES: [(u32, u32, u32); 2] = [(130, 136, 456), (40, 30, 1000)];

/// Elements by which rows are longer than they need be, for each order of events.
const PADDINGS: [[u32; 3]; 4] = [[0, 0, 0], [2, 1, 3], [6, 6, 0], [1, 3, 2]];

fn case(on: On) -> Option<Case> {
    let sm90 = |problem, schedule| Some(Case { problem, schedule: Schedule::Sm90(schedule) });
    let plain = problem(Bf16, Bf16, Nt, "identity");
    match on {
        On::Plain => sm90(plain, SM90),
        On::RowMajor => sm90(problem(F16, F32, Nn, "identity"), Sm90Schedule { tile_n: 128, ..SM90 }),
        On::Cooperative => sm90(plain, Sm90Schedule { tile_m: 128, consumers: 2, ..SM90 }),
        On::PingPong => sm90(plain, Sm90Schedule { consumers: 2, mode: Mode::PingPong, ..SM90 }),
        On::ClusterM => sm90(plain, Sm90Schedule { cluster_m: 2, ..SM90 }),
        On::ClusterN => sm90(problem(Bf16, Bf16, Nn, "identity"), Sm90Schedule { tile_n: 128, cluster_n: 2, ..SM90 }),
        On::Split => {
            sm90(problem(Bf16, F32, Nt, "identity"), Sm90Schedule { splits: true, split_k: 4, stages: 4, ..SM90 })
        }
        On::Shared => sm90(plain, Sm90Schedule { stream_k: true, shared_waves: 2, ..SM90 }),
        On::SharedPingPong => {
            let schedule = Sm90Schedule { stream_k: true, shared_waves: 2, ..SM90 };
            sm90(plain, Sm90Schedule { consumers: 2, mode: Mode::PingPong, ..schedule })
        }
        On::Swapped => sm90(plain, Sm90Schedule { tile_m: 32, tile_n: 64, swap_ab: true, ..SM90 }),
        On::Sm80 => {
            let schedule = Schedule::Sm80(Sm80Schedule { tile_m: 32, tile_n: 64, warps_m: 1, ..SM80 });
            Some(Case { problem: plain, schedule })
        }
        On::PadRows | On::Reference | On::Gated | On::GatedSwapped | On::GatedSm80 => None,
    }
}

/// The schedule of a kernel with two products.
fn of_two_products(on: On) -> Option<Schedule> {
    match on {
        On::Gated => Some(Schedule::Sm90(Sm90Schedule { tile_n: 128, ..SM90 })),
        On::GatedSwapped => Some(Schedule::Sm90(Sm90Schedule { tile_m: 32, tile_n: 128, swap_ab: true, ..SM90 })),
        On::GatedSm80 => Some(Schedule::Sm80(Sm80Schedule { tile_m: 32, tile_n: 128, warps_m: 1, ..SM80 })),
        _ => None,
    }
}

/// What became of a mutant: the first run that showed it, or none.
fn run(mutant: &Mutant, compiler: &Compiler) -> Option<String> {
    let change = Change { file: mutant.file, before: mutant.before, after: mutant.after };
    match mutant.on {
        On::PadRows => return run_pad_rows(compiler, change),
        On::Reference => return run_reference(compiler, change),
        _ => {}
    }
    if let Some(schedule) = of_two_products(mutant.on) {
        return two_products::run(compiler, &schedule, Some(change));
    }
    let case = case(mutant.on).unwrap();
    let module = match case.compile(compiler, Some(change)) {
        Ok(module) => module,
        Err(reason) => panic!("{}: {reason}", mutant.name),
    };
    let shapes = if mutant.on.shares() { &SHARED_SHAPES[..] } else { &SHAPES };
    let multiprocessors = if mutant.on.shares() { SHARED_MULTIPROCESSORS } else { MULTIPROCESSORS };
    for seed in 0..SEEDS {
        for &(m, n, k) in shapes {
            let padding = PADDINGS[seed as usize % PADDINGS.len()];
            let variation = Variation { seed, padding, multiprocessors, ..Variation::default() };
            match case.run(&module, shape(m, n, k), variation) {
                Outcome::Right(_) => {}
                Outcome::Wrong(why) | Outcome::Fault(why) => return Some(format!("seed {seed}, {m}x{n}x{k}: {why}")),
            }
        }
    }
    None
}

fn run_pad_rows(compiler: &Compiler, change: Change<'_>) -> Option<String> {
    let module = case(On::Sm80).unwrap().compile(compiler, Some(change)).unwrap();
    for (columns, ld) in [(300, 301), (7, 9), (264, 266), (513, 520)] {
        let mut gpu = Gpu::new(autokernel_emulator::Arch::Sm80);
        let source = Matrix::integers(19, columns, ld, 9);
        let from = source.upload(&mut gpu, "source", Bf16);
        let whole = columns.next_multiple_of(8);
        let to = Placed { columns, ..allocate(&mut gpu, "target", Bf16, 19, whole, whole, 0) };
        let launch = arguments::pad_rows(from, to);
        if let Err(error) = gpu.launch(&module, "autokernel_pad_rows", &launch, &Options::default()) {
            return Some(error.to_string());
        }
        if download(&mut gpu, to, Bf16) != source.values {
            return Some("a wrong copy".to_owned());
        }
    }
    None
}

fn run_reference(compiler: &Compiler, change: Change<'_>) -> Option<String> {
    let problem = problem(Bf16, Bf16, Nn, "identity");
    let source = emit_reference(&problem);
    let module = Module::parse(&compiler.ptx(&source, Arch::SM_80, Some(change)).unwrap()).unwrap();
    let shape = shape(21, 37, 50);
    let mut gpu = Gpu::new(autokernel_emulator::Arch::Sm80);
    let (a, b) = (Matrix::integers(21, 50, 53, 1), Matrix::integers(50, 37, 38, 2));
    let placed = [a.upload(&mut gpu, "A", Bf16), b.upload(&mut gpu, "B", Bf16)];
    let c = allocate(&mut gpu, "C", F32, 21, 37, 40, 0);
    let launch = arguments::reference(&mut gpu, &problem, shape, [placed[0], placed[1], c]);
    if let Err(error) = gpu.launch(&module, &source.symbol, &launch, &Options::default()) {
        return Some(error.to_string());
    }
    (download(&mut gpu, c, F32) != product(&a, &b, Nn, shape)).then(|| "a wrong product".to_owned())
}

/// What became of a mutant, for people: a fault's place is left out as far as it names the kernel.
fn result(mutant: &Mutant, found: Option<&str>) -> String {
    match (found, mutant.expect) {
        (Some(found), _) => found.split_once(", block ").map_or(found, |(_, rest)| rest).to_owned(),
        (None, Expect::Equivalent(why)) => format!("nothing, as {why}"),
        (None, Expect::Caught) => "MISSED".to_owned(),
    }
}

#[test]
fn mistakes_in_our_kernels_are_caught() {
    let Some(compiler) = Compiler::find("mistakes_in_our_kernels_are_caught") else { return };
    let chosen = std::env::var("AUTOKERNEL_MUTANT").ok();
    let wanted: Vec<&Mutant> = sample(MUTANTS, if chosen.is_some() { 1 } else { SAMPLE }, 0)
        .filter(|mutant| chosen.as_ref().is_none_or(|text| mutant.name.contains(text)))
        .collect();
    let (next, missed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(mutant) = wanted.get(at) else { return };
                    let found = run(mutant, &compiler);
                    let line = format!("{}: {}", mutant.name, result(mutant, found.as_deref()));
                    println!("{line}");
                    results.lock().unwrap().push((at, line));
                    if found.is_some() != (mutant.expect == Expect::Caught) {
                        missed.lock().unwrap().push(mutant.name);
                    }
                }
            });
        }
    });
    if let Some(path) = std::env::var_os("AUTOKERNEL_MUTANT_RESULTS") {
        let mut results = results.into_inner().unwrap();
        results.sort();
        let lines: String = results.into_iter().map(|(_, line)| line + "\n").collect();
        std::fs::write(path, lines).unwrap();
    }
    let missed = missed.into_inner().unwrap();
    assert!(missed.is_empty(), "{} of {} are not as expected: {missed:#?}", missed.len(), wanted.len());
}

#[test]
fn two_products_in_one_kernel_are_right_where_nothing_is_changed() {
    let Some(compiler) = Compiler::find("two_products_in_one_kernel_are_right_where_nothing_is_changed") else {
        return;
    };
    for on in [On::Gated, On::GatedSwapped, On::GatedSm80] {
        assert_eq!(two_products::run(&compiler, &of_two_products(on).unwrap(), None), None, "{on:?}");
    }
}

#[test]
fn every_mutant_changes_its_header_in_one_place() {
    for mutant in MUTANTS {
        let header = autokernel_codegen::emit::all_headers().find(|(path, _)| *path == mutant.file).unwrap().1;
        assert!(header.contains(mutant.before), "{}: `{}` is not in {}", mutant.name, mutant.before, mutant.file);
    }
}

/// Reasons are for people; they must be there.
#[test]
fn every_mutant_that_shows_nothing_says_why() {
    for mutant in MUTANTS {
        if let Expect::Equivalent(why) = mutant.expect {
            assert!(!why.is_empty(), "{}", mutant.name);
        }
    }
}
