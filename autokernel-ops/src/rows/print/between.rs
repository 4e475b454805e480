//! What is read and computed once a row.

use super::printer::{FUNCTION, Printer};
use crate::body::cuda::{cuda_type, element};
use crate::body::{Body, Fetch, Kind, Operand};
use crate::expr::Axis;
use crate::lines::Lines;
use crate::rows::lanes::{address, pick};
use crate::rows::passes::RowStep;

impl Printer<'_> {
    pub fn between(&self, out: &mut Lines) {
        out.line("");
        out.line("// What is computed once a row, before pass kPass.");
        out.line("template <int kPass>");
        out.line(format!("{FUNCTION} void between(const Args& args, int64_t index, bool writes, Values& row) {{"));
        for (at, steps) in self.program.between.iter().enumerate() {
            let loads = of_rows(self.body).filter(|_| at == 0).map(|name| self.of_row(name));
            let computes = steps.iter().map(|step| match step {
                RowStep::Value { name, value } => format!("row.{name} = {};", self.number(value)),
                RowStep::Divisor { name, value } => {
                    format!("row.{name} = {}({});", self.divisor(value), self.number(value))
                }
                RowStep::Store { output, value } => {
                    let operand = self.body.operand(output).expect("a body without mistakes stores to operands");
                    let ty = cuda_type(operand);
                    let (to, value) = (address(operand), self.number(value));
                    let value = format!("autokernel::from_f32<{ty}>({value})");
                    match self.body.row_of_output(output).map(|row| pick(row, output, "index")) {
                        None => format!("if (writes) {to}[index] = {value};"),
                        Some(pick) => format!("if (writes && {pick}.is_there) {to}[{pick}.row] = {value};"),
                    }
                }
            });
            let number = (at == 0 && self.body.has_index(Axis::Row)).then(row_index);
            let lines: Vec<String> = number.into_iter().chain(loads).chain(computes).collect();
            if !lines.is_empty() {
                out.line(format!("if constexpr (kPass == {at}) {{"));
                out.lines(lines);
                out.line("}");
            }
        }
        out.line("}");
    }

    /// Reads what the elements of a row share, by its name.
    fn of_row(&self, name: &str) -> String {
        match (self.body.fetch(name), self.body.operand(name)) {
            (Some(Fetch { of, row: Some(row), .. }), _) => {
                let column = self.body.operand(of).map(address).unwrap_or_default();
                let (name, pick) = (element(name), pick(row, of, "index"));
                format!("row.{name} = autokernel::rows::picked_element({column}, {pick});")
            }
            (_, operand) => {
                of_row(operand.expect("what has no columns is picked, or an operand"), "autokernel::rows::to_f32")
            }
        }
    }
}

/// Reads an operand that the elements of a row share.
pub fn of_row(operand: &Operand, to_f32: &str) -> String {
    let name = element(&operand.name);
    match operand.kind {
        Kind::Scalar => format!("row.{name} = args.{name};"),
        Kind::DeviceScalar => format!("row.{name} = {to_f32}(*{});", address(operand)),
        Kind::Index => format!("row.{name} = static_cast<float>({}[index]);", address(operand)),
        _ => format!("row.{name} = {to_f32}({}[index]);", address(operand)),
    }
}

/// The names of what is read once a row: operands that do not differ along it, and fetched ones.
pub fn of_rows(body: &Body) -> impl Iterator<Item = &str> {
    let is_of_row = |operand: &&Operand| !operand.kind.varies_along_row();
    // An index is a number where an expression has it.
    let is_number = |operand: &Operand| operand.kind != Kind::Index || body.is_in_expressions(&operand.name);
    let own = body.inputs().filter(is_of_row).filter(move |it| is_number(it) && !body.has_own_axis(&it.name));
    let own = own.map(|operand| operand.name.as_str());
    let fetched = body.fetches.iter().filter(move |fetch| body.operand(&fetch.of).as_ref().is_some_and(is_of_row));
    own.chain(fetched.map(|fetch| fetch.name.as_str()))
}

/// What gives the number of the row, called `index`, its name among the row's values.
pub fn row_index() -> String {
    format!("row.{} = static_cast<float>(index);", Axis::Row.name())
}
