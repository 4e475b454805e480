//! How the threads of a row bring together what they reduced.

use super::printer::{FUNCTION, Printer, factor};
use crate::body::Reduction;
use crate::lines::Lines;
use crate::rows::joined::Join;

impl Printer<'_> {
    pub fn reduce(&self, out: &mut Lines) {
        out.line("");
        out.line("// Brings together what the threads of the row reduced in pass kPass.");
        out.line("template <int kPass, typename Team>");
        out.line(format!("{FUNCTION} void reduce(const Args& args, Team& team, Reduced& reduced, Values& row) {{"));
        for at in (0..self.program.passes.len()).filter(|&at| self.numbers(at) > 0) {
            let reductions = self.reductions(at);
            out.line(format!("if constexpr (kPass == {at}) {{"));
            let join = self.joined(at);
            let relative = join.filter(|join| self.program.kept.iter().any(|name| join.is_relative(name)));
            out.lines(relative.map(|join| format!("const float own = reduced.{}.settled.first;", join.first)));
            let alone = reductions.iter().map(|(name, ..)| name);
            let all: Vec<String> =
                join.map(|join| &join.first).into_iter().chain(alone).map(|name| format!("reduced.{name}")).collect();
            out.line(format!("team.reduce({});", all.join(", ")));
            if let Some(Join { pair, first, second, pass, .. }) = join {
                let of_second = self.program.passes[pass + 1].reduces.iter().find(|(name, ..)| name == second);
                let of_second = of_second.map_or(Reduction::Sum, |(_, reduction, _)| *reduction);
                out.line(result(first, pair.first(), &format!("reduced.{first}.first.value")));
                out.line(result(second, of_second, &format!("reduced.{first}.whole(args.columns)")));
            }
            out.lines(relative.map(|join| {
                let Join { first, pair, .. } = join;
                format!("row.{} = autokernel::rows::{}::factor(own, row.{first});", factor(join), pair.name())
            }));
            out.lines(reductions.iter().map(|(name, how, _)| result(name, *how, &format!("reduced.{name}.value"))));
            out.line("}");
        }
        out.line("}");
    }
}

/// What the joined pass does between its two reductions.
pub fn settle(out: &mut Lines, join: &Join) {
    let Join { first, aliases, .. } = join;
    out.line("");
    out.line(
        "// What the second reduction of the joined pass is relative to: what the thread has of the first one so far.",
    );
    out.line(format!("{FUNCTION} void settle(Reduced& reduced, Values& row) {{"));
    out.line(format!("row.{first} = reduced.{first}.settle();"));
    out.lines(aliases.iter().map(|alias| format!("row.{alias} = row.{first};")));
    out.line("}");
}

/// The value of the row called `name`, of what its threads have reduced.
fn result(name: &str, reduction: Reduction, reduced: &str) -> String {
    match reduction {
        Reduction::Mean => {
            format!("row.{name} = autokernel::fast_math::quotient({reduced}, static_cast<float>(args.columns));")
        }
        Reduction::Sum | Reduction::Max | Reduction::Min => format!("row.{name} = {reduced};"),
    }
}
