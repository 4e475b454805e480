//! What the room of row-wise kernels tells.

use autokernel_core::{Arch, Dim, Dtype, Extents, LaunchPlan, Role, Signature};

use super::plan::DIMS;
use super::problem::{Class, Problem};
use super::schedule::Schedule as Typed;
use super::sm80::{self, Sm80Schedule, columns};
use super::{declare, emit, plan, probes, sm90};
use crate::body::{Kind, Reduction};
use crate::declaration::{Attribute, Complaint, Declaration};
use crate::expr::Axis;
use crate::family::{Family, OtherFamily};
use crate::forecast::{Forecast, Machine};
use crate::operation::{self, Operation, Tolerance, Work};
use crate::rule::BrokenRule;
use crate::schedule::Schedule;
use crate::source::{Header, KernelSource, headers};

impl Operation for Problem {
    type Class = Class;

    const NAME: &'static str = "rows";

    const DIMS: &'static [Dim] = &DIMS;

    const HEADERS: &'static [Header] = headers! {
        "cuda/": "reference_rows.cuh" "rows_fp8.cuh" "rows_index.cuh" "rows_int8.cuh" "rows_joined.cuh" "rows_kept.cuh" "rows_moved.cuh" "rows_reduce.cuh" "rows_vector.cuh";
        "sm80/cuda/": "columns_sm80.cuh" "rows_elementwise.cuh" "rows_parked.cuh" "rows_prefetch.cuh" "rows_sm80.cuh" "rows_staying.cuh";
        "sm90/cuda/": "rows_drawn.cuh" "rows_part.cuh" "rows_sm90.cuh";
    };

    const ROOTS: &'static [&'static str] = &emit::ROOTS;

    fn roots_of(class: &Class) -> Vec<&'static str> {
        let of_sm90 = sm90::serves(class).then_some(sm90::emit::ROOT);
        sm80::emit::roots_of(class).into_iter().chain(of_sm90).collect()
    }

    const ATTRIBUTES: &'static [Attribute] = &[declare::ATTRIBUTE];

    fn declare(declaration: &Declaration) -> Result<Self, Vec<Complaint>> {
        declare::declare(declaration)
    }

    fn signature(&self) -> Signature {
        plan::signature(self)
    }

    fn class(&self) -> Class {
        Problem::class(self)
    }

    fn emit(&self, schedule: &Schedule) -> Result<(KernelSource, LaunchPlan), OtherFamily> {
        Ok(Typed::try_from(schedule)?.kernel(self))
    }

    fn reference(&self) -> (KernelSource, LaunchPlan) {
        emit::reference(self)
    }

    /// A kernel for each pass, each of which reads the matrices again.
    fn unfused_work(&self, extents: &Extents) -> Work {
        let (work, passes) = (self.work(extents), self.class().passes.len());
        Work { read_bytes: work.read_bytes * passes as f64, ..work }
    }

    fn brief(&self) -> String {
        operation::Class::brief(&Problem::class(self))
    }

    fn task(&self, extents: &Extents) -> String {
        let [rows, columns] = [0, 1].map(|dim| extents.size(dim));
        let work = self.work(extents);
        format!(
            "{self}, for {rows} rows of {columns} elements: {:.4e} bytes are read and written at least.\n\
             Matrices are row-major; a Row has an element a column, a Column one a row. {}. Arithmetic is f32.",
            work.bytes(),
            reduced(&Problem::class(self)),
        )
    }

    /// None: a row-wise kernel is named by its body.
    fn built_in() -> Vec<Problem> {
        Vec::new()
    }

    fn counts_rows(&self) -> bool {
        self.body().has_index(Axis::Row)
    }

    /// For elements of size about 1. A result is off by the rounding of the output and by that of a sum along a row,
    /// about `sqrt(columns)` units of 2⁻²⁴; a body that cancels what it summed needs its own.
    fn tolerance(&self, extents: &Extents) -> Tolerance {
        let columns = extents.size(1).max(1);
        let unit = |dtype| match dtype {
            Dtype::Bf16 => 2f32.powi(-8),
            Dtype::F16 => 2f32.powi(-10),
            Dtype::F32 | Dtype::I32 => 2f32.powi(-20),
            Dtype::E4m3 => 2f32.powi(-3),
            Dtype::E5m2 => 2f32.powi(-2),
            Dtype::I8 | Dtype::I4x2 => 0.0,
        };
        let outputs = || self.body().outputs().map(|operand| operand.dtype);
        // Whole numbers are as far apart wherever they lie.
        let whole = if outputs().any(|dtype| dtype == Dtype::I8) { 1.0 } else { 0.0 };
        let absolute = (columns as f32).sqrt() * 2f32.powi(-18) + whole;
        Tolerance { absolute, relative: outputs().map(unit).fold(0.0, f32::max) }
    }
}

