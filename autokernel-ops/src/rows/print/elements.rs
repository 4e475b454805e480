//! What a pass does to the elements of a vector.

use autokernel_core::Dtype;

use super::printer::{FUNCTION, Printer, factor};
use crate::body::cuda::{cuda_type, element};
use crate::expr::Axis;
use crate::lines::Lines;
use crate::rows::joined::Join;
use crate::rows::passes::{Elements, Pass, Source};

impl Printer<'_> {
    pub fn elements(&self, out: &mut Lines) {
        out.line("");
        out.line("// What pass kPass does to a vector that its thread holds, or reads again.");
        out.line("template <int kPass, bool kHeld, bool kIsAligned, int kColumns>");
        out.line(format!("{FUNCTION} void elements(const Places& places, autokernel::rows::Span<kColumns> span,"));
        out.line(
            "                                                const Inputs<kColumns>& inputs, Kept<kColumns>& kept,",
        );
        out.line("                                                const Values& row, Reduced& reduced) {");
        for (at, pass) in self.program.passes.iter().enumerate() {
            if pass.held == pass.streamed {
                out.line(format!("if constexpr (kPass == {at}) {{"));
                self.pass(out, pass, &pass.held);
            } else {
                out.line(format!("if constexpr (kPass == {at} && kHeld) {{"));
                self.pass(out, pass, &pass.held);
                out.line("}");
                out.line(format!("if constexpr (kPass == {at} && !kHeld) {{"));
                self.pass(out, pass, &pass.streamed);
            }
            out.line("}");
        }
        out.line("}");
    }

    fn pass(&self, out: &mut Lines, pass: &Pass, elements: &Elements) {
        for name in elements.rows.iter().filter(|name| !self.is_requested(name)) {
            let (ty, name) = (cuda_type(self.lane(name).operand), element(name));
            out.line(format!("autokernel::rows::Packed<{ty}, kColumns> {name}vector;"));
            out.line(format!("autokernel::rows::load<kIsAligned>({name}vector, places.{name}, span);"));
        }
        let arrays = pass.reduces.iter().map(|(name, ..)| format!("{name}terms"));
        let arrays = arrays.chain(pass.stores.iter().map(|(name, _)| format!("{}vector", element(name))));
        out.lines(arrays.map(|array| format!("float {array}[kColumns];")));
        out.line("#pragma unroll");
        out.line("for (int i = 0; i < kColumns; ++i) {");
        for name in &elements.matrices {
            out.line(format!("const float {0} = inputs.{0}[i];", element(name)));
        }
        for name in &elements.rows {
            let (from, vector) = if self.is_requested(name) { ("inputs.", "") } else { ("", "vector") };
            out.line(format!("const float {0} = {from}{0}{vector}[i];", element(name)));
        }
        if elements.column_index {
            out.line(format!("const float {} = static_cast<float>(span.first + i);", Axis::Column.name()));
        }
        for (name, source) in &elements.values {
            match source {
                Source::Kept => {
                    let relative = self.program.join.as_ref().filter(|join| join.is_relative(name));
                    let to_all = relative.map_or(String::new(), |join| format!(" * row.{}", factor(join)));
                    out.line(format!("const float {name} = kept.{name}[i]{to_all};"));
                }
                Source::Computed(expr) => out.line(format!("const float {name} = {};", self.number(expr))),
            }
        }
        out.lines(elements.keeps.iter().map(|name| format!("kept.{name}[i] = {name};")));
        out.lines(pass.reduces.iter().map(|(name, _, expr)| format!("{name}terms[i] = {};", self.number(expr))));
        out.lines(
            pass.stores.iter().map(|(name, expr)| format!("{}vector[i] = {};", element(name), self.number(expr))),
        );
        out.line("}");
        out.lines(pass.reduces.iter().map(|(name, ..)| match &self.program.join {
            Some(Join { first, second, .. }) if second == name => {
                format!("reduced.{first}.second.add({name}terms, span);")
            }
            _ => format!("reduced.{name}.add({name}terms, span);"),
        }));
        out.lines(pass.stores.iter().map(|(name, _)| {
            let store = match self.lane(name).dtype() {
                Dtype::E4m3 | Dtype::E5m2 => "store_fp8",
                Dtype::I8 => "store_int8",
                _ => "store",
            };
            let name = element(name);
            format!("autokernel::rows::{store}<kIsAligned>(places.{name}, span, {name}vector);")
        }));
    }
}
