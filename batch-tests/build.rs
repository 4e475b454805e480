//! Compiles the kernels of `src/declared.rs`.

fn main() {
    autokernel_codegen::Build::new().run();
}
