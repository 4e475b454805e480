//! CUDA translation units, and the structs that are printed into them.

use std::fmt::{Display, Write};

use autokernel_core::plan::Layout;
use autokernel_core::{Arg, Field};

/// A CUDA translation unit with one kernel for one problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSource {
    /// The kernel's `extern "C"` name: readable, and different for different kernels.
    pub symbol: String,
    /// The text. It includes files of [`registry::all_headers`](crate::registry::all_headers).
    pub cuda: String,
}

/// A CUDA file that travels with the crate: its path below the include folder, and its text.
pub type Header = (&'static str, &'static str);

/// The CUDA files of a folder, by the path under which sources include them.
macro_rules! headers {
    ($($folder:literal: $($path:literal)*;)*) => {
        &[$($(($path, include_str!(concat!($folder, $path))),)*)*]
    };
}

pub(crate) use headers;

/// The files that rooms share.
pub(crate) const SHARED: &[Header] = headers! {
    "cuda/": "copy_rows.cuh" "epilogue.cuh" "fast_math.cuh" "fp8.cuh" "fp8_pairs.cuh" "int8.cuh" "int8_output.cuh" "multiprocessor.cuh" "packed4.cuh" "pad_byte_rows.cuh" "pad_rows.cuh" "ptx/atomic.cuh" "ptx/common.cuh" "ptx/cp_async.cuh" "ptx/permute.cuh" "ptx/prefetch.cuh" "ptx/shared_bytes.cuh" "ptx/sm80.cuh" "ptx/sm80_mma_fp8.cuh" "ptx/sm80_mma_fp8_pairs.cuh" "ptx/sm80_mma_s8.cuh" "ptx/sm80_mma_tf32.cuh" "ptx/sm90.cuh" "ptx/sm90_bulk.cuh"
        "ptx/sm90_descriptor.cuh" "ptx/sm90_l2_policy.cuh" "ptx/sm90_mma.cuh" "ptx/sm90_tma_3d.cuh" "ptx/sm90_tma_4d.cuh" "ptx/sm90_tma_prefetch.cuh" "ptx/sm90_wgmma.cuh" "ptx/sm90_wgmma_fp8_pairs.cuh" "ptx/sm90_wgmma_registers.cuh" "ptx/sm90_wgmma_s8.cuh" "ptx/sm90_wgmma_tf32.cuh" "ptx/sm90_wgmma_widths.cuh" "ptx/warp.cuh" "raster.cuh" "types.cuh" "unpack.cuh";
};

/// A constant of a printed struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    ty: &'static str,
    name: &'static str,
    value: String,
}

/// An `int` constant.
pub fn int(name: &'static str, value: u32) -> Constant {
    Constant { ty: "int", name, value: value.to_string() }
}

/// A constant of a type that headers declare.
pub fn value(ty: &'static str, name: &'static str, value: String) -> Constant {
    Constant { ty, name, value }
}

/// A `bool` constant.
pub fn boolean(name: &'static str, value: bool) -> Constant {
    Constant { ty: "bool", name, value: value.to_string() }
}

/// `struct name` of constants, with a comment above it.
pub fn constants(comment: &str, name: &str, constants: &[Constant]) -> String {
    let lines = constants.iter().map(|Constant { ty, name, value }| format!("static constexpr {ty} {name} = {value}"));
    structure(comment, name, lines)
}

/// `struct Args`, a kernel's parameter, with the size that the launch packs.
pub fn args(fields: &[Field]) -> String {
    args_of("Args", fields)
}

/// The same of another kernel of the image, under a name of its own.
pub fn args_of(name: &str, fields: &[Field]) -> String {
    let lines = fields.iter().map(|Field { name, arg }| {
        let namespace = if matches!(arg, Arg::Map { .. }) { "autokernel::" } else { "" };
        format!("{namespace}{} {name}", arg.cuda_type())
    });
    let bytes = Layout::of_struct(fields).bytes;
    let text = structure("What a launch passes.", name, lines);
    format!("{text}static_assert(sizeof({name}) == {bytes}, \"the launch packs as many bytes\");\n")
}

fn structure(comment: &str, name: &str, lines: impl Iterator<Item = impl Display>) -> String {
    let mut text = format!("// {comment}\nstruct {name} {{\n");
    for line in lines {
        writeln!(text, "  {line};").expect("strings take any text");
    }
    text + "};\n"
}
