//! Many products in one launch: a batch of one shape, or groups of rows with weights of their own. CUDA's `struct Batch`, as
//! `batch.cuh` and `groups.cuh` read it.

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
    if args.iter().any(|field| matches!(field.arg, Arg::Map { .. })) {
        out.line("// Whether each has this factor of its own, so that its tensor map has a dimension more.");
        let a = Some(operands.a).filter(|_| operands.many == Many::Batch);
        for (name, factor) in [("kA", a), ("kB", Some(operands.b)), ("kB2", operands.b2)] {
            if name == "kA" && a.is_none() {
                continue;
            }
            let has_own = factor.is_some_and(|factor| operands.batched.contains(&factor));
            out.line(format!("static constexpr bool {name} = {has_own};"));
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
    if let Some(offsets) = operands.offsets.and_then(|offsets| pointer_to(args, offsets)) {
        out.line("");
        out.line("// Where groups begin, and behind them where the last one ends.");
        out.line("__device__ __forceinline__ static const int32_t* offsets(const Args& args) {");
        out.line(format!("return static_cast<const int32_t*>(args.{offsets});"));
        out.line("}");
    }
    out.line("};");
    out.finish() + "\n"
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
