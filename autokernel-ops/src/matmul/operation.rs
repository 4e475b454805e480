//! What the room of matrix products tells.

use autokernel_core::{Arch, Dim, Dtype, Extents, LaunchPlan, Role, Signature, dim};

use super::inputs::{INPUTS, outputs};
use super::problem::{Class, Layout, Problem};
use super::{
    DIMS, Many, accumulation, block_scales, declare, emit, flops, matrices, model, plan, probes, products, roots,
    sizes, skinny, space,
};
use crate::body::Kind;
use crate::declaration::{Attribute, Complaint, Declaration};
use crate::epilogue::Epilogue;
use crate::expr::Axis;
use crate::family::{Family, OtherFamily};
use crate::forecast::{Forecast, Machine};
use crate::operation::{self, Operation, Tolerance, Work};
use crate::opponent::{Opponent, Product};
use crate::rule::BrokenRule;
use crate::schedule::Schedule;
use crate::source::{Header, KernelSource, headers};
use crate::weights::OF_8_BITS;

/// The largest sum of a tolerance's inputs, whose deviation is 1, that is met in practice.
const PEAK: f64 = 4.0;

/// Layouts of built-in products.
fn of_row_major_a(input: Dtype) -> impl Iterator<Item = Layout> {
    Layout::OF_ROW_MAJOR_A.into_iter().filter(move |layout| Layout::of(input).contains(layout))
}

impl Operation for Problem {
    type Class = Class;

    const NAME: &'static str = "matmul";

    const DIMS: &'static [Dim] = &DIMS;

