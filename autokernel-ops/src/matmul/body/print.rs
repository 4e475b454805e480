//! CUDA's `struct Body`, as `body.cuh` reads it.

use autokernel_core::Dtype;

use super::Body;
use super::print_element::{begin, statement, values};
use super::print_rotations;
use super::print_rows::{self, FUNCTION};
use crate::body::cuda::{columns, cuda_type, element, is_load_mapped, leading, load_map};
use crate::body::{Kind, MadeScales, Operand, Step};
use crate::expr::cuda::Spelling;
use crate::lines::Lines;

const INPUT: &str = "template <template <typename, autokernel::body::Indexed> class Input>";

/// What a body is printed for.
#[derive(Clone, Copy, Debug)]
pub enum Printed {
    /// A kernel.
    Kernel {
        /// Columns of the parts to which rows are reduced.
        part_columns: u32,
        /// The number of the matrix that comes by TMA.
        loaded: Option<u8>,
        /// Registers beside the accumulators, about.
        registers: u32,
    },
    /// The reference, which has no tiles.
    Reference {
        /// Columns of the parts to which rows are reduced.
        part_columns: u32,
        /// The type of its outputs.
        stored_as: Dtype,
    },
}

impl Printed {
    fn stored_as(self) -> Option<Dtype> {
        match self {
            Printed::Kernel { .. } => None,
            Printed::Reference { stored_as, .. } => Some(stored_as),
        }
    }
}

/// `struct Body`.
pub fn body(body: &Body, printed: Printed) -> String {
    let stored_as = printed.stored_as();
    let (Printed::Kernel { part_columns, .. } | Printed::Reference { part_columns, .. }) = printed;
    let mut out = Lines::default();
    out.line("// What becomes of each sum.");
    out.line("struct Body {");
    out.line("static constexpr bool kExists = true;");
    if let Printed::Kernel { registers, .. } = printed {
        out.line(format!("static constexpr int kRegisters = {registers};  // beside the accumulators, about"));
    }
    inputs(&mut out, body, stored_as.is_none());
    if let Printed::Kernel { loaded: Some(operand), .. } = printed {
        loaded(&mut out, body, operand);
    }
    stored(&mut out, body, stored_as);
    let is_reference = stored_as.is_some();
    let spelling = if is_reference { Spelling::Exact } else { Spelling::Fast(body.precision()) };
    print_rotations::declare(&mut out, body);
    compute(&mut out, body, spelling);
    print_rotations::print(&mut out, body, spelling);
    made_scales(&mut out, body);
    if body.reductions().next().is_some() {
        print_rows::print(&mut out, body, (stored_as, part_columns), spelling);
    }
    out.line("};");
    out.finish()
}

/// The C++ type that holds an input; none of a scalar, which is a field of the arguments.
fn input(body: &Body, operand: &Operand) -> Option<String> {
    let indexed = match operand.kind {
        Kind::Matrix => "kByBoth",
        Kind::Row => "kByColumn",
        Kind::Column => "kByRow",
        Kind::DeviceScalar => "kByNothing",
        Kind::Scalar | Kind::Index => return None,
    };
    let of = format!("{}, autokernel::body::Indexed::{indexed}", cuda_type(operand));
    let is_repeated = body.is_repeated(&operand.name);
    Some(if is_repeated { format!("autokernel::body::Repeated<Input, {of}>") } else { format!("Input<{of}>") })
}

fn inputs(out: &mut Lines, body: &Body, is_tiled: bool) {
    let held = || body.reads().filter_map(|(_, operand)| Some((operand, input(body, operand)?)));
    out.line("");
    out.line(INPUT);
    out.line("struct Inputs {");
    out.lines(held().map(|(operand, ty)| format!("{ty} {};", element(&operand.name))));
    out.line("};");
    if is_tiled {
        let words: Vec<String> = held().map(|(_, ty)| format!("{ty}::kWords")).collect();
        let words = if words.is_empty() { "0".to_owned() } else { words.join(" + ") };
        out.line(INPUT);
        out.line(format!("static constexpr int kWords = {words};"));
    }
    out.line("");
    out.line("template <typename Inputs, typename Visit>");
    out.line(format!("{FUNCTION} void visit(const Args& args, Inputs& inputs, const Visit& visit) {{"));
    out.lines(held().map(|(operand, _)| {
        let name = element(&operand.name);
        let is_repeated = body.is_repeated(&operand.name);
        let of_columns = if is_repeated { format!(".with(args.{})", columns(&operand.name)) } else { String::new() };
        format!("visit(inputs.{name}{of_columns}, args.{name}, {});", stride(operand))
    }));
    out.line("}");
}

