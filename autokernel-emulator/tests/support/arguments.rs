//! Launches as their plans say, on the emulated GPU.

use autokernel_codegen::matmul::Schedule;
use autokernel_codegen::matmul::emit::kernel;
use autokernel_codegen::matmul::extents;
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::problem::Problem;
use autokernel_core::plan::{Buffer, Contents, Layout};
use autokernel_core::{Arg, Extents, KernelStep, LaunchPlan, Operand, Role, Signature, TileBox};
use autokernel_emulator::{DevicePointer, Fill, Gpu, HANDLE_BYTES, Launch, Swizzle, TensorMap};

use super::host::{Shape, element_of};

/// A row-major matrix on the emulated GPU.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    pub pointer: DevicePointer,
    pub rows: u32,
    pub columns: u32,
    /// Elements from one row to the next.
    pub ld: u32,
}

/// Multiprocessors of the emulated GPU: few, so that small grids are persistent too.
pub const MULTIPROCESSORS: u32 = 4;
/// TMA's unit of addresses and of rows, in bytes.
const TMA_BYTES: u32 = 16;

/// The launch of the kernel of `schedule` for `problem`.
pub fn launch(gpu: &mut Gpu, problem: &Problem, schedule: &Schedule, shape: Shape, matrices: [Placed; 3]) -> Launch {
    of_plan(gpu, &signature(problem), &kernel(problem, schedule).1, extents(shape.m, shape.n, shape.k), &matrices)
}

/// The launch of the reference of `problem`.
pub fn reference(gpu: &mut Gpu, problem: &Problem, shape: Shape, matrices: [Placed; 3]) -> Launch {
    let (_, plan) = autokernel_codegen::emit::reference(problem);
    of_plan(gpu, &signature(problem), &plan, extents(shape.m, shape.n, shape.k), &matrices)
}

/// The launch of the one kernel of `plan`, on operands that lie as it asks, with a workspace of its own.
pub fn of_plan(
    gpu: &mut Gpu,
    signature: &Signature,
    plan: &LaunchPlan,
    extents: Extents,
    matrices: &[Placed],
) -> Launch {
    on(gpu, MULTIPROCESSORS, signature, plan, extents, matrices).0
}

/// The same on a GPU of so many multiprocessors, and the workspace.
pub fn on(
    gpu: &mut Gpu,
    multiprocessors: u32,
    signature: &Signature,
    plan: &LaunchPlan,
    extents: Extents,
    matrices: &[Placed],
) -> (Launch, Workspace) {
    let (mut launches, workspace) = steps(gpu, multiprocessors, signature, plan, extents, matrices);
    assert_eq!(launches.len(), 1, "one kernel");
    (launches.remove(0), workspace)
}

/// The launches of all kernels of a plan, in order, and their workspace.
pub fn steps(
    gpu: &mut Gpu,
    multiprocessors: u32,
    signature: &Signature,
    plan: &LaunchPlan,
    extents: Extents,
    matrices: &[Placed],
) -> (Vec<Launch>, Workspace) {
    let blocks = |step: &KernelStep| step.grid.blocks(&extents, multiprocessors);
    let workspace = Workspace::new(gpu, &plan.workspace, &extents, plan.kernels.iter().map(blocks).max().unwrap_or(0));
    let launched = Launched { gpu, operands: &signature.operands, extents, matrices, workspace: &workspace };
    let launch = |step: &KernelStep| {
        let mut parameters = Vec::new();
        for field in &step.args {
            parameters.resize(parameters.len().next_multiple_of(field.arg.layout().align), 0);
            parameters.extend(launched.value(&field.arg));
        }
        parameters.resize(Layout::of_struct(&step.args).bytes, 0);
        Launch {
            grid: [u32::try_from(blocks(step)).unwrap(), 1, 1],
            block: [step.threads, 1, 1],
            // Compiled in, but where a launch says how many blocks share a tile.
            cluster: step.grid.split.filter(|_| step.grid.cluster > 1).map(|_| [step.grid.cluster, 1, 1]),
            dynamic_shared: step.shared_bytes,
            overlaps_previous: step.overlaps_previous,
            parameters,
        }
    };
    let launches = plan.kernels.iter().map(launch).collect();
    (launches, workspace)
}

/// The buffers of a plan's workspace, with their bytes.
pub struct Workspace {
    buffers: Vec<(DevicePointer, Contents, u64)>,
}