    const HEADERS: &'static [Header] = headers! {
        "cuda/": "batch.cuh" "body.cuh" "body_folded.cuh" "body_joined.cuh" "body_operand.cuh" "body_repeated.cuh" "body_rotated.cuh" "body_scaled.cuh" "body_statistics.cuh" "body_unstored.cuh" "groups.cuh" "groups_along_k.cuh" "layout.cuh"
            "reference_groups.cuh" "reference_joined.cuh" "reference_matmul.cuh" "reference_rotated.cuh" "reference_scaled.cuh";
        "skinny/cuda/": "skinny_sm80_a.cuh" "skinny_sm80_b.cuh" "skinny_sm80_matmul.cuh" "skinny_sm80_schedule.cuh" "skinny_sm80_words.cuh";
        "sm80/cuda/": "sm80_batch.cuh" "sm80_copy.cuh" "sm80_elements.cuh" "sm80_factors.cuh" "sm80_fp8.cuh" "sm80_fp8_pairs.cuh" "sm80_gather.cuh" "sm80_groups.cuh" "sm80_groups_along_k.cuh" "sm80_int8.cuh" "sm80_matmul.cuh" "sm80_operand.cuh" "sm80_schedule.cuh" "sm80_shared_tile.cuh" "sm80_store.cuh" "sm80_tf32.cuh" "sm80_unstored.cuh" "sm80_weights.cuh";
        "sm90/cuda/": "sm90_batch.cuh" "sm90_block_scales.cuh" "sm90_block_scales_batch.cuh" "sm90_block_scales_mainloop.cuh" "sm90_epilogue.cuh" "sm90_gather.cuh" "sm90_groups.cuh" "sm90_groups_along_k.cuh" "sm90_heights.cuh" "sm90_int8.cuh" "sm90_mainloop.cuh" "sm90_matmul.cuh" "sm90_operand_load.cuh" "sm90_pipeline.cuh"
            "sm90_producer.cuh" "sm90_product_of.cuh" "sm90_reduced.cuh" "sm90_rotated.cuh" "sm90_rows.cuh" "sm90_scaled.cuh" "sm90_schedule.cuh" "sm90_shared.cuh" "sm90_shares.cuh" "sm90_split_k.cuh"
            "sm90_staging.cuh" "sm90_stream_k.cuh" "sm90_sums.cuh" "sm90_tiles.cuh" "sm90_unstored.cuh" "sm90_weights.cuh" "sm90_weights_batch.cuh" "sm90_weights_few.cuh"
            "sm90_weights_mainloop.cuh" "sm90_weights_pieces.cuh" "sm90_weights_scales.cuh" "sm90_weights_units.cuh" "sm90_weights_zeros.cuh";
    };

    const ROOTS: &'static [&'static str] = &roots::ROOTS;

    fn roots_of(class: &Class) -> Vec<&'static str> {
        roots::of_class(class)
    }

    const ATTRIBUTES: &'static [Attribute] = declare::ATTRIBUTES;

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
        Ok(emit::kernel(self, &super::Schedule::try_from(schedule)?))
    }

    fn reference(&self) -> (KernelSource, LaunchPlan) {
        emit::reference(self)
    }

    fn resized(&self, extents: &Extents) -> Self {
        let [_, n, k] = sizes(extents);
        Problem { known_n: self.known_n.map(|_| n), known_k: self.known_k.map(|_| k), ..self.clone() }
    }

    /// An epilogue or a body in a kernel of its own reads what the product wrote.
    fn unfused_work(&self, extents: &Extents) -> Work {
        let work = self.work(extents);
        if self.body.is_none() && self.epilogue == Epilogue::identity() {
            return work;
        }
        let [m, n, _] = sizes(extents).map(f64::from);
        let sums = f64::from(self.class().products() * products(extents)) * m * n * f64::from(self.output.bytes());
        Work { read_bytes: work.read_bytes + sums, written_bytes: work.written_bytes + sums, ..work }
    }

    /// Second factors are scaled by `1/sqrt(k)`, so that C has the scale of a network's activations and an epilogue such as a sigmoid
    /// is not saturated. Whole numbers fill the range of their type, as far as an f16 output, which ends at 65504, holds their sums.
    fn scale(&self, operand: usize, extents: &Extents) -> f32 {
        let ([.., k], plan::Operands { a, b, b2, .. }) = (sizes(extents), plan::Operands::of(self));
        let is_second = [Some(b), b2].into_iter().flatten().any(|factor| usize::from(factor) == operand);
        let is_factor = is_second || usize::from(a) == operand;
        if let Some(deviation) = self.weights.map(|weights| weights.deviation()).filter(|_| is_factor) {
            // Weights are whole numbers, so that it is the first factor that makes sums small.
            return if is_second { deviation } else { 1.0 / (deviation * (k.max(1) as f32).sqrt()) };
        }
        if self.input == Dtype::I8 && is_factor {
            if self.output == Dtype::F16 { OF_8_BITS / (k.max(1) as f32).powf(0.25) } else { OF_8_BITS }
        } else if is_second {
            1.0 / (k.max(1) as f32).sqrt()
        } else {
            1.0
        }
    }

    fn opponent(&self) -> Option<Opponent> {
        let Problem { input, output, layout, epilogue, body: None, weights: None, .. } = self else {
            return None; // nothing in cuBLASLt computes it
        };
        if self.second.is_some() {
            return None; // cuBLASLt does; products are named by one type of factors
        }
        if *input == Dtype::E5m2 {
            return None; // cuBLASLt multiplies it with e4m3 alone
        }
        if *input == Dtype::I8 {
            return None; // cuBLASLt leaves whole numbers, which no output here holds
        }
        let relu = Epilogue::builtin("relu", None).is_ok_and(|relu| relu == *epilogue);
        let epilogue = Some(epilogue).filter(|epilogue| !relu && **epilogue != Epilogue::identity()).cloned();
        let [transpose_a, transpose_b] = [layout.transpose_a(), layout.transpose_b()];
        Some(Opponent::CublasLt(Product { input: *input, output: *output, transpose_a, transpose_b, relu, epilogue }))
    }

    fn brief(&self) -> String {
        let Problem { epilogue, layout, input, .. } = self;
        match &self.body {
            Some(body) => match self.second {
                Some(second) => format!("{layout} {input} · {second} · {body}"),
                None => format!("{layout} {input} · {body}"),
            },
            None => format!("{layout} {input} · {epilogue}"),
        }
    }

    fn task(&self, extents: &Extents) -> String {
        let Problem { input, output, epilogue, layout, .. } = self;
        let [m, n, k] = sizes(extents);
        let factors = match layout {
            Layout::Nn => "A[m, k] and C are row-major, B[k, n] row-major (layout nn)",
            Layout::Nt => {
                "A[m, k] and C are row-major, B stored as [n, k] row-major, multiplied transposed (layout nt)"
            }
            Layout::Tn => {
                "C and B[k, n] are row-major, A stored as [k, m] row-major, multiplied transposed (layout tn)"
            }
            Layout::Tt => {
                "C is row-major, A stored as [k, m] and B as [n, k] row-major, both multiplied transposed (layout tt)"
            }
        };
        let products = self.class().products();
        let computed = match &self.body {
            None => format!("C[m, n] = {epilogue}(A[m, k] · B)"),
            Some(body) if products == 1 => {
                format!("C[m, n], computed from A[m, k] · B element by element ({body}),")
            }
            Some(body) => format!(
                "C[m, n], computed from the two products A[m, k] · B and A[m, k] · B2 element by element ({body}), B2 like B; a \
                 tile of tile_n columns holds half of them of B and half of B2, and covers half as many columns of C;"
            ),
        };
        format!(
            "{computed} with m = {m}, n = {n}, k = {k}: {:.4e} FLOP.\n\
             {factors}. {types}, C is {output}, accumulation is {sums}.{gathered}{batch}",
            f64::from(products) * flops(extents),
            types = match (self.weights, self.second) {
                (None, None) => format!("A and B are {input}"),
                (None, Some(second)) => format!("A is {input} and B {second}"),
                (Some(weights), _) => format!("A is {input} and B {weights}, unpacked on chip"),
            },
            sums = if *input == Dtype::I8 { "s32" } else { "f32" },
            gathered = if self.class().gathers() {
                " An index in memory says which row of A each row of C is of."
            } else {
                ""
            },
            batch = match (self.many(), matrices(extents)) {
                (Many::One, _) => String::new(),
                (Many::Batch, count) => {
                    format!(" There is a batch of {count} such products, whose tiles follow one after the other.")
                }
                (Many::Masked, count) => format!(
                    " There is a batch of {count} such products, of each of which only the device knows how many of the rows count; \
                     tiles follow one after the other, and those of no such rows are left out."
                ),
                (Many::GroupsAlongK, count) => format!(
                    " The rows of A and B, which are K, lie in {count} groups, of sizes that only the device knows, each with a C of its \
                     own that sums its rows alone; tiles of a group follow one after the other."
                ),
                (Many::Groups, count) => format!(
                    " The rows of A lie in {count} groups, of sizes that only the device knows, each with a B of its own; tiles \
                     of a group follow one after the other."
                ),
            },
        )
    }

    fn built_in() -> Vec<Problem> {
        let types = INPUTS.into_iter().flat_map(|input| outputs(input).iter().map(move |&output| (input, output)));
        let forms = types.flat_map(|types| of_row_major_a(types.0).map(move |layout| (types, layout)));
        let problems = forms.flat_map(|((input, output), layout)| {
            let problem = move |epilogue| Problem { output, ..Problem::new(input, layout, epilogue) };
            Epilogue::all().into_iter().map(problem)
        });
        problems.collect()
    }

    fn counts_rows(&self) -> bool {
        self.body.iter().flat_map(|body| body.steps()).any(|step| step.expr().has_index(Axis::Row))
    }

    /// With A ~ N(0, 1) and B ~ N(0, 1/k), sums are about 1 and single products about `1/sqrt(k)`.
    ///
    /// Rounding: a sum of k terms in fp32, in any order, is off by about `sqrt(k)` units of 2⁻²⁴ and at most k; the
    /// absolute tolerance of `sqrt(k) * 2⁻¹⁸` is far above the first and far below one missing product. Other inputs
    /// lose more than that, or nothing ([`accumulation`]). The relative tolerance is a unit in the last place of the output: half for
    /// rounding, half for a sum that falls on the other side.
    fn tolerance(&self, extents: &Extents) -> Tolerance {
        let k = extents.get(dim("k")).unwrap_or(1).max(1);
        let unit = |dtype| match dtype {
            Dtype::Bf16 => 2f32.powi(-8),
            Dtype::F16 => 2f32.powi(-11) * 2.0,
            Dtype::F32 | Dtype::I32 => 2f32.powi(-20),
            Dtype::E4m3 => 2f32.powi(-3),
            Dtype::E5m2 => 2f32.powi(-2),
            Dtype::I8 | Dtype::I4x2 => 0.0,
        };
        let operands = self.signature().operands;
        let outputs = || operands.iter().filter(|operand| operand.role == Role::Output);
        let relative = outputs().map(|operand| unit(operand.dtype)).fold(0.0, f32::max);
        // Whole numbers are as far apart wherever they lie.
        let whole = if outputs().any(|operand| operand.dtype == Dtype::I8) { 1.0 } else { 0.0 };
        let absolute = match self.input.bytes() {
            2 => (k as f32).sqrt() * 2f32.powi(-18),
            _ => accumulation::error(self.input, k.into(), PEAK) as f32,
        };
        Tolerance { absolute: absolute + whole, relative }
    }
}

