//! Everything an nvcc may do, with a script in its place; what only ptxas can say, with the real one where it is.

mod fake;
mod real;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::*;
use crate::arch::Arch;
use fake::{Fake, kernel};

fn refused(behaviour: &'static str) -> String {
    let fake = Fake::new(behaviour);
    let error = fake.compiler().compile(&kernel(), Arch::SM_80).unwrap_err();
    if error.spilled_bytes().is_none() {
        assert_eq!(fake.cached(), [] as [&Path; 0], "nothing of a failure is kept");
    }
    error.to_string()
}

#[test]
fn a_kernel_that_spills_is_compiled_once_and_refused_from_then_on() {
    let fake = Fake::new("spills");
    let refusals = [0; 3].map(|_| fake.compiler().compile(&kernel(), Arch::SM_80).unwrap_err().to_string());
    assert_eq!(fake.runs(), 1);
    assert!(refusals.iter().all(|text| *text == refusals[0] && text.contains("8 bytes spill stores")), "{refusals:?}");
    assert_eq!(fake.cached().len(), 1, "no work folder is left");

    std::fs::write(fake.cached()[0].join("refusal.txt"), "").unwrap();
    assert_eq!(fake.compiler().compile(&kernel(), Arch::SM_80).unwrap_err().spilled_bytes(), Some(8), "cut short");
    assert_eq!(fake.runs(), 2);
    fake.compiler().remove_unused(Duration::ZERO);
    assert_eq!(fake.cached(), [] as [&Path; 0], "as old as it is useless");
}

#[test]
fn a_kernel_is_compiled_once_and_found_from_then_on() {
    let fake = Fake::new("works");
    let compiled = fake.compiler().compile(&kernel(), Arch::SM_80).unwrap();
    let found = fake.compiler().compile(&kernel(), Arch::SM_80).unwrap();
    assert_eq!((compiled.cached, found.cached, fake.runs()), (false, true, 1));
    assert_eq!(found, Image { cached: true, ..compiled });
    assert_eq!(found.report.registers, 24);
    assert_eq!(std::fs::read_to_string(found.ptx).unwrap(), "ptx\n");

    fake.compiler().compile(&kernel(), Arch::SM_90A).unwrap();
    assert_eq!(fake.runs(), 2, "another arch is another image");
    assert_eq!(fake.cached().len(), 2, "no work folder is left");
}

#[test]
fn an_nvcc_that_fails_is_quoted() {
    let message = refused("fails");
    assert!(message.contains("nvcc could not compile autokernel_matmul_identity_bf16_bf16_nt"), "{message}");
    assert!(message.contains("for sm_80; it said:\nerror: out of registers and patience"), "{message}");
    let message = refused("fails_silently");
    assert!(message.contains("nothing; it ended with exit status: 2"), "{message}");
}

#[test]
fn an_nvcc_that_lacks_something_is_quoted_with_the_remedy() {
    let message = refused("lacks_a_host_compiler");
    assert!(message.contains("sh: 1: g++: not found\n") && message.contains("NVCC_CCBIN"), "{message}");
    let message = refused("knows_no_arch");
    assert!(message.contains("compute_80") && message.contains("AUTOKERNEL_ARCHS"), "{message}");
}

#[test]
fn a_kernel_that_spills_or_has_no_report_is_refused() {
    let message = refused("spills");
    assert!(message.contains("registers spilled to memory") && message.contains("8 bytes spill stores"), "{message}");
    let message = refused("reports_nothing");
    assert!(message.contains("no ptxas report"), "{message}");
}

#[test]
fn a_kernel_that_may_spill_is_another_image_than_the_same_that_may_not() {
    let fake = Fake::new("spills");
    let image = fake.compiler().with_spills().compile(&kernel(), Arch::SM_80).unwrap();
    assert_eq!(image.report.spill_store_bytes, 8);
    let error = fake.compiler().compile(&kernel(), Arch::SM_80).unwrap_err();
    assert_eq!(error.spilled_bytes(), Some(8), "{error}");
}

#[test]
fn an_nvcc_that_hangs_is_stopped_with_what_it_started() {
    let fake = Fake::new("hangs");
    let limit = Duration::from_millis(300);
    let error = fake.compiler().with_limit(limit).compile(&kernel(), Arch::SM_80).unwrap_err();
    assert!(matches!(error, CompileError::TimedOut { .. }), "{error}");
    std::thread::sleep(Duration::from_millis(1500));
    assert!(!fake.survived(), "a process that nvcc started is still running");
}

#[test]
fn no_limit_at_all_is_a_limit_too() {
    let fake = Fake::new("works");
    fake.compiler().with_limit(Duration::MAX).compile(&kernel(), Arch::SM_80).unwrap();
}

#[test]
fn an_nvcc_that_is_gone_is_an_error_with_its_path() {
    let nvcc = Nvcc { path: "/no/such/nvcc".into(), version: "13.0.1".to_owned() };
    let cache = tempfile::tempdir().unwrap();
    let error = Compiler::new(nvcc, cache.path().to_owned()).compile(&kernel(), Arch::SM_80).unwrap_err().to_string();
    assert!(error.contains("/no/such/nvcc") && error.contains("AUTOKERNEL_NVCC"), "{error}");
}