impl Workspace {
    /// As a kernel first finds it.
    pub(super) fn new(gpu: &mut Gpu, buffers: &[Buffer], extents: &Extents, blocks: u64) -> Self {
        let make = |buffer: &Buffer| {
            let (bytes, contents) = (buffer.size(extents, blocks), buffer.contents);
            let pointer = match contents {
                Contents::Zeros => gpu.upload("zeros of the workspace", &vec![0; bytes as usize]).unwrap(),
                Contents::Anything => gpu.alloc_named("the workspace", bytes).unwrap(),
            };
            (pointer, contents, bytes)
        };
        Workspace { buffers: buffers.iter().map(make).collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }

    pub(super) fn address(&self, buffer: u8) -> u64 {
        self.buffers[usize::from(buffer)].0.0
    }

    /// Whether zeros are zeros: the next launch relies on it.
    pub fn is_left_as_found(&self, gpu: &mut Gpu) -> bool {
        let zeros = self.buffers.iter().filter(|(_, contents, _)| *contents == Contents::Zeros);
        zeros.into_iter().all(|(pointer, _, bytes)| gpu.read(*pointer, *bytes).unwrap().iter().all(|byte| *byte == 0))
    }
}

struct Launched<'l> {
    gpu: &'l Gpu,
    operands: &'l [Operand],
    extents: Extents,
    matrices: &'l [Placed],
    workspace: &'l Workspace,
}

impl Launched<'_> {
    fn value(&self, arg: &Arg) -> Vec<u8> {
        let matrix = |operand: &u8| self.matrices[usize::from(*operand)];
        match arg {
            Arg::Map { operand, tile } if self.is_mapped(*operand) => self.encode(*operand, tile).to_vec(),
            Arg::Map { .. } => vec![0; HANDLE_BYTES],
            Arg::Pointer { operand } => matrix(operand).pointer.0.to_le_bytes().to_vec(),
            Arg::Workspace { buffer } => self.workspace.address(*buffer).to_le_bytes().to_vec(),
            Arg::Stride { operand, axis: 0 } => u64::from(matrix(operand).ld).to_le_bytes().to_vec(),
            Arg::Stride { .. } => 1u64.to_le_bytes().to_vec(),
            Arg::Scalar { .. } => panic!("no kernel of these tests takes a scalar"),
            Arg::Extent { dim } => self.extents.size(*dim).to_le_bytes().to_vec(),
            Arg::Rows { operand } => {
                let Placed { rows, columns, .. } = matrix(operand);
                let is_matrix = self.operands[usize::from(*operand)].axes.len() > 1;
                if is_matrix { rows } else { rows.max(columns) }.to_le_bytes().to_vec()
            }
            Arg::Columns { operand } => matrix(operand).columns.to_le_bytes().to_vec(),
            Arg::Matrices { .. } => panic!("no kernel of these tests takes a batch"),
            Arg::IsMapped { operand } => u32::from(self.is_mapped(*operand)).to_le_bytes().to_vec(),
            Arg::Knob { value, .. } => value.to_le_bytes().to_vec(),
        }
    }

    /// An input has a map where it has elements and TMA can load it, an output where TMA can store it exactly.
    fn is_mapped(&self, operand: u8) -> bool {
        let (Operand { role, dtype, .. }, matrix) =
            (&self.operands[usize::from(operand)], self.matrices[usize::from(operand)]);
        let whole = |elements: u32| (elements * dtype.bytes()).is_multiple_of(TMA_BYTES);
        let is_aligned = matrix.pointer.0.is_multiple_of(TMA_BYTES.into()) && whole(matrix.ld);
        is_aligned
            && match role {
                Role::Input => matrix.rows > 0 && matrix.columns > 0,
                Role::Output => whole(matrix.columns),
            }
    }

    fn encode(&self, operand: u8, tile: &TileBox) -> [u8; HANDLE_BYTES] {
        let matrix = self.matrices[usize::from(operand)];
        let element = element_of(self.operands[usize::from(operand)].dtype);
        let map = TensorMap {
            base: matrix.pointer.0,
            element,
            dimensions: vec![matrix.columns.into(), matrix.rows.into()],
            strides: vec![u64::from(matrix.ld) * u64::from(element.bytes())],
            extents: vec![tile.columns, tile.rows],
            swizzle: match tile.swizzle {
                128 => Swizzle::Bytes128,
                64 => Swizzle::Bytes64,
                32 => Swizzle::Bytes32,
                _ => Swizzle::None,
            },
            fill: Fill::Zeros,
        };
        self.gpu.encode(&map).unwrap()
    }
}

/// `autokernel::PadRowsArgs` with one matrix.
pub fn pad_rows(source: Placed, target: Placed) -> Launch {
    let addresses = [source.pointer.0, target.pointer.0, source.ld.into(), target.ld.into()];
    let extents = [source.rows, source.columns].map(u64::from);
    let mut parameters: Vec<u8> = addresses.into_iter().chain(extents).flat_map(u64::to_le_bytes).collect();
    // The second matrix, which is not there.
    parameters.resize(2 * parameters.len(), 0);
    let grid = [source.rows.div_ceil(8).clamp(1, 3), source.columns.div_ceil(256).clamp(1, 2), 1];
    Launch::new(grid, [256, 1, 1], parameters)
}