impl operation::Class for Class {
    fn slug(&self) -> String {
        let Class { input, output, layout, .. } = self;
        let second = Some(self.of_b()).filter(|second| second != input);
        let second = second.map(|second| format!("_{second}")).unwrap_or_default();
        let block = self.block.map(|block| format!("_b{block}")).unwrap_or_default();
        format!("matmul_{}_{input}{second}{block}_{output}_{layout}", self.fused())
    }

    fn brief(&self) -> String {
        let Class { layout, input, .. } = self;
        let input = self.second.map_or_else(|| input.to_string(), |second| format!("{input} · {second}"));
        match self.weights {
            Some(weights) => format!("{layout} {input} · {weights} · {}", self.fused()),
            None => match self.block {
                Some(block) => format!("{layout} {input} in blocks of {block} · {}", self.fused()),
                None => format!("{layout} {input} · {}", self.fused()),
            },
        }
    }

    fn dims(&self) -> Option<&'static [Dim]> {
        (self.many() != Many::One).then_some(plan::dims(self.many()))
    }

    fn attribute(&self) -> &'static str {
        if self.body.is_none() && self.epilogue == Epilogue::identity().class() { "matmul" } else { "fused_matmul" }
    }

    fn multiplies(&self) -> Option<Dtype> {
        Some(self.input)
    }

    /// What is computed of the sums is too few operations to count.
    fn work(&self, extents: &Extents) -> Work {
        let [m, n, k] = sizes(extents).map(f64::from);
        let elements = |kind| match kind {
            Kind::Matrix => m * n,
            Kind::Row => n,
            Kind::Column => m,
            Kind::Index => 0.0,
            Kind::Scalar => 0.0,
            Kind::DeviceScalar => 1.0,
        };
        let bytes = |kind, dtype: Dtype| elements(kind) * f64::from(dtype.bytes());
        // Of what all products of a batch share there is one.
        let of_all = f64::from(matrices(extents));
        let times = |operand: u8| if self.has_one_each(operand) { of_all } else { 1.0 };
        let read = |(at, kind, dtype): (u8, Kind, Dtype)| times(at) * bytes(kind, dtype);
        let plan::Operands { a, b, b2, .. } = plan::Operands::of_class(self);
        let bytes_of_b = self.weights.map_or(k * n * f64::from(self.of_b().bytes()), |weights| weights.bytes(n, k));
        let second = |factor: u8| times(factor) * bytes_of_b;
        let of_scales = |block| {
            let of_columns = block_scales::bytes(block, (n / f64::from(block)).ceil(), k);
            let second = [Some(b), b2].into_iter().flatten().map(times).sum::<f64>();
            times(a) * block_scales::bytes(block, m, k) + second * of_columns
        };
        let factors = times(a) * m * k * f64::from(self.input.bytes())
            + second(b)
            + b2.map_or(0.0, second)
            + self.block.map_or(0.0, of_scales);
        let made = self.made().map_or(0.0, |made| block_scales::bytes(made.block, m, n));
        let results = if self.many() == Many::GroupsAlongK { of_all } else { f64::from(products(extents)) };
        Work {
            operations: f64::from(self.products()) * flops(extents),
            read_bytes: factors + self.inputs().map(read).sum::<f64>(),
            written_bytes: results * (self.outputs().map(|(kind, dtype)| bytes(kind, dtype)).sum::<f64>() + made),
        }
    }

    /// Schedules carry over well. An epilogue or a body costs little beside the product, inputs of as many bits run at the same
    /// rate, and a wider output changes only the store. Another layout of `B` or wider inputs change the loads, and so the best
    /// schedule; with another number of products a tile covers another part of C. What has a transposed `A` borrows from `nn`.
    fn distance(&self, other: &Class) -> Option<u32> {
        let loads = |class: &Class| (class.layout.measured_as(), class.input.bytes(), class.weights, class.block);
        if loads(self) != loads(other) {
            return None;
        }
        let lies = u32::from(self.layout != other.layout);
        let wider = u32::from(self.output.bytes() != other.output.bytes());
        let typed = u32::from((self.input, self.second, self.output) != (other.input, other.second, other.output));
        let fused = u32::from((&self.epilogue, &self.body) != (&other.epilogue, &other.body));
        let products = u32::from(self.products() != other.products());
        Some(16 * lies + 8 * products + 4 * wider + 2 * typed + fused)
    }

    fn families(&self, arch: Arch) -> &'static [Family] {
        space::families_of(self, arch)
    }

    fn missing_on_the_oldest(&self) -> Option<String> {
        let is_confined = self.families(Arch::SM_80).is_empty();
        let why = || match (self.block, self.input.bytes()) {
            (Some(_), _) => "blocks are scaled by Hopper's kernels".to_owned(),
            _ if self.has_scales_of_each() => "each product's own scales are read by Hopper's kernels".to_owned(),
            (None, 1) => format!("{} factors are multiplied from compute capability 8.9 on", self.input),
            (None, _) => "heads or blocks of so many columns fit the tiles of Hopper's kernels alone".to_owned(),
        };
        is_confined.then(why)
    }

    fn schedules(&self, family: Family, arch: Arch) -> Vec<Schedule> {
        space::schedules(family, self, arch)
    }

    fn default_schedule(&self, arch: Arch) -> Schedule {
        super::Schedule::default_for(self, arch).into()
    }

    fn portfolio(&self, arch: Arch) -> Vec<Schedule> {
        super::default::portfolio(self, arch)
    }

    fn beside_portfolio(&self, arch: Arch) -> Vec<Schedule> {
        let skinny = skinny::portfolio(self, arch).into_iter().map(Schedule::from);
        let under_load = super::default::under_load(self, arch);
        let beside = skinny.chain(super::default::of_batches(self, arch)).chain(under_load);
        // A portfolio is measured with plain products, of which it replaces the images; others need theirs.
        if super::portable::is_plain(self) { beside.collect() } else { beside.chain(self.portfolio(arch)).collect() }
    }

    fn measured_on(&self, arch: Arch) -> &'static [&'static str] {
        if arch == Arch::SM_90A { &["NVIDIA H200"] } else { &[] }
    }

    fn forecast(&self, schedule: &Schedule, constants: Option<&str>, machine: Machine) -> Option<Box<dyn Forecast>> {
        model::forecast(self, super::Schedule::try_from(schedule).ok()?, constants, machine)
    }

    fn check(&self, schedule: &Schedule, arch: Arch) -> Result<(), BrokenRule> {
        match super::Schedule::try_from(schedule) {
            Ok(typed) => typed.check(self, arch),
            Err(OtherFamily) => Err(BrokenRule::other_family(schedule, self)),
        }
    }

    fn plan(&self, schedule: &Schedule, symbol: String) -> Result<LaunchPlan, OtherFamily> {
        Ok(emit::plan(self, &super::Schedule::try_from(schedule)?, symbol))
    }

    fn probes(&self, schedule: &Schedule) -> Result<Vec<Extents>, OtherFamily> {
        Ok(probes::of(&super::Schedule::try_from(schedule)?, self))
    }

    fn part(&self, schedule: &Schedule, number: u64, parts: &[u32]) -> Vec<u32> {
        match (super::Schedule::try_from(schedule), parts) {
            (Ok(typed), &[m, n]) => typed.raster().tile(number, [m, n]).to_vec(),
            // One product after the other.
            (Ok(typed), &[m, n, _]) => {
                let of_product = (u64::from(m) * u64::from(n)).max(1);
                let [m, n] = typed.raster().tile(number % of_product, [m, n]);
                vec![m, n, (number / of_product) as u32]
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem() -> Problem {
        Problem::new(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap())
    }

    fn extents(m: u32, n: u32, k: u32) -> Extents {
        Extents::new([(dim("m"), m), (dim("n"), n), (dim("k"), k)])
    }

    #[test]
    fn the_work_is_two_operations_a_product_and_each_matrix_once() {
        let problem = Problem { output: Dtype::F32, ..problem() };
        let work = problem.work(&extents(2, 3, 5));
        assert_eq!(work, Work { operations: 60.0, read_bytes: 2.0 * (10.0 + 15.0), written_bytes: 24.0 });
    }

    #[test]
    fn the_tolerance_grows_with_k_and_stays_below_a_missing_product() {
        let absolute = |k| problem().tolerance(&extents(1, 1, k)).absolute;
        assert!(absolute(4096) > absolute(64));
        for k in [1, 64, 4096, 65_536] {
            let product = 1.0 / (k as f32).sqrt();
            assert!(absolute(k) <= 0.25 * product, "{k}");
        }
    }

    #[test]
    fn an_erased_schedule_emits_what_the_typed_one_does() {
        for arch in [Arch::SM_80, Arch::SM_90A] {
            let typed = crate::matmul::Schedule::default_for(&problem().class(), arch);
            let erased = Operation::emit(&problem(), &typed.into()).unwrap();
            assert_eq!(erased, emit::kernel(&problem(), &typed));
        }
    }
}
