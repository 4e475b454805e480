//! Compiles the kernels of these tests with the schedules of their own best_config.json alone: what ships with
//! autokernel changes with every tuning, and would multiply by the number of epilogues here.

fn main() {
    // SAFETY: a build script's main thread is its only one here.
    unsafe { std::env::remove_var("DEP_AUTOKERNEL_CONFIG") };
    autokernel_codegen::Build::new().source("src").run();
}
