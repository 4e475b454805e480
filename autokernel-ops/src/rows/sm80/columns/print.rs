//! CUDA's `struct Problem`, as `columns_sm80.cuh` reads it, and the reference.

use autokernel_core::Role;

use crate::body::cuda::{cuda_type, element, leading};
use crate::body::{Body, Kind, Operand, Reduction, Step};
use crate::expr::cuda::Spelling;
use crate::expr::{Axis, Expr};
use crate::lines::Lines;
use crate::rows::lanes::address;

const FUNCTION: &str = "__device__ __forceinline__";

/// `struct Problem` of a body that reduces along columns.
pub fn problem(body: &Body) -> String {
    let mut out = Lines::default();
    out.lines(["// What must be computed.", "struct Problem {"]);
    out.line("static constexpr int kVector = Schedule::kVector;");
    out.line(format!("static constexpr int kOutputs = {};", body.outputs().count()));
    sums(&mut out, body);
    aligned(&mut out, body);
    inputs(&mut out, body);
    shared(&mut out, body);
    add(&mut out, body);
    write(&mut out, body);
    out.line("};");
    out.finish()
}

/// A kernel's whole `struct Problem` for the reference: a thread a column, in fp64.
pub fn reference(body: &Body) -> String {
    let mut out = Lines::default();
    out.lines(["// What must be computed: a column.", "struct Problem {"]);
    out.line("__device__ static void column(const Args& args, int column) {");
    for (output, fold, _) in folds(body) {
        out.line(format!("double {} = {};", element(&output.name), identity(fold)));
    }
    out.line("for (int64_t row = 0; row < args.rows; ++row) {");
    let read = "autokernel::reference_rows::to_f32";
    out.lines(body.inputs().map(|operand| {
        let (name, from) = (element(&operand.name), address(operand));
        let value = match operand.kind {
            Kind::Matrix => format!("{read}({from}[row * args.{} + column])", leading(&operand.name)),
            Kind::Row => format!("{read}({from}[column])"),
            Kind::Column | Kind::Index => format!("{read}({from}[row])"),
            Kind::Scalar => format!("args.{name}"),
            Kind::DeviceScalar => format!("{read}(*{from})"),
        };
        format!("const float {name} = {value};")
    }));
    indices(&mut out, body, "column");
    out.lines(
        extents(body)
            .map(|axis| format!("const float {} = static_cast<float>(args.{});", axis.count_name(), axis.count())),
    );
    lets(&mut out, body, Spelling::Exact);
    for (output, fold, value) in folds(body) {
        let (name, term) = (element(&output.name), number(value, Spelling::Exact));
        out.line(match fold {
            Reduction::Sum | Reduction::Mean => format!("{name} += double({term});"),
            Reduction::Max => format!("{name} = fmax({name}, double({term}));"),
            Reduction::Min => format!("{name} = fmin({name}, double({term}));"),
        });
    }
    out.line("}");
    for (output, fold, _) in folds(body) {
        let name = element(&output.name);
        let over = if fold == Reduction::Mean { " / args.rows" } else { "" };
        out.line(format!("static_cast<float*>(args.{name})[column] = static_cast<float>({name}{over});"));
    }
    out.lines(["}", "};"]);
    out.finish()
}

/// What is reduced, and how.
fn folds(body: &Body) -> impl Iterator<Item = (&Operand, Reduction, &Expr)> {
    body.outputs().filter_map(|output| {
        body.steps.iter().find_map(|step| match step {
            Step::Store { output: name, fold: Some(fold), value, .. } if *name == output.name => {
                Some((output, *fold, value))
            }
            _ => None,
        })
    })
}

fn operation(fold: Reduction) -> &'static str {
    match fold {
        Reduction::Sum | Reduction::Mean => "autokernel::rows::Sum",
        Reduction::Max => "autokernel::rows::Max",
        Reduction::Min => "autokernel::rows::Min",
    }
}

fn identity(fold: Reduction) -> &'static str {
    match fold {
        Reduction::Sum | Reduction::Mean => "0.0",
        Reduction::Max => "-__builtin_huge_val()",
        Reduction::Min => "__builtin_huge_val()",
    }
}

fn number(expr: &Expr, spelling: Spelling) -> String {
    spelling.number(&expr.renamed(&element))
}

fn of_rows(body: &Body) -> impl Iterator<Item = &Operand> {
    body.inputs().filter(|operand| matches!(operand.kind, Kind::Column | Kind::Index))
}

fn of_kind(body: &Body, kind: Kind) -> impl Iterator<Item = &Operand> {
    body.operands.iter().filter(move |operand| (operand.kind, operand.role) == (kind, Role::Input))
}

/// Where the element stands, in fp32, where a body asks.
fn indices(out: &mut Lines, body: &Body, column: &str) {
    for (axis, value) in [(Axis::Row, "row"), (Axis::Column, column)] {
        if body.has_index(axis) {
            out.line(format!("const float {} = static_cast<float>({value});", axis.name()));
        }
    }
}

/// How many rows and columns there are, where a body asks.
fn extents(body: &Body) -> impl Iterator<Item = Axis> {
    Axis::ALL.into_iter().filter(|axis| body.has_extent(*axis))
}

fn lets(out: &mut Lines, body: &Body, spelling: Spelling) {
    for step in body.needed_steps() {
        if let Step::Let { name, value } = step {
            out.line(format!("const float {} = {};", element(name), number(value, spelling)));
        }
    }
}

