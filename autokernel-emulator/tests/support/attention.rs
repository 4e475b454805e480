//! Attention by one of our kernels, on the emulator, held against fp64.

use autokernel_codegen::arch::Arch;
use autokernel_codegen::attention::oracle::{self, Of, Place, Value};
use autokernel_codegen::attention::plan::Sizes;
use autokernel_codegen::attention::score::Kind;
use autokernel_codegen::attention::sequences::Keys;
use autokernel_codegen::attention::{Problem, Schedule, emit, signature};
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::emit::KernelSource;
use autokernel_core::plan::Layout;
use autokernel_core::{Arg, Extents, LaunchPlan, OWN_AXIS, Operand, Role, TileBox};
use autokernel_emulator::{DevicePointer, Fill, Gpu, Launch, Module, Options, Report, Swizzle, TensorMap};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::arguments::{MULTIPROCESSORS, Workspace};
use super::attention_sequences::{Drawn, Key};
use super::compile::{Change, Compiler};
use super::host::{element_of, from_bytes, rounded, to_bytes};

/// The number that a body of these tests reads.
const CAP: f32 = 3.0;

/// What lies where nothing is to be written.
const UNTOUCHED: f64 = 7.0;
/// The number of the dimension along a query, before that along a value.
const DIM: u8 = 5;

/// That of each head, of as many digits as fp32 has, and of either sign.
fn slope(head: u32) -> f64 {
    const SLOPES: [f32; 3] = [0.123_456_79, 0.271_828_2, -0.192_837_46];
    f64::from(SLOPES[head as usize % SLOPES.len()])
}

/// Columns of numbers by distance, fewer than there are keys.
const DISTANCES: u32 = 41;

/// The number of a head and a column of them.
fn bias(head: u32, column: u32) -> f64 {
    f64::from(((head * 31 + column * 17) % 23) as f32 / 7.0 - 1.5)
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
    /// What values are multiplied by.
    pub of_values: f64,
    /// Whether an element of the last query of the last head is no number.
    pub nan: bool,
    /// A key of the first head of the first sequence that has one.
    pub nan_key: Option<u32>,
    /// Whether bounds of packed sequences are nonsense.
    pub nonsense: bool,
    /// Launches one behind the other.
    pub launches: u32,
}

impl Variation {
    /// Of that number: of every second one scores differ by so much that sums are rescaled to larger ones on the way.
    pub fn numbered(seed: u64) -> Self {
        let amplitude = if seed.is_multiple_of(2) { 1.0 } else { 16.0 };
        Variation { seed, amplitude, ..Variation::default() }
    }
}

impl Default for Variation {
    fn default() -> Self {
        Variation {
            seed: 0,
            heads_last: false,
            gap: 0,
            amplitude: 1.0,
            of_values: 1.0,
            nan: false,
            nan_key: None,
            nonsense: false,
            launches: 1,
        }
    }
}

