//! Attention by one of our kernels, on the emulator, held against fp64.

use autokernel_codegen::arch::Arch;
use autokernel_codegen::attention::oracle::{self, Place};
use autokernel_codegen::attention::plan::{Sizes, signature};
use autokernel_codegen::attention::{AttentionSchedule, Problem, emit};
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::emit::KernelSource;
use autokernel_core::plan::Layout;
use autokernel_core::{Arg, Extents, LaunchPlan, Operand, Role, TileBox};
use autokernel_emulator::{DevicePointer, Fill, Gpu, Launch, Module, Options, Report, Swizzle, TensorMap};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::arguments::{MULTIPROCESSORS, Workspace};
use super::compile::{Change, Compiler};
use super::host::{element_of, from_bytes, rounded, to_bytes};

/// The number that a body of these tests reads.
const CAP: f32 = 3.0;

/// That of each head.
fn slope(head: u32) -> f64 {
    0.125 * f64::from(head + 1)
}

/// A compiled kernel of attention.
pub struct Compiled {
    problem: Problem,
    source: KernelSource,
    plan: LaunchPlan,
    module: Module,
    arch: autokernel_emulator::Arch,
    is_reference: bool,
}

/// How operands lie and what is in them.
#[derive(Clone, Copy, Debug)]
pub struct Variation {
    pub seed: u64,
    /// Whether the heads of a query lie side by side: `[batch, seq, heads, dim]`.
    pub heads_last: bool,
    /// Elements between rows, a multiple of 8.
    pub gap: u32,
    /// What queries are multiplied by: large ones make one weight of almost 1.
    pub amplitude: f64,
    /// Whether an element of the last query of the last head is no number.
    pub nan: bool,
}

impl Default for Variation {
    fn default() -> Self {
        Variation { seed: 0, heads_last: false, gap: 0, amplitude: 1.0, nan: false }
    }
}

/// A tensor of four axes on the emulated GPU, and its elements on the host in their order.
struct Tensor {
    pointer: DevicePointer,
    dtype: Dtype,
    role: Role,
    rank: usize,
    sizes: [u32; 4],
    /// In elements; the last is 1.
    strides: [u64; 4],
    values: Vec<f64>,
}

impl Tensor {
    fn row(&self, at: [u32; 3]) -> &[f64] {
        let [_, heads, rows, dim] = self.sizes;
        let first = (((at[0] * heads + at[1]) * rows + at[2]) * dim) as usize;
        &self.values[first..first + dim as usize]
    }

    fn rows(&self) -> impl Iterator<Item = [u32; 3]> {
        let [batch, heads, rows, _] = self.sizes;
        (0..batch).flat_map(move |b| (0..heads).flat_map(move |h| (0..rows).map(move |r| [b, h, r])))
    }

    fn address(&self, at: [u32; 3]) -> DevicePointer {
        let elements: u64 = at.iter().zip(self.strides).map(|(at, stride)| u64::from(*at) * stride).sum();
        self.pointer.offset(elements * u64::from(self.dtype.bytes()))
    }

    fn upload(&self, gpu: &mut Gpu) {
        for at in self.rows() {
            let bytes: Vec<u8> = self.row(at).iter().flat_map(|value| to_bytes(self.dtype, *value)).collect();
            gpu.write(self.address(at), &bytes).unwrap();
        }
    }

    fn download(&self, gpu: &mut Gpu, at: [u32; 3]) -> Vec<f64> {
        let bytes = u64::from(self.sizes[3]) * u64::from(self.dtype.bytes());
        let data = gpu.read(self.address(at), bytes).unwrap();
        data.chunks_exact(self.dtype.bytes() as usize).map(|element| from_bytes(self.dtype, element)).collect()
    }
}

impl Compiled {
    pub fn new(compiler: &Compiler, problem: &Problem, schedule: &AttentionSchedule) -> Compiled {
        Self::changed(compiler, problem, schedule, None).unwrap()
    }

    /// With a changed header.
    pub fn changed(
        compiler: &Compiler,
        problem: &Problem,
        schedule: &AttentionSchedule,
        change: Option<Change<'_>>,
    ) -> Result<Compiled, String> {
        schedule.check(&problem.class(), Arch::SM_90A).unwrap();
        let (source, plan) = emit::kernel(problem, schedule);
        let module = Module::parse(&compiler.ptx(&source, Arch::SM_90A, change)?).map_err(|error| error.to_string())?;
        let arch = autokernel_emulator::Arch::Sm90a;
        Ok(Compiled { problem: problem.clone(), source, plan, module, arch, is_reference: false })
    }

