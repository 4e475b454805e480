//! What the room tells.

use autokernel_core::{Arch, Dim, Dimension, Dtype, Extents, LaunchPlan, Operand, Passed, Role, Signature};

use super::emit;
use super::problem::{Class, DIMS, Problem};
use super::schedule::{RULES, Schedule as Typed};
use crate::declaration::{Attribute, Complaint, Declaration, Form};
use crate::family::{Family, OtherFamily};
use crate::operation::{self, Operation, Tolerance, Work};
use crate::rule::{self, BrokenRule};
use crate::schedule::Schedule;
use crate::source::{Header, KernelSource, headers};

impl Operation for Problem {
    type Class = Class;

    const NAME: &'static str = "scaled_copy";

    const DIMS: &'static [Dim] = &DIMS;

    const HEADERS: &'static [Header] = headers! { "cuda/": "scaled_copy.cuh"; };

    const ROOTS: &'static [&'static str] = &["scaled_copy.cuh"];

    const ATTRIBUTES: &'static [Attribute] = &[Attribute {
        name: "scaled_copy",
        example: "#[autokernel::scaled_copy(alpha = 2.0)] fn double(x: &Matrix<bf16>, out: &mut Matrix<bf16>);",
        form: Form::Bodyless,
        names: &[],
    }];

    fn declare(declaration: &Declaration) -> Result<Self, Vec<Complaint>> {
        Problem::declare(declaration)
    }

    fn resized(&self, extents: &Extents) -> Self {
        Problem { known_columns: self.known_columns.map(|_| extents.size(1)), ..self.clone() }
    }

    fn signature(&self) -> Signature {
        let [rows, columns] = DIMS;
        let operand = |name: &str, role| Operand {
            name: name.to_owned(),
            role,
            dtype: self.dtype,
            axes: vec![0, 1],
            passed: Passed::ByAddress,
        };
        Signature {
            dims: vec![Dimension { name: rows, known: None }, Dimension { name: columns, known: self.known_columns }],
            operands: vec![operand("x", Role::Input), operand("out", Role::Output)],
            ..Signature::default()
        }
    }

    fn class(&self) -> Class {
        Class { dtype: self.dtype }
    }

    fn emit(&self, schedule: &Schedule) -> Result<(KernelSource, LaunchPlan), OtherFamily> {
        Ok(emit::kernel(self, &Typed::try_from(schedule)?))
    }

    fn reference(&self) -> (KernelSource, LaunchPlan) {
        emit::reference(self)
    }

    fn brief(&self) -> String {
        format!("{} · {}", self.dtype, self.alpha)
    }

    fn task(&self, extents: &Extents) -> String {
        format!("out = {} * x of {extents} elements of {}.", self.alpha, self.dtype)
    }

    fn built_in() -> Vec<Self> {
        Dtype::ALL.map(|dtype| Problem { dtype, alpha: 2.0, known_columns: None }).to_vec()
    }

    fn tolerance(&self, _: &Extents) -> Tolerance {
        let relative = match self.dtype {
            Dtype::Bf16 => 2f32.powi(-8),
            Dtype::F16 => 2f32.powi(-11),
            Dtype::F32 | Dtype::I32 => 2f32.powi(-23),
            Dtype::E4m3 => 2f32.powi(-3),
            Dtype::E5m2 => 2f32.powi(-2),
            Dtype::I8 | Dtype::I4x2 => 1.0,
        };
        Tolerance { absolute: f32::MIN_POSITIVE, relative }
    }
}

impl operation::Class for Class {
    fn slug(&self) -> String {
        format!("scaled_copy_{}", self.dtype)
    }

    fn brief(&self) -> String {
        self.dtype.to_string()
    }

    fn attribute(&self) -> &'static str {
        "scaled_copy"
    }

    fn work(&self, extents: &Extents) -> Work {
        let elements: f64 = extents.sizes().map(f64::from).product();
        let bytes = elements * f64::from(self.dtype.bytes());
        Work { operations: elements, read_bytes: bytes, written_bytes: bytes }
    }

    fn distance(&self, other: &Class) -> Option<u32> {
        Some(u32::from(self != other))
    }

    fn families(&self, _: Arch) -> &'static [Family] {
        &[Family::Copy]
    }

    fn schedules(&self, family: Family, arch: Arch) -> Vec<Schedule> {
        let mut all = Vec::new();
        for threads in [64, 128, 256, 512] {
            for items in [1, 2, 4, 8] {
                let both = [false, true].map(|backwards| Typed { threads, items, backwards }.into());
                all.extend(both.into_iter().filter(|schedule: &Schedule| schedule.family() == family));
            }
        }
        all.retain(|schedule| self.check(schedule, arch).is_ok());
        all
    }

    fn default_schedule(&self, _: Arch) -> Schedule {
        Typed { threads: 256, items: 4, backwards: false }.into()
    }

    fn check(&self, schedule: &Schedule, arch: Arch) -> Result<(), BrokenRule> {
        match Typed::try_from(schedule) {
            Ok(typed) => rule::check(RULES, &typed, self, arch),
            Err(OtherFamily) => Err(BrokenRule::other_family(schedule, self)),
        }
    }

    fn plan(&self, schedule: &Schedule, symbol: String) -> Result<LaunchPlan, OtherFamily> {
        Ok(emit::plan(&Typed::try_from(schedule)?, symbol))
    }

    fn probes(&self, schedule: &Schedule) -> Result<Vec<Extents>, OtherFamily> {
        let Typed { threads, items, .. } = Typed::try_from(schedule)?;
        let [rows, columns] = DIMS;
        Ok(vec![Extents::new([(rows, 3), (columns, threads * items + 5)])])
    }
}
