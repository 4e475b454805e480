//! CUDA's `struct Problem`, as `reference_rows.cuh` reads it.

use super::lanes::{self, Lane, address};
use super::passes::{self, Program, RowStep};
use super::print::{extent, extents, of_row, of_rows, row_index};
use crate::body::cuda::{element, leading, rows};
use crate::body::{Body, Columns, Fetch, Kind, Reduction};
use crate::expr::Axis;
use crate::expr::cuda::Spelling;
use crate::lines::Lines;

/// Threads of a block, which takes a row.
pub const THREADS: u32 = 256;

/// `struct Problem` of a body that is split into the passes of `program`.
pub fn problem(body: &Body, program: &Program) -> String {
    let mut out = Lines::default();
    out.lines(["// What must be computed.", "struct Problem {"]);
    out.line("// One row: the element `column` of each of its passes by one thread, and what they share.");
    out.line("template <typename Block>");
    out.line("__device__ static void row(const Args& args, int64_t index, Block& block) {");
    out.line("struct {");
    out.lines(of_rows(body).map(|name| format!("float {};", element(name))));
    for step in program.between.iter().flatten() {
        match step {
            RowStep::Value { name, .. } | RowStep::Divisor { name, .. } => out.line(format!("float {name};")),
            RowStep::Store { .. } => {}
        }
    }
    for (name, ..) in program.passes.iter().flat_map(|pass| &pass.reduces) {
        out.line(format!("float {name};"));
    }
    let has_row_index = body.has_index(Axis::Row);
    if has_row_index {
        out.line(format!("float {};", Axis::Row.name()));
    }
    out.lines(extents(body).map(|axis| format!("float {};", axis.count_name())));
    out.line("} row;");
    out.lines(has_row_index.then(row_index));
    out.lines(extents(body).map(extent));
    out.lines(of_rows(body).map(|name| once_a_row(body, name)));
    for (at, steps) in program.between.iter().enumerate() {
        between(&mut out, body, steps);
        if let Some(pass) = program.passes.get(at) {
            pass_over_row(&mut out, body, pass);
        }
    }
    out.line("}");
    out.line("};");
    out.finish()
}

/// Reads what the elements of a row share, by its name.
fn once_a_row(body: &Body, name: &str) -> String {
    match (body.fetch(name), body.operand(name)) {
        (Some(Fetch { of, row: Some(row), .. }), _) => {
            let column = body.operand(of).map(address).unwrap_or_default();
            let (name, Picked { row, is_there }) = (element(name), picked(row, of));
            format!("row.{name} = {is_there} ? autokernel::reference_rows::to_f32({column}[{row}]) : {NAN};")
        }
        (_, operand) => {
            of_row(operand.expect("what has no columns is picked, or an operand"), "autokernel::reference_rows::to_f32")
        }
    }
}

const NAN: &str = "__int_as_float(0x7fc00000)";

/// An element of a lane, or no number where there is none.
fn of_lane(lane: Lane<'_>) -> String {
    let (ld, from) = (leading(&lane.operand.name), address(lane.operand));
    let Source { column, is_there, is_negated } = source(lane);
    let at = |place: &str| format!("autokernel::reference_rows::to_f32({from}[{place}{column}])");
    let (value, row_is_there) = match (lane.operand.kind, lane.row.map(|index| picked(index, &lane.operand.name))) {
        (Kind::Matrix, None) => (at(&format!("index * args.{ld} + ")), None),
        (_, Some(Picked { row, is_there })) => (at(&format!("{row} * args.{ld} + ")), Some(is_there)),
        (_, None) => (at(""), None),
    };
    let value = is_negated.map_or(value.clone(), |is_negated| format!("({is_negated} ? -{value} : {value})"));
    match row_is_there.into_iter().chain(is_there).reduce(|row, column| format!("({row} && {column})")) {
        Some(is_there) => format!("{is_there} ? {value} : {NAN}"),
        None => value,
    }
}

/// Which column a lane reads, in CUDA: whether it is there, and whether it is negated, where that is a question.
struct Source {
    column: String,
    is_there: Option<String>,
    is_negated: Option<String>,
}