    pub fn reference(compiler: &Compiler, problem: &Problem) -> Compiled {
        let (source, plan) = emit::reference(problem);
        let ptx = compiler.with_whole_runtime().ptx(&source, Arch::SM_80, None).unwrap();
        let (module, arch) = (Module::parse(&ptx).unwrap(), autokernel_emulator::Arch::Sm80);
        Compiled { problem: problem.clone(), source, plan, module, arch, is_reference: true }
    }

    pub fn check(&self, sizes: Sizes, variation: Variation) -> Report {
        let what = format!("{}, {sizes:?}, {variation:?}", self.source.symbol);
        self.run(sizes, variation).unwrap_or_else(|why| panic!("{what}: {why}"))
    }

    /// What was counted, or what went wrong.
    pub fn run(&self, sizes: Sizes, variation: Variation) -> Result<Report, String> {
        let mut gpu = Gpu::new(self.arch);
        let extents = sizes.extents(&self.problem.class());
        let signature = signature(&self.problem);
        let mut rng = StdRng::seed_from_u64(variation.seed);
        let operands = signature.operands.iter().enumerate();
        let tensors: Vec<Tensor> =
            operands.map(|(at, operand)| self.tensor(&mut gpu, &mut rng, at, operand, &extents, variation)).collect();

        let [step] = &self.plan.kernels[..] else { panic!("one kernel") };
        let blocks = step.grid.blocks(&extents, MULTIPROCESSORS);
        let workspace = Workspace::new(&mut gpu, &self.plan.workspace, blocks);
        let mut parameters = Vec::new();
        for field in &step.args {
            parameters.resize(parameters.len().next_multiple_of(field.arg.layout().align), 0);
            parameters.extend(value(&gpu, &field.arg, &tensors, &extents, &workspace));
        }
        parameters.resize(Layout::of_struct(&step.args).bytes, 0);
        let launch = Launch {
            grid: [u32::try_from(blocks).unwrap(), 1, 1],
            block: [step.threads, 1, 1],
            cluster: None,
            dynamic_shared: step.shared_bytes,
            overlaps_previous: step.overlaps_previous,
            parameters,
        };
        let options = Options { seed: variation.seed, instruction_budget: 1 << 28, ..Options::default() };
        let report = gpu.launch(&self.module, &self.source.symbol, &launch, &options);
        let report = report.map_err(|error| error.to_string())?;
        if !workspace.is_left_as_found(&mut gpu) {
            return Err("the counter of tiles is not zero".to_owned());
        }
        self.compare(&mut gpu, &tensors, sizes)?;
        Ok(report)
    }

    fn compare(&self, gpu: &mut Gpu, tensors: &[Tensor], sizes: Sizes) -> Result<(), String> {
        let read = tensors.iter().position(|tensor| tensor.role == Role::Output).unwrap();
        let ([q, k, v, ..], [out, rest @ ..]) = tensors.split_at(read) else { panic!("four operands") };
        for at in out.rows() {
            let [batch, head, query] = at;
            let group = head / (sizes.heads / sizes.groups);
            let place = Place { query, queries: sizes.queries, keys: sizes.keys };
            let of = |tensor, key| Tensor::row(tensor, [batch, group, key]);
            let (k, v) = (|key| of(k, key), |key| of(v, key));
            let expected = if self.problem.score.is_some() {
                // The body of the tests: a slope for each head, and a cap.
                let (cap, slope) = (f64::from(CAP), slope(head));
                let (scale, distance) =
                    (f64::from(self.problem.scale), i64::from(sizes.keys) - i64::from(sizes.queries));
                let place_of_query = (i64::from(query) + distance) as f64;
                let score = |product: f64, key: u32| {
                    cap * (product * scale / cap).tanh() + slope * (f64::from(key) - place_of_query)
                };
                oracle::scored(&self.problem, place, q.row(at), k, v, score)
            } else {
                oracle::expected(&self.problem, place, q.row(at), k, v)
            };
            let got = out.download(gpu, at);
            if !expected.is(&got) {
                return Err(format!("out{at:?} is {got:?}, not {:?}", expected.out));
            }
            if let [lse] = rest {
                let got = lse.download(gpu, [0, batch, head])[query as usize];
                if !expected.has_log_sum_exp(got) {
                    return Err(format!("log_sum_exp{at:?} is {got}, not {}", expected.log_sum_exp));
                }
            }
        }
        Ok(())
    }

