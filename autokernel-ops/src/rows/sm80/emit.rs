//! From a problem and a schedule to the CUDA translation unit that nvcc compiles.

use autokernel_core::LaunchPlan;

use super::schedule::Sm80Schedule;
use super::{columns, rules};
use crate::hash;
use crate::rows::passes::Program;
use crate::rows::plan::{self, Shape};
use crate::rows::print::{self, Brought};
use crate::rows::problem::{Class, Problem};
use crate::source::{self, KernelSource, boolean, int};

/// How the blocks of a schedule are laid out.
pub fn shape(schedule: &Sm80Schedule, class: &Class) -> Shape {
    let Sm80Schedule { rows_per_block, cluster, blocks_per_sm, .. } = *schedule;
    Shape {
        threads: schedule.threads(),
        rows: rows_per_block,
        columns: class.is_elementwise().then(|| schedule.part_columns()),
        cluster,
        blocks_per_sm,
        shared_bytes: rules::prefetch_bytes(schedule, class)
            + rules::parked_bytes(schedule, class)
            + rules::kept_bytes(schedule, class),
    }
}

/// Those that kernels of a class begin with which threads load rows for.
pub fn roots_of(class: &Class) -> Vec<&'static str> {
    if class.is_by_columns() {
        return vec!["columns_sm80.cuh"];
    }
    let parked = (class.passes.len() > 1 && class.is_in_place()).then_some(Walk::Parked.file());
    let staying = parked.filter(|_| class.read_rows().count() > 0).map(|_| Walk::Staying.file());
    included(class, Walk::Whole.unless_elementwise(class)).into_iter().chain(parked).chain(staying).collect()
}

/// Which of the family's kernels takes the rows.
#[derive(Clone, Copy)]
enum Walk {
    /// A team takes whole rows.
    Whole,
    /// The same, of rows of which it holds a part in shared memory.
    Parked,
    /// The same, by blocks that stay and keep `Row`s.
    Staying,
    /// A block takes a part of rows that nothing reduces.
    Parts,
}

impl Walk {
    fn of(class: &Class, schedule: &Sm80Schedule) -> Self {
        match schedule {
            Sm80Schedule { keeps_rows: true, .. } => Walk::Staying,
            Sm80Schedule { parked: 1.., .. } => Walk::Parked,
            _ => Walk::Whole.unless_elementwise(class),
        }
    }

    fn unless_elementwise(self, class: &Class) -> Self {
        if class.is_elementwise() { Walk::Parts } else { self }
    }

    fn file(self) -> &'static str {
        match self {
            Walk::Whole => "rows_sm80.cuh",
            Walk::Parked => "rows_parked.cuh",
            Walk::Staying => "rows_staying.cuh",
            Walk::Parts => "rows_elementwise.cuh",
        }
    }

    fn kernel(self) -> &'static str {
        match self {
            Walk::Whole => "Rows",
            Walk::Parked => "ParkedRows",
            Walk::Staying => "StayingRows",
            Walk::Parts => "ElementwiseRows",
        }
    }
}

/// What a kernel of the class includes.
fn included(class: &Class, walk: Walk) -> Vec<&'static str> {
    let moves = class.fetches.iter().any(|fetch| !fetch.columns.are_same());
    let picks = !class.own_axes().rows.is_empty();
    let of_inputs = [picks.then_some("rows_index.cuh"), moves.then_some("rows_moved.cuh")];
    class.narrow_stores().chain(of_inputs.into_iter().flatten()).chain([walk.file()]).collect()
}

