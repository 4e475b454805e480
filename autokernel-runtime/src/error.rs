//! Everything that can go wrong, each with its remedy.

use std::fmt::Display;

use cudarc::driver::{DriverError, sys::CUresult};

use crate::{Arch, ComputeCapability, Dtype};

/// What every fallible function of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong. Every message ends with what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The CUDA driver library is not on this machine.
    #[error(
        "no CUDA driver: neither libcuda.so nor nvcuda.dll could be opened. \
         Install NVIDIA's driver (in a container, pass the GPU in: `docker run --gpus all`), or use `Device::cpu()`"
    )]
    NoDriver,

    /// The driver is there, but not the GPU that was asked for.
    #[error(
        "there is no GPU {ordinal}: the driver sees {found}. \
         Check `nvidia-smi` and `CUDA_VISIBLE_DEVICES`, choose a lower ordinal, or use `Device::cpu()`"
    )]
    NoDevice {
        /// The ordinal that was asked for.
        ordinal: usize,
        /// How many GPUs the driver sees.
        found: usize,
    },

    /// The driver is older than a function that is needed.
    #[error(
        "{what} needs a driver for CUDA {}.{} or later; this one supports {}.{}. Update NVIDIA's driver",
        needed / 1000, needed % 1000 / 10, found / 1000, found % 1000 / 10
    )]
    DriverTooOld {
        /// What needs the newer driver.
        what: &'static str,
        /// The CUDA version that is needed, as 1000 × major + 10 × minor.
        needed: u32,
        /// The CUDA version that the driver supports, in the same form.
        found: u32,
    },

    /// The kernel was built without any GPU image.
    #[error("kernel `{kernel}` has no GPU image: {reason}. Until then launch it on `Device::cpu()`")]
    NotCompiled {
        /// The kernel's name.
        kernel: String,
        /// Why there is no image, and how to get one.
        reason: String,
    },

    /// None of the kernel's images runs on this GPU.
    #[error(
        "kernel `{kernel}` was compiled for {compiled_for}, and none of that runs on this GPU \
         (compute capability {gpu}, {shared_bytes} bytes of shared memory a block). {remedy}"
    )]
    WrongArch {
        /// The kernel's name.
        kernel: String,
        /// The architectures it was compiled for.
        compiled_for: String,
        /// The GPU's compute capability.
        gpu: ComputeCapability,
        /// The most dynamic shared memory a block may use on this GPU.
        shared_bytes: u32,
        /// What to do about it.
        remedy: String,
    },

    /// Operands of another number or kind than the kernel's.
    #[error("kernel `{kernel}` cannot take these operands: {reason}")]
    Operands {
        /// The kernel's name.
        kernel: String,
        /// What is wrong with them.
        reason: String,
    },

    /// Numbers that cannot be packed.
    #[error("cannot pack {0}")]
    Packing(String),

    /// Operands that do not fit each other.
    #[error(
        "kernel `{kernel}`: `{dim}` is {} by {first} and {} by {second}. Pass operands that agree in `{dim}`",
        sizes.0, sizes.1
    )]
    ShapeMismatch {
        /// The kernel's name.
        kernel: String,
        /// The dimension that two operands disagree about.
        dim: String,
        /// One operand, which of its axes, and its shape.
        first: String,
        /// The other.
        second: String,
        /// What each says.
        sizes: (usize, usize),
    },

    /// A dimension has another size than the one that was compiled in.
    #[error(
        "kernel `{kernel}` was compiled for {dim} = {known}, not {given}. \
         Launch it with {dim} = {known}, or declare a kernel with `{setting} = {given}` in its attribute; that of a product may leave sizes out"
    )]
    KnownDimension {
        /// The kernel's name.
        kernel: String,
        /// The dimension.
        dim: String,
        /// The size that was compiled in.
        known: u32,
        /// The size that was given.
        given: u32,
        /// What the attribute calls it.
        setting: String,
    },

    /// Extents of other dimensions than the kernel's.
    #[error("kernel `{kernel}` has the dimensions {expected}, and given were {given}. Give each of its own a size")]
    Dimensions {
        /// The kernel's name.
        kernel: String,
        /// Its dimensions.
        expected: String,
        /// What was given.
        given: String,
    },

    /// A buffer that is not the matrix it is said to be.
    #[error(
        "a buffer of {len} elements is no {rows}x{columns} matrix with leading dimension {ld}: it needs {needed}. {remedy}"
    )]
    BufferSize {
        /// Elements in the buffer.
        len: usize,
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        columns: usize,
        /// Elements from one row to the next.
        ld: usize,
        /// The elements needed, in words, as the product may not fit a `usize`.
        needed: String,
        /// What to change.
        remedy: &'static str,
    },

    /// Heads do not fit their buffer.
    #[error(
        "a buffer of {len} elements holds no heads of {}, {} elements apart: it needs {needed}. {remedy}",
        by(shape),
        by(strides)
    )]
    HeadsSize {
        /// Elements in the buffer.
        len: usize,
        /// Batch, heads, sequence, elements.
        shape: [usize; 4],
        /// Elements from one index to the next along the first three.
        strides: [usize; 3],
        /// The elements needed, in words, as the product may not fit a `usize`.
        needed: String,
        /// What to change.
        remedy: &'static str,
    },
    /// Offsets of groups that are not in order, or beyond the rows.
    #[error(
        "offset number {at} is {offset}, and groups of {rows} rows have one of {least} to {rows} there. Sort the rows by group, and let \
         each offset count the rows before its group"
    )]
    NotInOrder {
        /// Its place among the offsets.
        at: usize,
        /// The offset.
        offset: i32,
        /// The one before it.
        least: usize,
        /// Rows of the operand.
        rows: usize,
    },

    /// A buffer that is not the batch of matrices it is said to be.
    #[error(
        "a buffer of {len} elements is no batch of {} matrices with a stride of {} and leading dimension {}: it needs {needed}. {remedy}",
        by(shape), strides[0], strides[1]
    )]
    BatchSize {
        /// Elements in the buffer.
        len: usize,
        /// Matrices, rows and columns asked for.
        shape: [usize; 3],
        /// Elements from one matrix, and from one row, to the next.
        strides: [usize; 2],
        /// The elements needed, in words, as the product may not fit a `usize`.
        needed: String,
        /// What to change.
        remedy: &'static str,
    },

    /// An output in which two places are one element.
    #[error(
        "the elements of {} that lie {} elements apart overlap. Write to a tensor of which each element is one place",
        by(&shape[axes_of_one(shape)..]),
        by(&strides[axes_of_one(shape)..])
    )]
    Overlap {
        /// Batch, heads, sequence, elements.
        shape: [usize; 4],
        /// Elements from one index to the next along the first three.
        strides: [usize; 3],
    },

    /// A copy to another shape.
    #[error(
        "elements of {} are not copied to {}. Copy between views of one shape: `rows`, `columns` and `reshaped` make some",
        by(&from[axes_of_one(from)..]),
        by(&to[axes_of_one(to)..])
    )]
    CopyShape {
        /// What was to be copied: batch, heads, rows, columns.
        from: [usize; 4],
        /// Where it was to go.
        to: [usize; 4],
    },

    /// A leading dimension shorter than a row.
    #[error(
        "rows of {columns} elements overlap at a leading dimension of {ld}. Use a leading dimension of at least {columns}"
    )]
    LeadingDimension {
        /// Columns asked for.
        columns: usize,
        /// Elements from one row to the next.
        ld: usize,
    },

    /// A copy of another number of elements.
    #[error("{given} elements do not fill {}. Copy exactly {}", by(&shape[axes_of_one(shape)..]), count(shape))]
    CopyLength {
        /// Elements that were given.
        given: usize,
        /// Where they were to go: batch, heads, rows, columns; of what has one axis a row.
        shape: [usize; 4],
    },

    /// A part that is not there.
    #[error("{axis} {start}..{end} are asked for, and there are {extent}. Use a range within 0..{extent}")]
    OutOfRange {
        /// What is counted: `rows`, `columns`, `matrices`, `elements`, `choices`.
        axis: &'static str,
        /// Start of the range.
        start: usize,
        /// End of the range (exclusive).
        end: usize,
        /// What there is.
        extent: usize,
    },

    /// An index that picks a row which is not there.
    #[error(
        "number {at} is {row}, and there are {rows} rows. Numbers of rows are from 0 up to one less than there are"
    )]
    NoRow {
        /// Which number of the index.
        at: usize,
        /// The number.
        row: i32,
        /// Rows that there are.
        rows: usize,
    },

    /// Larger than a kernel can count or address.
    #[error("{what} is {given}, and a kernel takes at most {max}. Split the work along that dimension")]
    TooLarge {
        /// Which quantity.
        what: String,
        /// The value given.
        given: u128,
        /// The largest that is possible.
        max: u128,
    },

    /// An element type that differs from the kernel's.
    #[error(
        "kernel `{kernel}` takes {expected} for `{operand}`, not {given}. Convert the matrix, or declare the kernel for {given}"
    )]
    DtypeMismatch {
        /// The kernel's name.
        kernel: String,
        /// The parameter's name.
        operand: String,
        /// The kernel's type.
        expected: Dtype,
        /// The type that was given.
        given: Dtype,
    },

    /// Matrices, or a kernel, of different devices.
    #[error("{what} are on different devices: {left} and {right}. Copy one over with `Matrix::to_device`")]
    DeviceMismatch {
        /// What is on different devices.
        what: String,
        /// One device.
        left: String,
        /// The other.
        right: String,
    },

    /// Something that only a GPU can do was asked of the CPU or of an emulated GPU.
    #[error("{what} needs a CUDA device, and this is none. Use `Device::new(0)`")]
    NeedsGpu {
        /// What was asked for.
        what: &'static str,
    },

    /// A matrix on a GPU was given to what works on host memory.
    #[error("{what} takes matrices in host memory. Copy them over with `Matrix::to_device(&Device::cpu())`")]
    NeedsHost {
        /// What was asked for.
        what: &'static str,
    },

    /// An architecture whose instructions nothing here interprets.
    #[error("{arch} cannot be emulated. Emulate `sm_80` or `sm_90a`")]
    NotEmulated {
        /// The architecture.
        arch: Arch,
    },

    /// A kernel that an emulated GPU refused, or that did something wrong there.
    #[error(
        "kernel `{symbol}` failed on the emulated GPU: {reason}. \
         It would go wrong on a GPU too, or not be known to the emulator: report it with the kernel's declaration"
    )]
    Emulated {
        /// The kernel's symbol.
        symbol: String,
        /// What it did, and where.
        reason: String,
    },

    /// A stream that is being captured in a CUDA graph was to do what a graph cannot repeat.
    #[error("{what} is not possible on a stream that is being captured. End the capture first, or use another stream")]
    Captured {
        /// What was asked for.
        what: &'static str,
    },

    /// A whole number of an operand says what is not there; a checked launch found it.
    #[error(
        "kernel `{kernel}`: number {at} of `{operand}` is {value}, {}. Correct it where it is written: a launch that is not checked \
         takes it for the nearest that may be, or for none",
        may_be(*.least, *.most)
    )]
    Number {
        /// The kernel's name.
        kernel: String,
        /// The operand's.
        operand: String,
        /// Its place among the operand's numbers, from 0, row by row.
        at: usize,
        /// What it is.
        value: i32,
        /// The least that it may be.
        least: i64,
        /// The most that it may be.
        most: i64,
    },

    /// An image that is neither PTX text nor a cubin.
    #[error(
        "the image of kernel `{symbol}` is unusable: {reason}. Rebuild it (`cargo clean -p` its crate, then build)"
    )]
    Image {
        /// The kernel's symbol.
        symbol: String,
        /// What is wrong with it.
        reason: String,
    },

    /// A launch plan that cannot be carried out.
    #[error("kernel `{symbol}` cannot be launched as its plan says: {reason}. Rebuild the crate that declares it")]
    Plan {
        /// The kernel's symbol.
        symbol: String,
        /// Which rule it breaks.
        reason: String,
    },

    /// What a build embedded of a kernel cannot be read.
    #[error(
        "what the build says of this kernel is unusable: {reason}. \
         Rebuild the crate that declares it (`cargo clean -p` it, then build)"
    )]
    Descriptor {
        /// What is wrong with it.
        reason: String,
    },

    /// No memory for an allocation.
    #[error(
        "out of memory: {bytes} bytes were asked for on {device}. Free matrices, use smaller ones, or another device"
    )]
    OutOfMemory {
        /// Bytes asked for.
        bytes: u128,
        /// The device.
        device: String,
    },

    /// A measurement without a sample.
    #[error("no samples: {what}. Measure at least once")]
    NoSamples {
        /// What was to be summarised.
        what: &'static str,
    },

    /// A CUDA driver call failed.
    #[error("{doing}: the CUDA driver reports {source}. {}", remedy(.source))]
    Cuda {
        /// What was being done.
        doing: &'static str,
        /// The driver's own error.
        #[source]
        source: DriverError,
    },
}

