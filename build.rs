//! Compiles the built-in kernels, with the same call that a user's build script makes.

fn main() {
    // Read by the build scripts of dependent crates as DEP_AUTOKERNEL_CONFIG.
    println!("cargo::metadata=config={}/best_config.json", env!("CARGO_MANIFEST_DIR"));
    let sources = ["gated", "products", "rows"].map(|file| format!("src/builtin/{file}.rs"));
    sources.into_iter().fold(autokernel_codegen::Build::new(), autokernel_codegen::Build::source).run();
}
