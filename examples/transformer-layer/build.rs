//! Compiles the kernels that this crate declares.

fn main() {
    autokernel_codegen::Build::new().run();
}
