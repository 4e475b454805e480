//! What `struct Body` says of reductions along rows, as `body_statistics.cuh` reads it.

use autokernel_core::Dtype;

use super::Body;
use super::print_extent::extent;
use crate::body::cuda::{cuda_type, element};
use crate::body::{Kind, Operand, Reduction, Step};
use crate::expr::Axis;
use crate::expr::cuda::Spelling;
use crate::lines::Lines;

/// What begins a member function.
pub const FUNCTION: &str = "__device__ __forceinline__ static";

/// Its members. Outputs are of the type that is given with the columns of a part, or of their own.
pub fn print(out: &mut Lines, body: &Body, (stored_as, part_columns): (Option<Dtype>, u32), spelling: Spelling) {
    let reductions: Vec<(&str, Reduction)> = body.reductions().collect();
    out.line("");
    out.line("// What is reduced along rows, from terms behind the outputs of an element.");
    out.line(format!("static constexpr int kStatistics = {};", reductions.len()));
    out.line(format!("static constexpr int kOutputs = {};", body.matrices().count()));
    out.line(format!("static constexpr int kPartColumns = {part_columns};"));
    let of_each = |text: fn(Reduction) -> &'static str| each(reductions.iter().map(|(_, how)| text(*how)), "statistic");
    out.line("");
    out.line(format!("{FUNCTION} float identity(int statistic) {{"));
    out.line(format!("return {};", of_each(identity)));
    out.line("}");
    out.line("");
    out.line(format!("{FUNCTION} float combine(int statistic, float x, float y) {{"));
    out.line(format!("return {};", of_each(combined)));
    out.line("}");
    joined(out, body, &reductions);
    folds(out, body, stored_as, spelling.straight());
    finish(out, body, &reductions, stored_as, spelling.straight());
}

/// What one number of each row comes to, as `body_folded.cuh` reads it.
fn folds(out: &mut Lines, body: &Body, stored_as: Option<Dtype>, spelling: Spelling) {
    let folds: Vec<(&Operand, Reduction)> = body.folds().collect();
    if folds.is_empty() {
        return;
    }
    let of_each = |text: fn(Reduction) -> &'static str| each(folds.iter().map(|(_, fold)| text(*fold)), "fold");
    out.line("");
    out.line("// What one number of each row comes to.");
    out.line(format!("static constexpr int kFolds = {};", folds.len()));
    out.line("");
    out.line(format!("{FUNCTION} float identity_of_fold(int fold) {{"));
    out.line(format!("return {};", of_each(identity)));
    out.line("}");
    out.line("");
    out.line(format!("{FUNCTION} float combine_folded(int fold, float x, float y) {{"));
    out.line(format!("return {};", of_each(combined)));
    out.line("}");
    out.line("");
    out.line(format!("{FUNCTION} void store_folded(const Args& args, const float (&folded)[kFolds]) {{"));
    for (number, (operand, fold)) in folds.into_iter().enumerate() {
        let value = of_all(fold, &format!("folded[{number}]"), "args.m", spelling);
        let ty = stored_as.map_or_else(|| cuda_type(operand), |dtype| format!("autokernel::{dtype}"));
        let to = format!("static_cast<{ty}*>(args.{})", element(&operand.name));
        out.line(format!("autokernel::body::store({to}, {value});"));
    }
    out.line("}");
}

/// What was reduced of `count` numbers.
fn of_all(reduction: Reduction, reduced: &str, count: &str, spelling: Spelling) -> String {
    match reduction {
        Reduction::Mean => spelling.quotient(reduced, &format!("static_cast<float>({count})")),
        _ => reduced.to_owned(),
    }
}

/// Of several texts the one whose number is called `number`.
fn each<'t>(texts: impl DoubleEndedIterator<Item = &'t str> + ExactSizeIterator, number: &str) -> String {
    texts.enumerate().rev().fold(String::new(), |rest, (at, text)| {
        if rest.is_empty() { text.to_owned() } else { format!("{number} == {at} ? {text} : {rest}") }
    })
}

