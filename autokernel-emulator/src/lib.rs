//! Runs and checks the PTX of CUDA kernels without a GPU.
//!
//! The crate interprets the PTX that a compiler emitted for `sm_80` and `sm_90a`: scalar code, shuffles and barriers,
//! `mma.sync`, `ldmatrix` and `cp.async`; and Hopper's `wgmma`, TMA, mbarriers with transaction counts, clusters and
//! distributed shared memory. It knows nothing of who emitted the text.
//!
//! ```
//! use autokernel_emulator::{Arch, Gpu, Launch, Module, Options};
//!
//! let module = Module::parse(
//!     ".visible .entry double(.param .u64 data) {
//!          .reg .b32 %r<3>; .reg .b64 %rd<3>;
//!          ld.param.u64 %rd0, [data];
//!          mov.u32 %r0, %tid.x;
//!          mul.wide.u32 %rd1, %r0, 4;
//!          add.s64 %rd1, %rd0, %rd1;
//!          ld.global.b32 %r1, [%rd1];
//!          add.s32 %r1, %r1, %r1;
//!          st.global.b32 [%rd1], %r1;
//!          ret;
//!      }",
//! )?;
//! let mut gpu = Gpu::new(Arch::Sm90a);
//! let data = gpu.upload("data", &[1, 0, 0, 0, 2, 0, 0, 0])?;
//! let mut launch = Launch::new([1; 3], [2, 1, 1], data.0.to_le_bytes().to_vec());
//! gpu.launch(&module, "double", &launch, &Options::default())?;
//! assert_eq!(gpu.read(data, 8)?, [2, 0, 0, 0, 4, 0, 0, 0]);
//!
//! // A third thread has no element. The fault names the thread, the line, the instruction and what lies there.
//! launch.block = [3, 1, 1];
//! let fault = gpu.launch(&module, "double", &launch, &Options::default()).unwrap_err().to_string();
//! assert!(fault.contains("thread (2, 0, 0), PTX line 7, `ld.global.b32`"), "{fault}");
//! assert!(fault.contains("it lies at byte 8 of data"), "{fault}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is checked
//! Every fault names kernel, block, thread, the line of the PTX and, where the text was compiled with `-lineinfo`, the
//! line of the CUDA source ([`Fault`], [`FaultKind`]).
//! - Bounds, exact to the byte, of every state space, and alignment.
//! - Reads of bytes that nobody wrote.
//! - Races: between threads, between blocks, and between a thread and the copies and matrix instructions that run on
//!   by themselves. What orders two accesses is tracked with vector clocks, so that a race is found whether or not the
//!   two met in this run. Where all that is missing is a `fence.proxy.async`, the message says so.
//! - Accumulators and fragments of a `wgmma` that are touched before its group was waited for, or not fenced before it.
//! - mbarriers that are not initialised, not yet visible, or count wrong; barriers whose threads disagree.
//! - Deadlocks, with who waits for what, and warps that meet a barrier in part.
//! - Blocks that end while a peer or a copy may still use their shared memory.
//! - Global memory that is touched before `griddepcontrol.wait`, where a launch overlaps the one before, but by relaxed loads,
//!   which guess what to prefetch: any seed but 0 lets them find anything.
//! - Matrix descriptors and tensor maps that the hardware would refuse, and boxes that begin inside of 16 bytes of a row.
//!
//! # When asynchronous operations finish
//! As late as they may: a copy lands when nothing else can go on, a `wgmma` is computed when it is waited for, `cp.async`
//! when its group is. That is [`Options::seed`] 0. Any other seed also lets warps run in another order, operations
//! finish early in any order, waits give up before their time, and shared memory begin at another place.
//!
//! # What is not modelled
//! Time. Caches. The order in which a tensor core adds: sums of products are rounded once, so that a result may differ
//! from the hardware's in its last bits, and integers do not. Functions marked `.approx` are computed more closely than
//! the hardware does. Clusters run one after another, so a kernel whose blocks wait for blocks of other clusters does
//! not end. The scope of a fence or of an order is taken to reach everyone. An instruction, or a form of one, that is
//! not executed is refused when the text is read: nothing is skipped.
//!
//! # How it is built
//! `ptx` reads a text and resolves every name; `isa` decodes each instruction once, from one table of opcodes; `device` is
//! memory and tensor maps; `run` interprets, a file for each group of instructions; `check` holds the clocks and the
//! histories of bytes, and knows nothing of PTX.

#![forbid(unsafe_code)]

mod check;
mod device;
mod fault;
mod gpu;
mod isa;
mod launch;
mod ptx;
mod report;
mod run;

pub use device::{Arch, DevicePointer, Element, Fill, HANDLE_BYTES, MemoryError, Swizzle, TensorMap, TensorMapError};
pub use fault::{Access, Actor, Fault, FaultKind, LaunchError, MbarrierFault, OtherAccess, RunError};
pub use gpu::Gpu;
pub use launch::{Checks, Launch, Options};
pub use ptx::{Kernel, Module, ParseError, ParseErrorKind, SourceLocation};
pub use report::{Counters, Executed, Memory, Report, Site, Traffic};