/// Which of the inputs comes by TMA.
fn loaded(out: &mut Lines, body: &Body, operand: u8) {
    let loaded = &body.operands()[usize::from(operand)];
    let mut held = body.reads().map(|(_, operand)| operand).filter(|operand| input(body, operand).is_some());
    let (at, operand) = (held.position(|operand| operand.name == loaded.name).unwrap_or(usize::MAX), loaded);
    let name = element(&operand.name);
    out.line("");
    out.line("// What comes by TMA where it has a map, and its number among the inputs.");
    out.line(format!("using Loaded = {};", cuda_type(operand)));
    out.line(format!("static constexpr int kLoaded = {at};"));
    out.line(format!("{FUNCTION} const autokernel::TensorMap& loaded_map(const Args& args) {{"));
    out.line(format!("return args.{};", load_map(&name)));
    out.line("}");
    out.line(format!("{FUNCTION} bool is_mapped(const Args& args) {{"));
    out.line(format!("return args.{} != 0;", is_load_mapped(&name)));
    out.line("}");
}

fn stride(operand: &Operand) -> String {
    if operand.kind == Kind::Matrix { format!("args.{}", leading(&operand.name)) } else { "0".to_owned() }
}

/// What is written beside the first output, which the kernel stages.
fn stored(out: &mut Lines, body: &Body, stored_as: Option<Dtype>) {
    out.line("");
    out.line("// Outputs beside the one that is staged, the first.");
    out.line("template <typename Visit>");
    out.line(format!("{FUNCTION} void visit_stored(const Args& args, const Visit& visit) {{"));
    for (number, operand) in body.matrices().enumerate().skip(1) {
        let ty = stored_as.map_or_else(|| cuda_type(operand), |dtype| format!("autokernel::{dtype}"));
        let (name, stride) = (element(&operand.name), stride(operand));
        out.line(format!("visit(static_cast<{ty}*>(args.{name}), {stride}, {number});"));
    }
    out.line("}");
}

/// Where scales of the staged output go, and what the largest value of a block becomes.
fn made_scales(out: &mut Lines, body: &Body) {
    let Some(made) = body.made() else { return };
    let [output, scales] = [made.output, made.scales].map(|number| &body.operands()[usize::from(number)]);
    out.line("");
    out.line("// The staged output is scaled in blocks of columns.");
    out.line(format!("static constexpr int kScaledColumns = {};", made.block));
    out.line(format!("static constexpr float kLargest = {:?}f;", MadeScales::largest(output.dtype)));
    out.line("template <typename Args>");
    out.line(format!("{FUNCTION} float* scales(const Args& args, int row) {{"));
    let name = element(&scales.name);
    let of_row =
        if scales.kind == Kind::Matrix { format!("row * args.{}", leading(&scales.name)) } else { "row".to_owned() };
    out.line(format!("return static_cast<float*>(args.{name}) + {of_row};"));
    out.line("}");
}

fn compute(out: &mut Lines, body: &Body, spelling: Spelling) {
    out.line("");
    out.line("struct Outputs {");
    out.line(format!("float values[{}];", body.matrices().count() + body.reductions().count()));
    out.line("};");
    out.line("");
    let steps = body.steps_of_elements();
    begin(out, body, "Outputs compute", body.partners().map(|_| "const Rotating& partner"));
    values(out, body, &steps);
    for (number, fetch) in body.rotations().enumerate() {
        out.line(format!("const float {} = partner.values[{number}];", element(&fetch.name)));
    }
    // A sum that is joined with a maximum is told the element that this one is of.
    let joins = body.joins();
    let of_maximum = |step: &Step| joins.iter().find(|join| join.sum == step.name());
    out.lines(steps.iter().map(|step| match of_maximum(step) {
        Some(join) => format!("const float {} = {};", element(join.sum), element(join.maximum)),
        None => statement(body, step, spelling),
    }));
    let written = body.matrices().map(|operand| operand.name.as_str()).chain(body.reductions().map(|(name, _)| name));
    let written: Vec<String> = written.map(element).collect();
    out.line(format!("return {{{{{}}}}};", written.join(", ")));
    out.line("}");
}