/// `2 passes reduce max, then sum`.
fn reduced(class: &Class) -> String {
    let names = |pass: &Vec<Reduction>| pass.iter().map(|reduction| reduction.name()).collect::<Vec<_>>().join(" and ");
    let reducing: Vec<String> = class.passes.iter().filter(|pass| !pass.is_empty()).map(names).collect();
    match &reducing[..] {
        [] => "Nothing is reduced".to_owned(),
        names => format!("{} passes over a row; reduced are {}", class.passes.len(), names.join(", then ")),
    }
}

impl operation::Class for Class {
    fn slug(&self) -> String {
        Class::slug(self)
    }

    fn brief(&self) -> String {
        let reductions: Vec<&str> = self.passes.iter().flatten().map(|reduction| reduction.name()).collect();
        let reductions = if reductions.is_empty() { "element-wise".to_owned() } else { reductions.join(", ") };
        let dtype = self.matrices().next().map_or("", Dtype::name);
        format!("{dtype} · {reductions}")
    }

    fn attribute(&self) -> &'static str {
        "rows"
    }

    fn work(&self, extents: &Extents) -> Work {
        let [rows, columns] = [0, 1].map(|dim| f64::from(extents.size(dim)));
        let mut work =
            Work { operations: rows * columns * f64::from(self.operations), read_bytes: 0.0, written_bytes: 0.0 };
        for (kind, dtype, role) in &self.operands {
            let elements = match kind {
                Kind::Matrix => rows * columns,
                Kind::Row => columns,
                Kind::Column | Kind::Index => rows,
                Kind::Scalar => 0.0,
                Kind::DeviceScalar => 1.0,
            };
            let bytes = elements * f64::from(dtype.bytes());
            match role {
                Role::Input => work.read_bytes += bytes,
                Role::Output => work.written_bytes += bytes,
            }
        }
        work
    }

    /// Other arithmetic between the same passes changes little; other operands change the bytes and so the vectors.
    fn distance(&self, other: &Class) -> Option<u32> {
        let operands = u32::from(self.operands != other.operands);
        let passes = u32::from(self.passes.len() != other.passes.len());
        let rest = u32::from(self != other);
        Some(4 * operands + 2 * passes + rest)
    }

    fn families(&self, arch: Arch) -> &'static [Family] {
        if arch == Arch::SM_90A && sm90::serves(self) {
            &[Family::RowsSm80, Family::RowsSm90]
        } else {
            &[Family::RowsSm80]
        }
    }

    /// Long rows are the one's, short rows the other's.
    fn searched_families(&self, arch: Arch) -> &'static [Family] {
        self.families(arch)
    }

    fn schedules(&self, family: Family, arch: Arch) -> Vec<Schedule> {
        match family {
            Family::RowsSm80 => sm80::schedules(self, arch).into_iter().map(Schedule::from).collect(),
            Family::RowsSm90 => sm90::schedules(self, arch).into_iter().map(Schedule::from).collect(),
            _ => Vec::new(),
        }
    }

    fn default_schedule(&self, arch: Arch) -> Schedule {
        Sm80Schedule::default_for(self, arch).into()
    }

    fn portfolio(&self, arch: Arch) -> Vec<Schedule> {
        let rings = sm90::portfolio(self, arch);
        let longest = rings.iter().map(sm90::Sm90Schedule::held_columns).max().unwrap_or(0);
        let portable = sm80::portfolio(self, arch).into_iter().map(|it| it.beside_rings_of(longest, self, arch));
        portable.map(Schedule::from).chain(rings.into_iter().map(Schedule::from)).collect()
    }

    fn measured_on(&self, arch: Arch) -> &'static [&'static str] {
        if arch == Arch::SM_90A { &["NVIDIA H200", "NVIDIA H100 80GB HBM3"] } else { &[] }
    }

    fn forecast(&self, schedule: &Schedule, _: Option<&str>, machine: Machine) -> Option<Box<dyn Forecast>> {
        Some(Typed::try_from(schedule).ok()?.forecast(self, machine))
    }

    fn check(&self, schedule: &Schedule, arch: Arch) -> Result<(), BrokenRule> {
        match Typed::try_from(schedule) {
            Ok(typed) => typed.check(self, arch),
            Err(OtherFamily) => Err(BrokenRule::other_family(schedule, self)),
        }
    }

    fn plan(&self, schedule: &Schedule, symbol: String) -> Result<LaunchPlan, OtherFamily> {
        let operands = self.nameless_operands();
        Ok(match Typed::try_from(schedule)? {
            Typed::Sm80(schedule) if self.is_by_columns() => {
                columns::plan::plan(&operands, &schedule, sm80::resident_blocks(&schedule, self), symbol)
            }
            schedule => plan::plan(&operands, &self.own_axes(), schedule.shape(self), symbol),
        })
    }

    fn probes(&self, schedule: &Schedule) -> Result<Vec<Extents>, OtherFamily> {
        Ok(probes::of(&Typed::try_from(schedule)?, self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use crate::rows::{cases, plan::extents};

    fn softmax() -> Problem {
        Problem::new(cases::softmax()).unwrap()
    }

    #[test]
    fn a_problem_is_the_same_after_json_among_those_of_all_operations() {
        let problem = registry::Problem::from(softmax());
        let json = serde_json::to_value(&problem).unwrap();
        assert_eq!(json["operation"], "rows");
        assert_eq!(serde_json::from_value::<registry::Problem>(json).unwrap(), problem);
        let class = problem.class();
        assert_eq!(serde_json::from_value::<registry::Class>(serde_json::to_value(&class).unwrap()).unwrap(), class);
        assert!(class.slug().starts_with("rows_max_sum_bf16_"), "{}", class.slug());
        assert!(problem.key().starts_with(&class.slug()));
    }

    #[test]
    fn a_body_with_a_mistake_is_no_problem_in_json_either() {
        let json = serde_json::to_string(&registry::Problem::from(softmax())).unwrap();
        let broken = json.replace(r#""output":"out""#, r#""output":"x""#);
        let message = serde_json::from_str::<registry::Problem>(&broken).unwrap_err().to_string();
        assert!(message.contains("`x` is no output"), "{message}");
    }

    #[test]
    fn the_work_is_each_operand_once_whatever_the_passes() {
        let work = softmax().work(&extents(10, 100));
        assert_eq!((work.read_bytes, work.written_bytes), (2000.0, 2000.0));
        assert_eq!(softmax().unfused_work(&extents(10, 100)).read_bytes, 6000.0);
    }

    #[test]
    fn the_plan_of_a_class_is_that_of_its_problems_but_for_the_names() {
        for problem in [cases::softmax(), cases::picked(), cases::rotary(), cases::gradients()]
            .map(|body| Problem::new(body).unwrap())
        {
            let class = problem.class();
            let schedule = operation::Class::default_schedule(&class, Arch::SM_80);
            let (source, plan) = Operation::emit(&problem, &schedule).unwrap();
            let of_class = operation::Class::plan(&class, &schedule, source.symbol).unwrap();
            let args =
                |plan: &LaunchPlan| plan.kernels[0].args.iter().map(|field| field.arg.clone()).collect::<Vec<_>>();
            assert_eq!(args(&of_class), args(&plan));
            assert_eq!(of_class.kernels[0].grid, plan.kernels[0].grid);
        }
    }

    #[test]
    fn schedules_of_products_are_none_of_rows() {
        let class = softmax().class();
        let other = Schedule::new(Family::Sm80, [128, 128, 32, 2, 2, 4]).unwrap();
        assert_eq!(operation::Class::check(&class, &other, Arch::SM_80).unwrap_err().rule, "family_serves_operation");
        assert_eq!(operation::Class::schedules(&class, Family::Sm80, Arch::SM_80), []);
    }
}
