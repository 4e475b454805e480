//! Many products in one launch: a batch of one shape, or groups of rows or of K. CUDA's `struct Batch`, as `batch.cuh`, `groups.cuh` and
//! `groups_along_k.cuh` read it.

use autokernel_core::{Arg, Dtype, Field, Role, Signature};

use super::many::Many;
use super::plan::Operands;
use crate::lines::Lines;

/// `struct Batch` and a blank line; nothing where there is one product. `args` are the kernel's fields; outputs are of
/// `stored_as`, where that is not their own type.
pub fn print(operands: &Operands, args: &[Field], signature: &Signature, stored_as: Option<Dtype>) -> String {
    if operands.many == Many::One {
        return String::new();
    }
    let mut out = Lines::default();
    out.line("// What each product has of the operands.");
    out.line("struct Batch {");
    let many = operands.many.name();
    out.line(format!("static constexpr autokernel::batch::Many kMany = autokernel::batch::Many::{many};"));
    if stored_as.is_none()
        && let Some(sizes) = kind_of_sizes(operands.many)
    {
        out.line(format!("using Sizes = autokernel::groups::{sizes};"));
    }
    if args.iter().any(|field| matches!(field.arg, Arg::Map { .. })) {
        out.line("// Whether each has this factor of its own, so that its tensor map has a dimension more.");
        let factors = [("kA", Some(operands.a)), ("kB", Some(operands.b)), ("kB2", operands.b2)];
        for (name, factor) in factors {
            out.line(has_one_each(operands, name, factor));
        }
        if operands.many.counts_rows_on_device() {
            out.line(has_one_each(operands, "kC", operands.c));
        }
    }
    out.line("");
    out.line("// What a launch passes, seen from product `number`.");
    out.line("__device__ __forceinline__ static Args of(Args args, int64_t number) {");
    for (pointer, stride, operand) in moved(operands, args) {
        let operand = &signature.operands[usize::from(operand)];
        let dtype = stored_as.filter(|_| operand.role == Role::Output).unwrap_or(operand.dtype);
        let to = format!("autokernel::batch::moved<autokernel::{dtype}>(args.{pointer}, number * args.{stride})");
        out.line(format!("args.{pointer} = {to};"));
    }
    out.line("return args;");
    out.line("}");
    if let Some(sizes) = operands.sizes.and_then(|sizes| pointer_to(args, sizes)) {
        let (name, what) = if operands.many.has_offsets() {
            ("offsets", "Where groups begin, and behind them where the last one ends.")
        } else {
            ("counts", "How many rows count, of each product.")
        };
        out.line("");
        out.line(format!("// {what}"));
        out.line(format!("__device__ __forceinline__ static const int32_t* {name}(const Args& args) {{"));
        out.line(format!("return static_cast<const int32_t*>(args.{sizes});"));
        out.line("}");
    }
    if operands.many == Many::GroupsAlongK {
        along_k(&mut out, operands, args, signature);
    }
    out.line("};");
    out.finish() + "\n"
}

fn has_one_each(operands: &Operands, name: &str, matrix: Option<u8>) -> String {
    let has_own = matrix.is_some_and(|matrix| operands.batched.contains(&matrix));
    format!("static constexpr bool {name} = {has_own};")
}

/// The type of what tells the rows of groups.
fn kind_of_sizes(many: Many) -> Option<&'static str> {
    match many {
        Many::One | Many::Batch | Many::GroupsAlongK => None,
        Many::Masked => Some("Counts"),
        Many::Groups => Some("Offsets"),
    }
}

/// A function that moves addresses along K; none where there are tensor maps instead.
fn along_k(out: &mut Lines, operands: &Operands, args: &[Field], signature: &Signature) {
    let factors = [operands.a, operands.b].into_iter().chain(operands.b2);
    let moved = factors.filter_map(|factor| {
        let is_pitch = |field: &&Field| matches!(field.arg, Arg::Stride { operand, .. } if operand == factor);
        let (pointer, pitch) = (pointer_to(args, factor)?, &*args.iter().find(is_pitch)?.name);
        Some((pointer, pitch, signature.operands[usize::from(factor)].dtype))
    });
    let moved: Vec<_> = moved.collect();
    if moved.is_empty() {
        return;
    }
    out.line("");
    out.line("// What a launch passes, of `count` rows of its factors from `first` on.");
    out.line("__device__ __forceinline__ static Args along_k(Args args, int64_t first, int count) {");
    for (pointer, pitch, dtype) in moved {
        let to = format!("autokernel::batch::moved<autokernel::{dtype}>(args.{pointer}, first * args.{pitch})");
        out.line(format!("args.{pointer} = {to};"));
    }
    out.line("args.k = count;");
    out.line("return args;");
    out.line("}");
}

fn pointer_to(args: &[Field], wanted: u8) -> Option<&str> {
    let is_of = |field: &&Field| matches!(field.arg, Arg::Pointer { operand } if operand == wanted);
    args.iter().find(is_of).map(|field| &*field.name)
}

/// The addresses that differ from product to product, with the strides between them and the numbers of their operands.
fn moved<'a>(operands: &'a Operands, args: &'a [Field]) -> impl Iterator<Item = (&'a str, &'a str, u8)> {
    let stride_of = move |wanted: u8| {
        let is_stride = |field: &&Field| matches!(field.arg, Arg::Stride { operand, axis: 0 } if operand == wanted);
        args.iter().find(is_stride).filter(|_| operands.batched.contains(&wanted))
    };
    args.iter().filter_map(move |field| match field.arg {
        Arg::Pointer { operand } => Some((&*field.name, &*stride_of(operand)?.name, operand)),
        _ => None,
    })
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
