//! What the names and operands of bodies are called in CUDA.

use autokernel_core::{Arg, Dtype, Field, Role};

use super::{Kind, Operand};

/// The CUDA name of an element of the operand or `let` called `name`. The underscore keeps names of bodies apart from
/// keywords, macros and the names of the kernel; what C++ has in no name is spelled out.
pub fn element(name: &str) -> String {
    let spelled = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() || letter == '_' => letter.to_string(),
        letter => format!("u{:x}", u32::from(letter)),
    };
    name.chars().map(spelled).chain(["_".to_owned()]).collect()
}

/// The field that holds the leading dimension of the matrix called `name`.
pub fn leading(name: &str) -> String {
    format!("{}ld", element(name))
}

/// The field that holds the rows that an operand has of its own.
pub fn rows(name: &str) -> String {
    format!("{}rows", element(name))
}

/// The field that holds the columns that an operand has of its own.
pub fn columns(name: &str) -> String {
    format!("{}columns", element(name))
}

/// The field that holds how far apart those of an operand lie of which each product of a batch has its own. It is no name of the
/// kernel's own, as that of a factor, `b_batch`, is.
pub fn batch_stride(name: &str) -> String {
    format!("{}batch_stride", element(name))
}

/// The field that holds the tensor map by which the matrix is loaded whose field is called `field`.
pub fn load_map(field: &str) -> String {
    format!("{field}load_map")
}

/// The field that says whether that map is there.
pub fn is_load_mapped(field: &str) -> String {
    format!("{field}load_is_mapped")
}

/// The C++ type of an operand's element.
pub fn cuda_type(operand: &Operand) -> String {
    match (operand.dtype, operand.role) {
        (Dtype::I32, _) => "int32_t".to_owned(),
        (dtype, Role::Output) => stored_type(dtype),
        (dtype, Role::Input) => format!("autokernel::{dtype}"),
    }
}

/// The C++ type of an element that is stored. A whole number is stored as its bits, as floats are; a factor's `i8` has none.
pub fn stored_type(dtype: Dtype) -> String {
    match dtype {
        Dtype::I8 => "autokernel::i8_bits".to_owned(),
        dtype => format!("autokernel::{dtype}"),
    }
}

/// The fields of a kernel's parameter that numbered operands need: the address of each, or a scalar's value, and the strides of
/// each matrix and of each batch.
pub fn fields<'o>(operands: impl Iterator<Item = (u8, &'o Operand)> + Clone) -> Vec<Field> {
    let operand = |(operand, named): (u8, &Operand)| {
        let is_scalar = named.kind == Kind::Scalar;
        let arg = if is_scalar { Arg::Scalar { operand } } else { Arg::Pointer { operand } };
        Field { name: element(&named.name), arg }
    };
    let matrices = operands.clone().filter(|(_, named)| named.kind == Kind::Matrix);
    let batches = operands.clone().filter(|(_, named)| named.batched);
    let stride = |name, operand, axis| Field { name, arg: Arg::Stride { operand, axis } };
    let of_rows = |(at, named): (u8, &Operand)| stride(leading(&named.name), at, named.axis_of_rows());
    let of_batch = |(at, named): (u8, &Operand)| stride(batch_stride(&named.name), at, 0);
    operands.map(operand).chain(matrices.map(of_rows)).chain(batches.map(of_batch)).collect()
}
