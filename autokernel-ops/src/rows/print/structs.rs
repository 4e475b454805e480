//! The structs that a kernel keeps of a row.

use super::between::of_rows;
use super::printer::{Brought, Printer, factor};
use crate::body::Reduction;
use crate::body::cuda::{cuda_type, element};
use crate::expr::Axis;
use crate::lines::Lines;
use crate::rows::joined::Join;
use crate::rows::lanes::{self, Lane};
use crate::rows::passes::RowStep;

/// Of what holds neighbouring elements: a vector, or a single one at an end of a row.
const COLUMNS: &str = "template <int kColumns>";

impl Printer<'_> {
    pub fn structs(&self, out: &mut Lines) {
        let place = |lane: Lane<'_>| format!("{} {}", self.place_type(&lane), element(lane.name));
        let places = lanes::of(self.body).map(place).collect();
        structure(out, "Where the row lies in each operand.", "Places", None, places);

        let read = self.requested();
        let packed = read.iter().map(|name| {
            format!("autokernel::rows::Packed<{}, kColumns> {}", cuda_type(self.lane(name).operand), element(name))
        });
        let about = match self.brought {
            Brought::NothingAtOnce => "A vector of each matrix and Row that is read, as it lies in memory.",
            _ => "A vector of each matrix that is read, as it lies in memory.",
        };
        structure(out, about, "Inputs", Some(COLUMNS), packed.collect());

        let kept = self.program.kept.iter().map(|name| format!("float {name}[kColumns]"));
        structure(out, "Elements that later passes need.", "Kept", Some(COLUMNS), kept.collect());

        let mut values: Vec<String> = of_rows(self.body).map(|name| format!("float {}", element(name))).collect();
        values.extend(self.body.has_index(Axis::Row).then(|| format!("float {}", Axis::Row.name())));
        for (at, between) in self.program.between.iter().enumerate() {
            values.extend(between.iter().filter_map(|step| match step {
                RowStep::Value { name, .. } => Some(format!("float {name}")),
                RowStep::Divisor { name, value } => Some(format!("{} {name}", self.divisor(value))),
                RowStep::Store { .. } => None,
            }));
            let reduces = self.program.passes.get(at).map_or(&[][..], |pass| &pass.reduces);
            values.extend(reduces.iter().map(|(name, ..)| format!("float {name}")));
        }
        let is_relative = |join: &&Join| self.program.kept.iter().any(|name| join.is_relative(name));
        let join = self.program.join.as_ref();
        values.extend(join.filter(is_relative).map(|join| format!("float {}", factor(join))));
        structure(out, "What the elements of a row share.", "Values", None, values);

        let reduces = self.program.passes.iter().flat_map(|pass| &pass.reduces);
        let reduces = reduces.filter(|(name, ..)| join.is_none_or(|join| *name != join.second));
        let reduces = reduces.map(|(name, reduction, _)| match join.filter(|join| *name == join.first) {
            Some(join) => format!("autokernel::rows::Joined<autokernel::rows::{}> {name}", join.pair.name()),
            None => format!("autokernel::rows::Accumulator<autokernel::rows::{}> {name}", operation(*reduction)),
        });
        structure(out, "What the passes reduce.", "Reduced", None, reduces.collect());
    }

    /// The C++ type of a lane's place. Behind those before it lies a `Row` that is kept.
    fn place_type(&self, lane: &Lane<'_>) -> String {
        let mut before = 0;
        for kept in self.kept_rows() {
            if kept.name == lane.name {
                return format!("autokernel::rows::KeptPlace<{}, Schedule, {before}>", lanes::qualified(lane.operand));
            }
            before += kept.dtype().bytes();
        }
        lane.place_type()
    }
}

fn structure(out: &mut Lines, about: &str, name: &str, template: Option<&str>, fields: Vec<String>) {
    out.line("");
    out.line(format!("// {about}"));
    out.lines(template);
    if fields.is_empty() {
        return out.line(format!("struct {name} {{}};"));
    }
    out.line(format!("struct {name} {{"));
    out.lines(fields.into_iter().map(|field| format!("{field};")));
    out.line("};");
}

fn operation(reduction: Reduction) -> &'static str {
    match reduction {
        Reduction::Sum | Reduction::Mean => "Sum",
        Reduction::Max => "Max",
        Reduction::Min => "Min",
    }
}