/// Which sums are of exponentials relative to which maximum, as `body_joined.cuh` reads it.
fn joined(out: &mut Lines, body: &Body, reductions: &[(&str, Reduction)]) {
    let joins = body.joins();
    if joins.is_empty() {
        return;
    }
    let number = |name: &str| reductions.iter().position(|(it, _)| *it == name).unwrap_or(0);
    let cases = joins.iter().rev().fold("-1".to_owned(), |rest, join| {
        format!("statistic == {} ? {} : {rest}", number(join.sum), number(join.maximum))
    });
    out.line("");
    out.line("// The maximum that a sum of exponentials is relative to; -1 of what is none.");
    out.line(format!("{FUNCTION} constexpr int maximum_of(int statistic) {{"));
    out.line(format!("return {cases};"));
    out.line("}");
}

fn identity(reduction: Reduction) -> &'static str {
    match reduction {
        Reduction::Sum | Reduction::Mean => "0.0f",
        Reduction::Max => "-__builtin_huge_valf()",
        Reduction::Min => "__builtin_huge_valf()",
    }
}

/// As `f32::max` and `f32::min`: a NaN gives way to any number.
fn combined(reduction: Reduction) -> &'static str {
    match reduction {
        Reduction::Sum | Reduction::Mean => "x + y",
        Reduction::Max => "fmaxf(x, y)",
        Reduction::Min => "fminf(x, y)",
    }
}

/// What becomes of a row's reductions.
fn finish(
    out: &mut Lines,
    body: &Body,
    reductions: &[(&str, Reduction)],
    stored_as: Option<Dtype>,
    spelling: Spelling,
) {
    let steps = body.steps_of_rows();
    let is_read = |name: &str| steps.iter().any(|step| step.expr().variables().contains(&name));
    out.line("");
    let folded = if body.folds().next().is_some() { ", float (&folded)[kFolds]" } else { "" };
    out.line(format!(
        "{FUNCTION} void finish(const Args& args, int row, const float (&reduced)[kStatistics]{folded}) {{"
    ));
    if steps.iter().any(|step| step.expr().has_index(Axis::Row)) {
        out.line(format!("const float {} = static_cast<float>(row);", Axis::Row.name()));
    }
    let has_extent = |axis: &Axis| steps.iter().any(|step| step.expr().has_extent(*axis));
    out.lines(Axis::ALL.into_iter().filter(has_extent).map(extent));
    for operand in body.inputs().filter(|operand| is_read(&operand.name)) {
        out.line(format!("const float {} = {};", element(&operand.name), input(operand)));
    }
    for (number, (name, reduction)) in reductions.iter().enumerate().filter(|(_, (name, _))| is_read(name)) {
        let value = of_all(*reduction, &format!("reduced[{number}]"), "args.n", spelling);
        out.line(format!("const float {} = {value};", element(name)));
    }
    for step in &steps {
        let value = spelling.number(&step.expr().renamed(&element));
        match step {
            Step::Let { name, .. } => out.line(format!("const float {} = {value};", element(name))),
            Step::Store { output, fold: Some(_), .. } => {
                let number = body.folds().position(|(operand, _)| operand.name == *output).unwrap_or(0);
                out.line(format!("folded[{number}] = {value};"));
            }
            Step::Store { output, .. } => {
                let operand = body.operands().iter().find(|operand| operand.name == *output);
                let ty = stored_as.map(|dtype| format!("autokernel::{dtype}")).or_else(|| operand.map(cuda_type));
                let to = format!("static_cast<{}*>(args.{}) + row", ty.unwrap_or_default(), element(output));
                out.line(format!("autokernel::body::store({to}, {value});"));
            }
            Step::Reduce { .. } => {}
        }
    }
    out.line("}");
}

/// An input that is the same along the row.
fn input(operand: &Operand) -> String {
    let name = element(&operand.name);
    match operand.kind {
        Kind::Scalar => format!("args.{name}"),
        Kind::Column => format!("autokernel::body::element_of<{}>(args.{name}, row)", cuda_type(operand)),
        _ => format!("autokernel::body::element_of<{}>(args.{name}, 0)", cuda_type(operand)),
    }
}
