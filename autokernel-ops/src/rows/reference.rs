//! CUDA's `struct Problem`, as `reference_rows.cuh` reads it.

use autokernel_core::Role;

use super::passes::{Program, RowStep, Source};
use super::print::{address, of_row, row_index};
use crate::body::cuda::{element, leading};
use crate::body::{Body, Kind, Reduction};
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
    let shared = || body.inputs().filter(|operand| !operand.kind.varies_along_row());
    for operand in shared() {
        out.line(format!("float {};", element(&operand.name)));
    }
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
    out.line("} row;");
    out.lines(has_row_index.then(row_index));
    out.lines(shared().map(|operand| of_row(operand, "autokernel::reference_rows::to_f32")));
    for (at, steps) in program.between.iter().enumerate() {
        between(&mut out, steps);
        if let Some(pass) = program.passes.get(at) {
            pass_over_row(&mut out, body, pass);
        }
    }
    out.line("}");
    out.line("};");
    out.finish()
}

fn between(out: &mut Lines, steps: &[RowStep]) {
    for step in steps {
        match step {
            RowStep::Value { name, value } | RowStep::Divisor { name, value } => {
                out.line(format!("row.{name} = {};", Spelling::Exact.number(value)));
            }
            RowStep::Store { output, value } => {
                let name = element(output);
                out.line(format!(
                    "if (threadIdx.x == 0) static_cast<float*>(args.{name})[index] = {};",
                    Spelling::Exact.number(value)
                ));
            }
        }
    }
}

fn pass_over_row(out: &mut Lines, body: &Body, pass: &super::passes::Pass) {
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
    for operand in body.operands.iter().filter(|operand| operand.role == Role::Input) {
        let read =
            [&pass.streamed.matrices, &pass.streamed.rows].into_iter().any(|names| names.contains(&operand.name));
        if read {
            let offset = match operand.kind {
                Kind::Matrix => format!("index * args.{} + ", leading(&operand.name)),
                Kind::Row | Kind::Column | Kind::Scalar | Kind::DeviceScalar => String::new(),
            };
            let (name, from) = (element(&operand.name), address(operand));
            out.line(format!("const float {name} = autokernel::reference_rows::to_f32({from}[{offset}column]);"));
        }
    }
    if pass.streamed.column_index {
        out.line(format!("const float {} = static_cast<float>(column);", Axis::Column.name()));
    }
    for (name, source) in &pass.streamed.values {
        if let Source::Computed(expr) = source {
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
        out.line(format!(
            "static_cast<float*>(args.{to})[index * args.{ld} + column] = {};",
            Spelling::Exact.number(expr)
        ));
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
