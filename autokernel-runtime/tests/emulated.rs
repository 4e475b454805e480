//! Kernels by hand on an emulated GPU: what is found wrong is an error that says where.

#![cfg(feature = "emulator")]

use autokernel_core::plan::{Axis, Buffer, Contents};
use autokernel_core::{Alignment, Arg, Dimension, Field, Grid, KernelStep, Residency};
use autokernel_runtime::{
    Arch, Argument, Device, Dtype, EmulatedKernel, Emulation, Error, LaunchPlan, Matrix, MatrixView, MatrixViewMut,
    Operand, Passed, Role, Signature,
};

/// `out[row] = 2 * x[row]`, a thread each, whether or not there is such a row.
const DOUBLE: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry double(.param .align 8 .b8 args[16]) {
    .reg .b32 %r<2>; .reg .f32 %f<2>; .reg .b64 %rd<4>;
    ld.param.u64 %rd0, [args];
    ld.param.u64 %rd1, [args+8];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd2, %r0, 4;
    add.s64 %rd3, %rd0, %rd2;
    ld.global.f32 %f0, [%rd3];
    add.rn.f32 %f1, %f0, %f0;
    add.s64 %rd3, %rd1, %rd2;
    st.global.f32 [%rd3], %f1;
    ret;
}";

fn signature() -> Signature {
    let dims = ["rows", "columns"].map(|name| Dimension { name: name.parse().unwrap(), known: None }).to_vec();
    let operand = |name: &str, role| Operand {
        name: name.to_owned(),
        role,
        dtype: Dtype::F32,
        axes: vec![0, 1],
        passed: Passed::ByAddress,
    };
    Signature { dims, operands: vec![operand("x", Role::Input), operand("out", Role::Output)], ..Signature::default() }
}

fn plan(threads: u32) -> LaunchPlan {
    let field = |name: &str, operand| Field { name: name.to_owned(), arg: Arg::Pointer { operand } };
    let axes = vec![Axis { dim: 0, step: u32::MAX }];
    let kernel = KernelStep {
        symbol: "double".to_owned(),
        threads,
        shared_bytes: 0,
        overlaps_previous: false,
        grid: Grid { axes, cluster: 1, tiles: 1, residency: Residency::OneEach, split: None },
        args: vec![field("x", 0), field("out", 1)],
    };
    LaunchPlan { alignments: Vec::new(), workspace: Vec::new(), kernels: vec![kernel] }
}

fn kernel(threads: u32) -> EmulatedKernel {
    EmulatedKernel::load(&Emulation::new(Arch::SM_80), &signature(), &plan(threads), DOUBLE.as_bytes()).unwrap()
}

fn launched(kernel: &EmulatedKernel, x: &Matrix<f32>, out: &mut Matrix<f32>) -> Result<Vec<f32>, Error> {
    kernel.launch(&mut [Argument::from(x), Argument::from(&mut *out)])?;
    out.to_vec()
}

#[test]
fn a_kernel_computes_on_matrices_in_host_memory_and_tells_what_it_did() {
    let device = Device::emulated(Arch::SM_80).unwrap();
    let x = Matrix::from_slice(&device, &[1.0, 2.0, 3.0], 3, 1).unwrap();
    let mut out = Matrix::zeros(&device, 3, 1).unwrap();
    assert_eq!(launched(&kernel(3), &x, &mut out).unwrap(), [2.0, 4.0, 6.0]);
    let reports = kernel(3).launch(&mut [Argument::from(&x), Argument::from(&mut out)]).unwrap();
    assert_eq!((reports.len(), reports[0].counters.global.loaded), (1, 12));
}

#[test]
fn a_thread_beyond_its_operand_is_an_error_that_names_the_thread_and_the_operand() {
    let device = Device::emulated(Arch::SM_80).unwrap();
    let x = Matrix::from_slice(&device, &[1.0, 2.0, 3.0], 3, 1).unwrap();
    let mut out = Matrix::zeros(&device, 3, 1).unwrap();
    let text = launched(&kernel(4), &x, &mut out).unwrap_err().to_string();
    for part in ["kernel `double`", "thread (3, 0, 0)", "ld.global.f32", "of x"] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    assert_eq!(out.to_vec().unwrap(), [0.0; 3], "what failed left the output alone");
}