/// What a number may be.
fn may_be(least: i64, most: i64) -> String {
    if least == most && most < 0 {
        return format!("and may be {least} alone: there is nothing to pick");
    }
    format!("and may be {least} to {most}")
}

/// Leading axes that a batch or a matrix does not have, or that might as well not be there.
fn axes_of_one(shape: &[usize; 4]) -> usize {
    shape.iter().take(2).take_while(|size| **size == 1).count()
}

/// How many elements a shape has, in words, as the product may not fit a `usize`.
fn count(shape: &[usize; 4]) -> String {
    let product = shape.iter().try_fold(1usize, |product, size| product.checked_mul(*size));
    product.map_or_else(|| "more than memory holds".to_owned(), |product| product.to_string())
}

/// `2x16x512`.
fn by(sizes: &[usize]) -> String {
    sizes.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}

impl Error {
    /// No memory for `len` elements of type `T`.
    pub(crate) fn out_of_memory<T>(device: &impl Display, len: u128) -> Self {
        Self::OutOfMemory { bytes: len.saturating_mul(size_of::<T>() as u128), device: device.to_string() }
    }

    /// Wraps a driver error with what was being done: `.map_err(Error::cuda("loading a kernel"))`.
    pub(crate) fn cuda(doing: &'static str) -> impl Fn(DriverError) -> Self {
        move |source| Self::Cuda { doing, source }
    }
}