    /// Memory of exactly the elements that an operand spans.
    fn tensor(
        &self,
        gpu: &mut Gpu,
        rng: &mut StdRng,
        at: usize,
        operand: &Operand,
        extents: &Extents,
        variation: Variation,
    ) -> Tensor {
        let mut sizes = [1; 4];
        let from = 4 - operand.axes.len();
        operand.axes.iter().zip(&mut sizes[from..]).for_each(|(dim, size)| *size = extents.size(*dim));
        let dtype = if self.is_reference && operand.role == Role::Output { Dtype::F32 } else { operand.dtype };
        let [_, heads, rows, dim] = sizes.map(u64::from);
        let pitch = dim + u64::from(variation.gap);
        let strides = match variation.heads_last && operand.axes.len() == 4 {
            true => [rows * heads * pitch, pitch, heads * pitch, 1],
            false => [heads * rows * pitch, rows * pitch, pitch, 1],
        };
        let last: u64 =
            sizes.iter().zip(strides).map(|(size, stride)| u64::from(size.saturating_sub(1)) * stride).sum();
        let elements = if sizes.contains(&0) { 0 } else { last + 1 };
        let pointer = gpu.alloc_named(&operand.name, elements * u64::from(dtype.bytes())).unwrap();
        let amplitude = if at == 0 { variation.amplitude } else { 1.0 };
        let count: u32 = sizes.iter().product();
        let random = |_| rounded(operand.dtype, amplitude * rng.random_range(-1.7..1.7));
        let mut values: Vec<f64> = match operand.axes.len() {
            1 => (0..count).map(slope).collect(),
            _ => (0..count).map(random).collect(),
        };
        if variation.nan
            && at == 0
            && let Some(last) = values.last_mut()
        {
            *last = f64::NAN;
        }
        let (role, rank) = (operand.role, operand.axes.len());
        let tensor = Tensor { pointer, dtype, role, rank, sizes, strides, values };
        if operand.role == Role::Input {
            tensor.upload(gpu);
        }
        tensor
    }
}

fn value(gpu: &Gpu, arg: &Arg, tensors: &[Tensor], extents: &Extents, workspace: &Workspace) -> Vec<u8> {
    let tensor = |operand: &u8| &tensors[usize::from(*operand)];
    match arg {
        Arg::Map { operand, tile } => encode(gpu, tensor(operand), tile),
        Arg::Pointer { operand } => tensor(operand).pointer.0.to_le_bytes().to_vec(),
        Arg::Stride { operand, axis } => {
            let tensor = tensor(operand);
            tensor.strides[4 - tensor.rank + usize::from(*axis)].to_le_bytes().to_vec()
        }
        Arg::Scalar { .. } => CAP.to_le_bytes().to_vec(),
        Arg::Workspace { buffer } => workspace.address(*buffer).to_le_bytes().to_vec(),
        Arg::Extent { dim } => extents.size(*dim).to_le_bytes().to_vec(),
        other => panic!("attention passes no {other:?}"),
    }
}

fn encode(gpu: &Gpu, tensor: &Tensor, tile: &TileBox) -> Vec<u8> {
    if tensor.sizes.contains(&0) {
        return vec![0; autokernel_emulator::HANDLE_BYTES];
    }
    let element = element_of(tensor.dtype);
    let [batch, heads, rows, dim] = tensor.sizes.map(u64::from);
    let [of_batch, of_head, of_row, _] = tensor.strides.map(|stride| stride * u64::from(element.bytes()));
    let map = TensorMap {
        base: tensor.pointer.0,
        element,
        dimensions: vec![dim, rows, heads, batch],
        strides: vec![of_row, of_head, of_batch],
        extents: vec![tile.columns, tile.rows, 1, 1],
        swizzle: Swizzle::Bytes128,
        fill: Fill::Zeros,
    };
    gpu.encode(&map).unwrap().to_vec()
}
