//! Compiles the built-in kernels, with the same call that a user's build script makes.

fn main() {
    // Read by the build scripts of dependent crates as DEP_AUTOKERNEL_CONFIG.
    println!("cargo::metadata=config={}/best_config.json", env!("CARGO_MANIFEST_DIR"));
    let mut build = autokernel_codegen::Build::new().source("src/builtin/gated.rs").source("src/builtin/rows.rs");
    if std::env::var_os("CARGO_FEATURE_BUILTIN").is_some() {
        build = build.source("src/builtin/products.rs");
    }
    build.run();
}