/// The kernel that computes `problem` by `schedule`, and its launch.
pub fn kernel(problem: &Problem, schedule: &Sm80Schedule) -> (KernelSource, LaunchPlan) {
    if problem.body().is_by_columns() {
        return along_columns(problem, schedule);
    }
    let Sm80Schedule { threads_per_row, rows_per_block, vector, cluster, vectors, keep, .. } = *schedule;
    let Sm80Schedule { blocks_per_sm, joins, parked, .. } = *schedule;
    let (class, own) = (problem.class(), problem.class().own_axes());
    let mut constants = vec![
        int("kThreadsPerRow", threads_per_row),
        int("kRowsPerBlock", rows_per_block),
        int("kVector", vector),
        int("kVectors", vectors),
        int("kCluster", cluster),
        boolean("kPrefetches", blocks_per_sm > 0),
    ];
    if parked > 0 {
        let kept = boolean("kParksKept", rules::parks_kept(schedule, &class));
        constants.extend([int("kParked", parked), int("kGroup", rules::group(schedule, &class)), kept]);
    }
    let constants = source::constants("How: threads, and the vectors that each holds.", "Schedule", &constants);
    let (shape, walk) = (shape(schedule, &class), Walk::of(&class, schedule));
    let args = |symbol: &str| {
        let plan = plan::plan(&problem.body().operands, &own, shape, symbol.to_owned());
        let args: String = plan.kernels.iter().map(|step| source::args(&step.args)).collect();
        (plan, args)
    };
    let program = if joins { Program::joining } else { Program::new }(problem.body(), keep);
    let brought = match schedule {
        Sm80Schedule { keeps_rows: true, .. } => Brought::MatricesAndRows,
        _ if rules::requests_rows(schedule, &class) => Brought::NothingAtOnce,
        _ => Brought::Nothing,
    };
    let body = format!("{constants}\n{}\n{}", args("").1, print::problem(problem.body(), &program, brought));
    let symbol = format!("autokernel_{}_{}", problem.class().slug(), hash::short(&body));
    let (plan, _) = args(&symbol);
    let cluster = match cluster {
        0 | 1 => String::new(),
        blocks => format!(" __cluster_dims__({blocks}, 1, 1)"),
    };
    let cuda = format!(
        "// Generated by autokernel: {problem}.\n\
         {includes}\n\
         namespace {{\n\n{body}\n\
         using Kernel = autokernel::rows::{kernel}<Problem, Schedule, Args>;\n\
         static_assert(Kernel::kThreads == {threads}{bytes}, \"the launch has as many\");\n\n}}  // namespace\n\n\
         // As many blocks as an SM can hold at once, whose loads cover each other's arithmetic.\n\
         extern \"C\" __global__ void __launch_bounds__(Kernel::kThreads, autokernel::resident_blocks(Kernel::kThreads, {blocks})){cluster}\n\
         {symbol}(const __grid_constant__ Args args) {{\n  Kernel::run(args);\n}}\n",
        includes = included(&class, walk).iter().map(|file| format!("#include \"{file}\"\n")).collect::<String>(),
        kernel = walk.kernel(),
        threads = schedule.threads(),
        bytes = if schedule.keeps_rows {
            format!(" && Kernel::kSharedBytes == {}", rules::kept_bytes(schedule, &class))
        } else {
            String::new()
        },
        blocks = rules::resident_blocks(schedule, &problem.class()),
    );
    (KernelSource { symbol, cuda }, plan)
}

/// The kernel of a reduction along columns.
fn along_columns(problem: &Problem, schedule: &Sm80Schedule) -> (KernelSource, LaunchPlan) {
    let Sm80Schedule { threads_per_row, rows_per_block, vector, cluster, vectors, .. } = *schedule;
    let constants = [
        int("kThreadsPerRow", threads_per_row),
        int("kRowsPerBlock", rows_per_block),
        int("kVector", vector),
        int("kVectors", vectors),
        int("kCluster", cluster),
    ];
    let constants = source::constants("How: threads, and the rows that a block takes.", "Schedule", &constants);
    let blocks_per_sm = rules::resident_blocks(schedule, &problem.class());
    let plan = |symbol: &str| columns::plan::plan(&problem.body().operands, schedule, blocks_per_sm, symbol.to_owned());
    let args = source::args(&plan("").kernels[0].args);
    let body = format!("{constants}\n{args}\n{}", columns::print::problem(problem.body()));
    let symbol = format!("autokernel_{}_{}", problem.class().slug(), hash::short(&body));
    let cuda = format!(
        "// Generated by autokernel: {problem}.\n\
         #include \"columns_sm80.cuh\"\n\n\
         namespace {{\n\n{body}\n\
         using Kernel = autokernel::columns::Columns<Problem, Schedule, Args>;\n\
         static_assert(Kernel::kThreads == {threads} && Kernel::kStrip == {strip}, \"the launch has as many\");\n\n\
         }}  // namespace\n\n\
         extern \"C\" __global__ void __launch_bounds__({threads}, autokernel::resident_blocks({threads}, {blocks_per_sm}))\n\
         {symbol}(const __grid_constant__ Args args) {{\n  Kernel::reduce(args);\n}}\n",
        threads = schedule.threads(),
        strip = columns::plan::strip(schedule),
    );
    let plan = plan(&symbol);
    (KernelSource { symbol, cuda }, plan)
}
