//! Compiles the built-in kernels, with the same call that a user's build script makes.

fn main() {
    // Read by the build scripts of dependent crates as DEP_AUTOKERNEL_CONFIG.
    println!("cargo::metadata=config={}/best_config.json", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("CARGO_FEATURE_BUILTIN").is_some() {
        autokernel_codegen::Build::new().source("src/builtin.rs").run();
    }
}