#[test]
fn an_entry_that_lost_a_file_is_compiled_again() {
    let fake = Fake::new("works");
    for lost in ["kernel.ptx", "kernel.cubin", "report.json"] {
        let image = fake.compiler().compile(&kernel(), Arch::SM_80).unwrap();
        std::fs::remove_file(image.ptx.with_file_name(lost)).unwrap();
        let again = fake.compiler().compile(&kernel(), Arch::SM_80).unwrap();
        assert!(!again.cached && again.ptx.is_file() && again.cubin.is_file(), "{lost}");
    }
    assert_eq!(fake.runs(), 4);
}

#[test]
fn an_entry_whose_file_was_cut_short_is_compiled_again() {
    let fake = Fake::new("works");
    for cut in ["kernel.ptx", "kernel.cubin", "report.json"] {
        let image = fake.compiler().compile(&kernel(), Arch::SM_80).unwrap();
        std::fs::write(image.ptx.with_file_name(cut), "").unwrap();
        let again = fake.compiler().compile(&kernel(), Arch::SM_80).unwrap();
        assert!(!again.cached, "{cut}");
        assert_ne!(std::fs::read_to_string(again.ptx.with_file_name(cut)).unwrap(), "", "{cut}");
    }
}

#[test]
fn a_cache_that_was_deleted_is_made_again() {
    let fake = Fake::new("works");
    let compiler = fake.compiler();
    compiler.compile(&kernel(), Arch::SM_80).unwrap();
    std::fs::remove_dir_all(fake.cache()).unwrap();
    assert!(compiler.compile(&kernel(), Arch::SM_80).unwrap().ptx.is_file());
}

#[test]
fn what_no_build_asked_for_in_long_is_removed_and_what_one_did_is_kept() {
    let fake = Fake::new("works");
    let (compiler, month) = (fake.compiler(), Duration::from_secs(30 * 24 * 60 * 60));
    let long_ago = SystemTime::now() - 2 * month;
    for arch in [Arch::SM_80, Arch::SM_90A] {
        let image = compiler.compile(&kernel(), arch).unwrap();
        let report = std::fs::File::options().append(true).open(image.ptx.with_file_name("report.json")).unwrap();
        report.set_modified(long_ago).unwrap();
    }
    compiler.compile(&kernel(), Arch::SM_90A).unwrap();
    compiler.remove_unused(month);
    assert_eq!(fake.cached().len(), 1);
    assert!(compiler.compile(&kernel(), Arch::SM_90A).unwrap().cached, "the one that was asked for");
}

#[test]
fn a_cache_that_cannot_be_written_is_an_error_that_names_its_variable() {
    let fake = Fake::new("works");
    let cache = fake.program().join("cache");
    let error = fake.compiler_caching_in(cache).compile(&kernel(), Arch::SM_80).unwrap_err().to_string();
    assert!(error.contains("works/cache") && error.contains("AUTOKERNEL_CACHE_DIR"), "{error}");
}

#[test]
fn many_compilers_of_one_kernel_leave_one_entry() {
    let fake = Fake::new("works");
    let images = std::thread::scope(|scope| {
        let compile = || fake.compiler().compile(&kernel(), Arch::SM_80).unwrap();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(compile)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(images.iter().all(|image| image.ptx == images[0].ptx && image.ptx.is_file()));
    assert_eq!(fake.cached().len(), 1);
}

#[test]
fn what_a_killed_compile_left_is_removed_after_a_day() {
    let fake = Fake::new("works");
    let [old, young] = ["compile-old", "compile-young"].map(|name| fake.cache().join(name));
    for folder in [&old, &young] {
        std::fs::create_dir_all(folder.join("inside")).unwrap();
    }
    let long_ago = SystemTime::now() - Duration::from_secs(25 * 60 * 60);
    std::fs::File::open(&old).unwrap().set_modified(long_ago).unwrap();
    fake.compiler().compile(&kernel(), Arch::SM_80).unwrap();
    assert_eq!((old.exists(), young.exists()), (false, true));
}

#[test]
fn the_version_is_asked_once_and_a_half_written_one_again() {
    let fake = Fake::new("works");
    let identify = || locate::identify(fake.program(), &fake.cache()).unwrap();
    assert_eq!((identify(), fake.runs()), (Nvcc { path: fake.program(), version: "13.0.1".to_owned() }, 1));
    assert_eq!((identify().version, fake.runs()), ("13.0.1".to_owned(), 1));
    std::fs::write(&fake.cached()[0], "").unwrap();
    assert_eq!((identify().version, fake.runs()), ("13.0.1".to_owned(), 2));
}

#[test]
fn a_relative_nvcc_is_found_from_every_folder() {
    let fake = Fake::new("works");
    let up: PathBuf = std::env::current_dir().unwrap().components().skip(1).map(|_| "..").collect();
    let relative = up.join(fake.program().strip_prefix("/").unwrap());
    let nvcc = locate::identify(relative, &fake.cache()).unwrap();
    Compiler::new(nvcc, fake.cache()).compile(&kernel(), Arch::SM_80).unwrap();
}

#[test]
fn a_program_that_is_no_nvcc_is_refused_with_what_it_printed() {
    let cache = tempfile::tempdir().unwrap();
    let error = locate::identify("/bin/false".into(), cache.path()).unwrap_err().to_string();
    assert!(error.contains("`/bin/false --version` failed: it ended with exit status: 1"), "{error}");
}