fn source(lane: Lane<'_>) -> Source {
    let own = format!("args.{}", lane.own_columns());
    let (column, is_negated) = match lane.columns {
        Columns::Same => return Source { column: "column".to_owned(), is_there: None, is_negated: None },
        Columns::RotateHalf(head) => {
            let (half, is_first) = (head / 2, format!("(column % {head} < {})", head / 2));
            (format!("({is_first} ? column + {half} : column - {half})"), Some(is_first))
        }
        Columns::RotatePairs => ("(column ^ 1)".to_owned(), Some("(column % 2 == 0)".to_owned())),
        Columns::Repeat => {
            let is_there = Some(format!("({own} > 0)"));
            return Source { column: format!("column % {own}"), is_there, is_negated: None };
        }
    };
    Source { is_there: Some(format!("({column} < {own})")), column, is_negated }
}

/// What picks a row, in CUDA: its number, and whether there is such a row.
struct Picked {
    row: String,
    is_there: String,
}

/// The row of the operand called `of` that an index picks.
fn picked(index: &str, of: &str) -> Picked {
    let row = format!("static_cast<const int32_t*>(args.{})[index]", element(index));
    let is_there = format!("({row} >= 0 && {row} < args.{})", rows(of));
    Picked { row: format!("static_cast<int64_t>({row})"), is_there }
}

fn between(out: &mut Lines, body: &Body, steps: &[RowStep]) {
    for step in steps {
        match step {
            RowStep::Value { name, value } | RowStep::Divisor { name, value } => {
                out.line(format!("row.{name} = {};", Spelling::Exact.number(value)));
            }
            RowStep::Store { output, value } => {
                let (name, value) = (element(output), Spelling::Exact.number(value));
                out.line(match body.row_of_output(output).map(|index| picked(index, output)) {
                    None => format!("if (threadIdx.x == 0) static_cast<float*>(args.{name})[index] = {value};"),
                    Some(Picked { row, is_there }) => {
                        format!(
                            "if (threadIdx.x == 0 && {is_there}) static_cast<float*>(args.{name})[{row}] = {value};"
                        )
                    }
                });
            }
        }
    }
}

fn pass_over_row(out: &mut Lines, body: &Body, pass: &passes::Pass) {
    out.line("{");
    for (name, reduction, _) in &pass.reduces {
        let identity = match reduction {
            Reduction::Sum | Reduction::Mean => "0.0",
            Reduction::Max => "-__builtin_huge_val()",
            Reduction::Min => "__builtin_huge_val()",
        };
        out.line(format!("double {name} = {identity};"));
    }
    out.line("for (int column = threadIdx.x; column < args.columns; column += autokernel::reference_rows::kThreads) {");
    for lane in lanes::of(body) {
        let read = |names: &Vec<String>| names.iter().any(|name| name == lane.name);
        if read(&pass.streamed.matrices) || read(&pass.streamed.rows) {
            out.line(format!("const float {} = {};", element(lane.name), of_lane(lane)));
        }
    }
    if pass.streamed.column_index {
        out.line(format!("const float {} = static_cast<float>(column);", Axis::Column.name()));
    }
    for (name, source) in &pass.streamed.values {
        if let passes::Source::Computed(expr) = source {
            out.line(format!("const float {name} = {};", Spelling::Exact.number(expr)));
        }
    }
    for (name, reduction, expr) in &pass.reduces {
        let expr = Spelling::Exact.number(expr);
        out.line(match reduction {
            Reduction::Sum | Reduction::Mean => format!("{name} += double({expr});"),
            Reduction::Max => format!("{name} = fmax({name}, double({expr}));"),
            Reduction::Min => format!("{name} = fmin({name}, double({expr}));"),
        });
    }
    for (output, expr) in &pass.stores {
        let (to, ld) = (element(output), leading(output));
        let value = Spelling::Exact.number(expr);
        out.line(match body.row_of_output(output).map(|index| picked(index, output)) {
            None => format!("static_cast<float*>(args.{to})[index * args.{ld} + column] = {value};"),
            Some(Picked { row, is_there }) => {
                format!("if ({is_there}) static_cast<float*>(args.{to})[{row} * args.{ld} + column] = {value};")
            }
        });
    }
    out.line("}");
    for (name, reduction, _) in &pass.reduces {
        let (function, over) = match reduction {
            Reduction::Sum => ("sum", ""),
            Reduction::Mean => ("sum", " / args.columns"),
            Reduction::Max => ("max", ""),
            Reduction::Min => ("min", ""),
        };
        out.line(format!("row.{name} = static_cast<float>(block.{function}({name}){over});"));
    }
    out.line("}");
}