/// What operands are of.
struct Placing<'p> {
    extents: &'p Extents,
    drawn: &'p Drawn,
    variation: Variation,
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

    /// Makes the rows no number of which that is said.
    fn poison(&mut self, is_poisoned: impl Fn([u32; 3]) -> bool) {
        let (rows, dim): (Vec<_>, usize) = (self.rows().collect(), self.sizes[3] as usize);
        let values = self.values.chunks_exact_mut(dim.max(1)).zip(rows);
        values.filter(|(_, row)| is_poisoned(*row)).for_each(|(values, _)| values.fill(f64::NAN));
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
    pub fn new(compiler: &Compiler, problem: &Problem, schedule: impl Into<Schedule>) -> Compiled {
        Self::changed(compiler, problem, schedule, None).unwrap()
    }

    /// With a changed header.
    pub fn changed(
        compiler: &Compiler,
        problem: &Problem,
        schedule: impl Into<Schedule>,
        change: Option<Change<'_>>,
    ) -> Result<Compiled, String> {
        let schedule = schedule.into();
        let (target, arch) = match schedule {
            Schedule::Sm80(_) => (Arch::SM_80, autokernel_emulator::Arch::Sm80),
            Schedule::Sm90(_) => (Arch::SM_90A, autokernel_emulator::Arch::Sm90a),
        };
        schedule.check(&problem.class(), target).unwrap();
        let (source, plan) = emit::kernel(problem, &schedule);
        let module = Module::parse(&compiler.ptx(&source, target, change)?).map_err(|error| error.to_string())?;
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
        let mut rng = StdRng::seed_from_u64(variation.seed);
        let drawn = Drawn::new(self.problem.sequences, &sizes, &mut rng, variation.nonsense);
        let keys = drawn.extent_of_keys(&sizes);
        let extents = Sizes { keys, ..sizes }.extents(&self.problem.class());
        let signature = signature(&self.problem);
        let operands = signature.operands.iter().enumerate();
        let placing = Placing { extents: &extents, drawn: &drawn, variation };
        let tensors: Vec<Tensor> =
            operands.map(|(at, operand)| self.tensor(&mut gpu, &mut rng, at, operand, &placing)).collect();

        let [step] = &self.plan.kernels[..] else { panic!("one kernel") };
        let blocks = step.grid.blocks(&extents, MULTIPROCESSORS);
        let workspace = Workspace::new(&mut gpu, &self.plan.workspace, &extents, blocks);
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
        let mut launched = || gpu.launch(&self.module, &self.source.symbol, &launch, &options);
        (1..variation.launches).try_for_each(|_| launched().map(drop)).map_err(|error| error.to_string())?;
        let report = launched().map_err(|error| error.to_string())?;
        if !workspace.is_left_as_found(&mut gpu) {
            return Err("the counter of tiles is not zero".to_owned());
        }
        self.compare(&mut gpu, &tensors, sizes, &drawn)?;
        Ok(report)
    }

    fn compare(&self, gpu: &mut Gpu, tensors: &[Tensor], sizes: Sizes, drawn: &Drawn) -> Result<(), String> {
        let read = tensors.iter().position(|tensor| tensor.role == Role::Output).unwrap();
        let ([q, k, v, ..], [out, rest @ ..]) = tensors.split_at(read) else { panic!("four operands") };
        let mut written = vec![false; out.rows().count()];
        for (number, sequence) in drawn.sequences.iter().enumerate() {
            let heads = (0..sizes.heads).flat_map(|head| (0..sequence.queries).map(move |query| (head, query)));
            for (head, query) in heads {
                let at = [sequence.batch, head, sequence.first_query + query];
                written[out.rows().position(|row| row == at).unwrap()] = true;
                let group = head / (sizes.heads / sizes.groups);
                let place = Place { query, queries: sequence.queries, keys: sequence.keys.len() as u32 };
                let of = |tensor, key: u32| {
                    let Key { matrix, row } = sequence.keys[key as usize];
                    Tensor::row(tensor, [matrix, group, row])
                };
                let expected =
                    self.expected(place, [number as u32, head], q.row(at), |key| of(k, key), |key| of(v, key));
                let got = out.download(gpu, at);
                if !expected.is(&got) {
                    return Err(format!("{number}: out{at:?} is {got:?}, not {:?}", expected.out));
                }
                if let [lse] = rest {
                    let row = if self.problem.sequences.packed_queries { [0, 0, head] } else { [0, at[0], head] };
                    let got = lse.download(gpu, row)[at[2] as usize];
                    if !expected.has_log_sum_exp(got) {
                        return Err(format!("log_sum_exp{at:?} is {got}, not {}", expected.log_sum_exp));
                    }
                }
            }
        }
        let left_alone = |at| out.download(gpu, at).iter().all(|value| *value == UNTOUCHED);
        let strange = out.rows().zip(written).filter(|(_, written)| !written).map(|(at, _)| at);
        strange.into_iter().all(left_alone).then_some(()).ok_or_else(|| "rows of no sequence are written".to_owned())
    }

    fn expected<'e>(
        &self,
        place: Place,
        of: [u32; 2],
        q: &[f64],
        k: impl Fn(u32) -> &'e [f64],
        v: impl Fn(u32) -> &'e [f64],
    ) -> oracle::Expected {
        let Some(score) = &self.problem.score else { return oracle::expected(&self.problem, place, q, k, v) };
        let [batch, head] = of;
        let value = |kind: &Kind| match kind {
            Kind::Number | Kind::DeviceScalar => Value::Number(f64::from(CAP)),
            Kind::PerHead => Value::Number(slope(head)),
            Kind::PerDistance => Value::ByDistance((0..DISTANCES).map(|column| bias(head, column)).collect()),
        };
        let operands: Vec<Value> = score.kinds().iter().map(value).collect();
        oracle::by_body(&self.problem, place, Of { batch, head, operands: &operands }, q, k, v)
    }

    /// Memory of exactly the elements that an operand spans.
    fn tensor(
        &self,
        gpu: &mut Gpu,
        rng: &mut StdRng,
        at: usize,
        operand: &Operand,
        &Placing { extents, drawn, variation }: &Placing<'_>,
    ) -> Tensor {
        let mut sizes = [1; 4];
        let from = 4 - operand.axes.len();
        operand.axes.iter().zip(&mut sizes[from..]).for_each(|(dim, size)| *size = extents.size(*dim));
        if operand.axes.len() == 2 && operand.axes[1] == OWN_AXIS {
            sizes[3] = DISTANCES;
        }
        if operand.dtype == Dtype::I32 {
            let (shape, numbers) = drawn.numbers(&operand.name);
            return integers(gpu, operand, shape, numbers);
        }
        if matches!(self.problem.sequences.keys, Keys::Paged(_)) && matches!(at, 1 | 2) {
            sizes[0] = drawn.pool;
        }
        let dtype = if self.is_reference && operand.role == Role::Output { Dtype::F32 } else { operand.dtype };
        let [_, heads, rows, dim] = sizes.map(u64::from);
        let pitch = dim + u64::from(variation.gap);
        let strides = match variation.heads_last && operand.axes.len() >= 3 && operand.axes.last() >= Some(&DIM) {
            true => [rows * heads * pitch, pitch, heads * pitch, 1],
            false => [heads * rows * pitch, rows * pitch, pitch, 1],
        };
        let last: u64 =
            sizes.iter().zip(strides).map(|(size, stride)| u64::from(size.saturating_sub(1)) * stride).sum();
        let elements = if sizes.contains(&0) { 0 } else { last + 1 };
        let pointer = gpu.alloc_named(&operand.name, elements * u64::from(dtype.bytes())).unwrap();
        let amplitude = [variation.amplitude, 1.0, variation.of_values].get(at).copied().unwrap_or(1.0);
        let count: u32 = sizes.iter().product();
        let random = |_| rounded(operand.dtype, amplitude * rng.random_range(-1.7..1.7));
        let mut values: Vec<f64> = match operand.axes.len() {
            0 => vec![f64::from(CAP)],
            1 => (0..count).map(slope).collect(),
            2 if operand.axes[1] == OWN_AXIS => (0..count).map(|at| bias(at / DISTANCES, at % DISTANCES)).collect(),
            _ => (0..count).map(random).collect(),
        };
        if variation.nan
            && at == 0
            && let Some(last) = values.last_mut()
        {
            *last = f64::NAN;
        }
        if at == 1
            && let Some(key) = variation.nan_key
        {
            values[key as usize * dim as usize] = f64::NAN;
        }
        let (role, rank) = (operand.role, operand.axes.len());
        let mut tensor = Tensor { pointer, dtype, role, rank, sizes, strides, values };
        if matches!(at, 1 | 2) {
            tensor.poison(|row| !drawn.has_key(Key { matrix: row[0], row: row[2] }));
        }
        match operand.role {
            Role::Input => tensor.upload(gpu),
            // What no sequence has is left alone.
            Role::Output if self.problem.sequences.packed_queries && rank >= 3 => {
                tensor.values.fill(UNTOUCHED);
                tensor.upload(gpu);
            }
            Role::Output => {}
        }
        tensor
    }
}