#[test]
fn an_operand_that_begins_anywhere_is_copied_to_where_the_plan_asks_and_back() {
    let plan = LaunchPlan {
        alignments: [0, 1].map(|operand| Alignment { operand, bytes: 16, rows: false }).to_vec(),
        ..plan(2)
    };
    let kernel = EmulatedKernel::load(&Emulation::new(Arch::SM_80), &signature(), &plan, DOUBLE.as_bytes()).unwrap();
    let (x, mut out) = ([9.0f32, 1.0, 2.0, 9.0], [7.0f32; 4]);
    let view = MatrixView::from_slice(&x[1..3], 1, 2).unwrap();
    let target = MatrixViewMut::from_slice(&mut out[1..3], 1, 2).unwrap();
    kernel.launch(&mut [Argument::from(view), Argument::from(target)]).unwrap();
    assert_eq!(out, [7.0, 2.0, 4.0, 7.0]);
}

/// Adds 1 to the word of its block in a buffer that holds zeros; with `LEAVE` it writes `LEAVE` there afterwards.
const COUNT: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry double(.param .align 8 .b8 args[16]) {
    .reg .b32 %r<3>; .reg .f32 %f<1>; .reg .b64 %rd<4>;
    ld.param.u64 %rd0, [args];
    ld.param.u64 %rd1, [args+8];
    mov.u32 %r0, %ctaid.x;
    mul.wide.u32 %rd2, %r0, 4;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.u32 %r1, [%rd1];
    add.u32 %r1, %r1, 1;
    cvt.rn.f32.u32 %f0, %r1;
    add.s64 %rd3, %rd0, %rd2;
    st.global.f32 [%rd3], %f0;
    st.global.u32 [%rd1], LEAVE;
    ret;
}";

#[test]
fn a_buffer_of_zeros_has_zeros_for_each_block_and_must_hold_zeros_when_the_kernel_ends() {
    let device = Device::emulated(Arch::SM_80).unwrap();
    let count = |left: &str| {
        let mut plan = LaunchPlan { workspace: vec![Buffer::of_block(4, Contents::Zeros)], ..plan(1) };
        let step = &mut plan.kernels[0];
        step.grid.axes[0].step = 1;
        let field = |name: &str, arg| Field { name: name.to_owned(), arg };
        step.args = vec![field("out", Arg::Pointer { operand: 1 }), field("counts", Arg::Workspace { buffer: 0 })];
        let ptx = COUNT.replace("LEAVE", left);
        let kernel = EmulatedKernel::load(&Emulation::new(Arch::SM_80), &signature(), &plan, ptx.as_bytes()).unwrap();
        let x = Matrix::zeros(&device, 300, 1).unwrap();
        let mut out = Matrix::zeros(&device, 300, 1).unwrap();
        launched(&kernel, &x, &mut out)
    };
    assert_eq!(count("0").unwrap(), [1.0; 300]);
    let text = count("%r1").unwrap_err().to_string();
    assert!(text.contains("byte 0 of the zeros of the workspace"), "{text}");
}

#[test]
fn what_cannot_be_emulated_is_refused_with_what_can() {
    let text = Device::emulated("sm_100a".parse().unwrap()).unwrap_err().to_string();
    assert!(text.contains("sm_100a") && text.contains("`sm_80` or `sm_90a`"), "{text}");
    let load = |ptx: &[u8]| EmulatedKernel::load(&Emulation::new(Arch::SM_80), &signature(), &plan(1), ptx);
    let unknown = DOUBLE.replace("add.rn.f32", "frobnicate.f32");
    for ptx in [&b""[..], b"\0", b"\xff\xfe", b"int main() {}", unknown.as_bytes()] {
        let loaded = load(ptx);
        assert!(matches!(loaded, Err(Error::Emulated { .. })), "{loaded:?}");
    }
    assert!(load(unknown.as_bytes()).unwrap_err().to_string().contains("PTX line 13"));
}

#[test]
fn an_emulated_gpu_and_the_cpu_share_their_matrices() {
    let (emulated, cpu) = (Device::emulated(Arch::SM_90A).unwrap(), Device::cpu());
    assert_eq!(emulated, cpu);
    assert!(!emulated.is_cpu() && emulated.stream().is_none());
    assert_eq!(emulated.to_string(), "an emulated sm_90a GPU");
    emulated.with_new_stream().unwrap().synchronize().unwrap();
}

#[test]
fn the_interpreter_grants_a_block_the_shared_memory_of_the_table() {
    use autokernel_runtime::emulator;
    for (arch, emulated) in [(Arch::SM_80, emulator::Arch::Sm80), (Arch::SM_90A, emulator::Arch::Sm90a)] {
        assert_eq!(emulated.max_shared_bytes(), arch.shared_bytes_per_block(), "{arch}");
    }
}
