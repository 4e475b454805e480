//! What a thread requests of a row.

use super::printer::{Brought, FUNCTION, Printer};
use crate::body::cuda::element;
use crate::lines::Lines;
use crate::rows::passes::Pass;

impl Printer<'_> {
    pub fn inputs(&self, out: &mut Lines) {
        out.line("");
        out.line(match self.brought {
            Brought::NothingAtOnce => "// Calls `visit` for each matrix and Row that a pass reads, or every pass.",
            _ => "// Calls `visit` for each matrix that a pass reads, or every pass.",
        });
        out.line("template <int kPass, int kColumns, typename Visit>");
        out.line(format!("{FUNCTION} void visit(const Places& places, Inputs<kColumns>& inputs, Visit visit) {{"));
        let requested = self.requested();
        if !requested.is_empty() {
            out.line("constexpr bool kEvery = kPass == autokernel::rows::kEveryPass;");
        }
        for name in requested {
            let is_read =
                |pass: &Pass| pass.streamed.matrices.iter().chain(&pass.streamed.rows).any(|read| read == name);
            let reads = |(at, pass): (usize, &Pass)| {
                let is_read_next = || self.program.joins(at) && self.program.passes.get(at + 1).is_some_and(is_read);
                (is_read(pass) || is_read_next()).then(|| format!("kPass == {at}"))
            };
            let passes: Vec<String> = self.program.passes.iter().enumerate().filter_map(reads).collect();
            let name = element(name);
            out.line(format!("if constexpr (kEvery || {}) visit(inputs.{name}, places.{name});", passes.join(" || ")));
        }
        out.line("}");
    }
}