fn sums(out: &mut Lines, body: &Body) {
    out.lines(["", "// What a thread reduced so far.", "struct Sums {"]);
    out.lines(folds(body).map(|(output, ..)| format!("float {}[kVector];", element(&output.name))));
    out.line("");
    out.line(format!("{FUNCTION} Sums() {{"));
    out.lines(["#pragma unroll", "for (int i = 0; i < kVector; ++i) {"]);
    out.lines(
        folds(body).map(|(output, fold, _)| format!("{}[i] = {}::kIdentity;", element(&output.name), operation(fold))),
    );
    out.lines(["}", "}", "", "template <typename Visit>"]);
    out.line(format!("{FUNCTION} void visit(Visit visit) {{"));
    for (at, (output, fold, _)) in folds(body).enumerate() {
        out.line(format!("visit({}{{}}, {at}, {});", operation(fold), element(&output.name)));
    }
    out.lines(["}", "};"]);
}

fn aligned(out: &mut Lines, body: &Body) {
    out.lines(["", "// Whether all vectors of all matrices are aligned."]);
    out.line(format!("{FUNCTION} static bool is_aligned(const Args& args) {{"));
    let is_aligned = |operand: &Operand| {
        format!("autokernel::rows::is_aligned<kVector>({}, args.{})", address(operand), leading(&operand.name))
    };
    let all: Vec<String> = of_kind(body, Kind::Matrix).map(is_aligned).collect();
    out.line(format!("return {};", if all.is_empty() { "true".to_owned() } else { all.join(" && ") }));
    out.line("}");
}

fn inputs(out: &mut Lines, body: &Body) {
    out.lines(["", "// A vector of each matrix, and what is of its row.", "struct Inputs {"]);
    let packed = |operand: &Operand| {
        format!("autokernel::rows::Packed<{}, kVector> {};", cuda_type(operand), element(&operand.name))
    };
    out.lines(of_kind(body, Kind::Matrix).map(packed));
    out.lines(of_rows(body).map(|operand| format!("float {};", element(&operand.name))));
    out.line("");
    out.line("template <bool kIsWhole>");
    out.line(format!("{FUNCTION} void load(const Args& args, int64_t row, int column) {{"));
    out.lines(of_kind(body, Kind::Matrix).map(|operand| {
        let (name, ld) = (element(&operand.name), leading(&operand.name));
        format!(
            "autokernel::columns::load<kIsWhole>({name}, {} + row * args.{ld}, column, args.columns);",
            address(operand)
        )
    }));
    out.lines(
        of_rows(body).map(|operand| {
            format!("{} = autokernel::rows::to_f32({}[row]);", element(&operand.name), address(operand))
        }),
    );
    out.lines(["}", "};"]);
}

fn shared(out: &mut Lines, body: &Body) {
    out.lines(["", "// What all rows share.", "struct Shared {"]);
    for operand in body.inputs() {
        let name = element(&operand.name);
        match operand.kind {
            Kind::Row => out.line(format!("autokernel::rows::Packed<{}, kVector> {name};", cuda_type(operand))),
            Kind::Scalar | Kind::DeviceScalar => out.line(format!("float {name};")),
            Kind::Matrix | Kind::Column | Kind::Index => {}
        }
    }
    out.lines(extents(body).map(|axis| format!("float {};", axis.count_name())));
    out.line("");
    out.line(format!("{FUNCTION} Shared(const Args& args, int column) {{"));
    out.lines(extents(body).map(|axis| format!("{} = static_cast<float>(args.{});", axis.count_name(), axis.count())));
    for operand in body.inputs() {
        let (name, from) = (element(&operand.name), address(operand));
        match operand.kind {
            Kind::Row => out.line(format!("autokernel::columns::load<false>({name}, {from}, column, args.columns);")),
            Kind::Scalar => out.line(format!("{name} = args.{name};")),
            Kind::DeviceScalar => out.line(format!("{name} = autokernel::rows::to_f32(*{from});")),
            Kind::Matrix | Kind::Column | Kind::Index => {}
        }
    }
    out.lines(["}", "};"]);
}

fn add(out: &mut Lines, body: &Body) {
    let spelling = Spelling::Fast(body.precision());
    out.lines(["", "// Adds what a vector of a row gives."]);
    out.line(format!(
        "{FUNCTION} static void add(int64_t row, int column, const Shared& shared, const Inputs& inputs,"
    ));
    out.line("                                           Sums& sums) {");
    out.lines(["#pragma unroll", "for (int i = 0; i < kVector; ++i) {"]);
    for operand in body.inputs() {
        let name = element(&operand.name);
        match operand.kind {
            Kind::Matrix => out.line(format!("const float {name} = inputs.{name}[i];")),
            Kind::Row => out.line(format!("const float {name} = shared.{name}[i];")),
            Kind::Scalar | Kind::DeviceScalar => out.line(format!("const float {name} = shared.{name};")),
            Kind::Column | Kind::Index => out.line(format!("const float {name} = inputs.{name};")),
        }
    }
    out.lines(extents(body).map(|axis| format!("const float {0} = shared.{0};", axis.count_name())));
    indices(out, body, "column + i");
    lets(out, body, spelling);
    for (output, fold, value) in folds(body) {
        let (name, op) = (element(&output.name), operation(fold));
        out.line(format!("sums.{name}[i] = {op}::combine(sums.{name}[i], {});", number(value, spelling)));
    }
    out.lines(["}", "}"]);
}

fn write(out: &mut Lines, body: &Body) {
    out.lines([
        "",
        "// Writes a column, of which `value` gives what an output was reduced to.",
        "template <typename Value>",
    ]);
    out.line(format!("{FUNCTION} static void write(const Args& args, int column, Value value) {{"));
    for (at, (output, fold, _)) in folds(body).enumerate() {
        let ty = cuda_type(output);
        let over = if fold == Reduction::Mean { " / args.rows" } else { "" };
        let value = format!("autokernel::from_f32<{ty}>(float(value({at}){over}))");
        out.line(format!("{}[column] = {value};", address(output)));
    }
    out.line("}");
}