/// What says where sequences are.
fn integers(gpu: &mut Gpu, operand: &Operand, [rows, columns]: [u32; 2], numbers: &[i32]) -> Tensor {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let pointer = gpu.upload(&operand.name, &bytes).unwrap();
    let (sizes, strides) = ([1, 1, rows, columns], [0, 0, u64::from(columns), 1]);
    Tensor {
        pointer,
        dtype: operand.dtype,
        role: operand.role,
        rank: operand.axes.len(),
        sizes,
        strides,
        values: Vec::new(),
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
        Arg::IsMapped { operand } => u32::from(!tensor(operand).sizes.contains(&0)).to_le_bytes().to_vec(),
        Arg::Columns { operand } => tensor(operand).sizes[3].to_le_bytes().to_vec(),
        Arg::Matrices { operand } => tensor(operand).sizes[0].to_le_bytes().to_vec(),
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
    let rank = tensor.rank;
    let map = TensorMap {
        base: tensor.pointer.0,
        element,
        dimensions: [dim, rows, heads, batch][..rank].to_vec(),
        strides: [of_row, of_head, of_batch][..rank - 1].to_vec(),
        extents: [tile.columns, tile.rows, 1, 1][..rank].to_vec(),
        swizzle: Swizzle::Bytes128,
        fill: Fill::Zeros,
    };
    gpu.encode(&map).unwrap().to_vec()
}
