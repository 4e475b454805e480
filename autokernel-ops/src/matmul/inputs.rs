//! What the matrix units multiply, and what a product is stored as.

use autokernel_core::Dtype;

/// The types that the matrix units multiply: those of `A` and `B`. Accumulation is in `f32`, of `i8` in whole numbers of 32 bits.
/// `f32` is multiplied as tf32, which a declaration asks for.
pub const INPUTS: [Dtype; 6] = [Dtype::Bf16, Dtype::F16, Dtype::E4m3, Dtype::E5m2, Dtype::I8, Dtype::F32];

/// The other type that factors of `input` are multiplied by, beside their own: floats of 8 bits by one another, as gradients in `e5m2`
/// are by weights in `e4m3`.
pub fn other(input: Dtype) -> Option<Dtype> {
    match input {
        Dtype::E4m3 => Some(Dtype::E5m2),
        Dtype::E5m2 => Some(Dtype::E4m3),
        _ => None,
    }
}

/// The setting by which a declaration asks for products of `f32` as tf32.
pub const TF32: &str = "tf32";

/// What a product of `input` elements without a body may be stored as.
pub fn outputs(input: Dtype) -> &'static [Dtype] {
    match input {
        Dtype::Bf16 => &[Dtype::Bf16, Dtype::F32],
        Dtype::F16 => &[Dtype::F16, Dtype::F32],
        Dtype::E4m3 | Dtype::E5m2 => &[Dtype::Bf16, Dtype::F16, Dtype::F32],
        Dtype::I8 => &[Dtype::F32, Dtype::Bf16, Dtype::F16],
        Dtype::F32 => &[Dtype::F32],
        Dtype::I4x2 | Dtype::I32 => &[],
    }
}

/// What is said of an operand of another type.
pub fn not_multiplied() -> String {
    format!("the matrix units multiply {}; convert this operand", in_words(&INPUTS))
}

/// What is said of an `f32` operand in a declaration without [`TF32`].
pub fn multiplied_as_tf32() -> String {
    format!(
        "the matrix units multiply f32 as tf32, by 10 of the 23 bits of a fraction; write `{TF32}` in the attribute's parentheses to \
         have that, or convert this operand"
    )
}

/// `bf16`, `f16` or `f32`
pub fn in_words(types: &[Dtype]) -> String {
    let names: Vec<String> = types.iter().map(|dtype| format!("`{dtype}`")).collect();
    match &names[..] {
        [names @ .., last] if !names.is_empty() => format!("{} or {last}", names.join(", ")),
        names => names.concat(),
    }
}

/// Why `a` must be stored as `[m, k]` and `b` as `[n, k]`.
pub fn along_k(input: Dtype) -> String {
    format!("the matrix units multiply {input} along the rows of both factors alone")
}
