//! CUDA's `struct Problem`, as `rows_sm80.cuh` and `rows_sm90.cuh` read it.

mod between;
mod elements;
mod inputs;
mod places;
mod printer;
mod reduce;
mod structs;

use self::printer::Printer;
use super::passes::Program;
use crate::body::Body;
use crate::lines::Lines;

pub use between::{of_row, of_rows, row_index};
pub use printer::Brought;

/// `struct Problem` of a body that is split into the passes of `program`.
pub fn problem(body: &Body, program: &Program, brought: Brought) -> String {
    let printer = Printer { body, program, brought };
    let mut out = Lines::default();
    let joined = program.join.as_ref().map(|join| join.pass);
    // What a joined pass reduces, the next one brings together.
    let reduces =
        program.passes.iter().enumerate().filter(|(at, pass)| !pass.reduces.is_empty() && joined != Some(*at));
    let reductions = reduces.count();
    let most = (0..program.passes.len()).map(|at| printer.numbers(at)).max().unwrap_or(0);
    out.line("// What must be computed.");
    out.line("struct Problem {");
    out.lines([
        "static constexpr int kVector = Schedule::kVector;".to_owned(),
        format!("static constexpr int kPasses = {};", program.passes.len()),
    ]);
    out.line(format!("static constexpr int kReductions = {reductions};  // passes that have any"));
    out.line(format!("static constexpr int kMostReductions = {most};  // of a pass"));
    out.line(match joined {
        Some(pass) => format!("static constexpr int kJoined = {pass};  // and the next pass are one"),
        None => "static constexpr int kJoined = -1;  // no pass is one with the next".to_owned(),
    });
    if brought.is_in_shared_memory() {
        let bytes: u32 = printer.kept_rows().map(|lane| lane.dtype().bytes()).sum();
        out.line(format!("static constexpr int kKeptBytes = {bytes};  // of a column, of the Rows that a block keeps"));
    }
    printer.structs(&mut out);
    printer.places(&mut out);
    if brought.is_in_shared_memory() {
        printer.visit_rows(&mut out);
    }
    printer.inputs(&mut out);
    printer.between(&mut out);
    printer.elements(&mut out);
    if let Some(join) = &program.join {
        reduce::settle(&mut out, join);
    }
    printer.reduce(&mut out);
    out.line("};");
    out.finish()
}
