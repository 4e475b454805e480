//! Functions of an element in `struct Body`: what each is given, what it reads, and its steps.

use super::Body;
use super::print_extent::extent;
use super::print_rows::FUNCTION;
use crate::body::cuda::element;
use crate::body::{Kind, Step};
use crate::expr::Axis;
use crate::expr::cuda::Spelling;
use crate::lines::Lines;

/// The head of a function of an element, which takes its sums, and before them what else it is given.
pub(super) fn begin(out: &mut Lines, body: &Body, what: &str, given: Option<&str>) {
    let sums: String = body.sums().map(|sum| format!(", float {}", element(sum))).collect();
    let given = given.map(|given| format!(", {given}")).unwrap_or_default();
    out.line("template <typename Inputs>");
    let place = "autokernel::body::Index at, int pair, int i";
    out.line(format!("{FUNCTION} {what}(const Args& args, const Inputs& inputs, {place}{given}{sums}) {{"));
}

/// Where the element stands, and what is read of it, as far as these steps need that.
pub(super) fn values(out: &mut Lines, body: &Body, steps: &[&Step]) {
    for (axis, number) in [(Axis::Row, "at.row"), (Axis::Column, "at.column")] {
        if steps.iter().any(|step| step.expr().has_index(axis)) {
            out.line(format!("const float {} = static_cast<float>({number});", axis.name()));
        }
        if steps.iter().any(|step| step.expr().has_extent(axis)) {
            out.line(extent(axis));
        }
    }
    let is_read = |name: &str| steps.iter().any(|step| step.expr().variables().contains(&name));
    for (read, operand) in body.reads().filter(|(read, _)| is_read(read)) {
        let name = element(&operand.name);
        let value =
            if operand.kind == Kind::Scalar { format!("args.{name}") } else { format!("inputs.{name}.at(pair, i)") };
        out.line(format!("const float {} = {value};", element(read)));
    }
}

/// What a step gives, under its name.
pub(super) fn statement(body: &Body, step: &Step, spelling: Spelling) -> String {
    let constant = |name: &str| {
        let mut lets = body.steps().filter(|step| matches!(step, Step::Let { .. }));
        lets.find(|step| element(step.name()) == name).and_then(|step| step.expr().literal())
    };
    let value = spelling.number_beside(&step.expr().renamed(&element), &constant);
    format!("const float {} = {value};", element(step.name()))
}