/// What to do about a driver error.
fn remedy(error: &DriverError) -> &'static str {
    match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => "Free device memory or use smaller matrices",
        CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
        | CUresult::CUDA_ERROR_INVALID_IMAGE
        | CUresult::CUDA_ERROR_INVALID_SOURCE
        | CUresult::CUDA_ERROR_NOT_FOUND => "Rebuild the crate that declares the kernel",
        CUresult::CUDA_ERROR_INVALID_PTX
        | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        | CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND => {
            "Update NVIDIA's driver, or build with an nvcc that is no newer than it"
        }
        CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT => {
            "Launch the kernel once before capturing, so that it is loaded, and capture on a stream of its own"
        }
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
        | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
        | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | CUresult::CUDA_ERROR_LAUNCH_FAILED
        | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT => {
            "The context is lost: restart the process, and run it under `compute-sanitizer` to find the kernel"
        }
        _ => "Look the code up in NVIDIA's driver API manual under CUresult, and check `nvidia-smi`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_driver_names_the_cpu_as_the_way_out() {
        assert!(Error::NoDriver.to_string().ends_with("or use `Device::cpu()`"));
    }

    #[test]
    fn driver_versions_are_printed_as_people_write_them() {
        let error = Error::DriverTooOld { what: "event timing", needed: 12080, found: 12020 };
        let text = error.to_string();
        assert!(text.contains("CUDA 12.8 or later") && text.contains("supports 12.2"), "{text}");
    }
}
