//! Where a row lies in each operand.

use super::printer::{FUNCTION, Printer};
use crate::body::cuda::{element, leading};
use crate::body::{Columns, Kind};
use crate::lines::Lines;
use crate::rows::lanes::{self, Lane, address};

impl Printer<'_> {
    pub fn places(&self, out: &mut Lines) {
        out.line("");
        out.line("// Columns of a row before its first aligned address.");
        out.line(format!("{FUNCTION} int head(const Args& args, int64_t row) {{"));
        let leader = self.leader().map(|lane| lane.address("row")).unwrap_or_default();
        out.line(format!("return autokernel::rows::columns_to_alignment<kVector>({leader});"));
        out.line("}");
        out.line("");
        out.line("// Whether all rows of all operands begin at multiples of their access.");
        out.line(format!("{FUNCTION} bool is_aligned(const Args& args) {{"));
        out.line("bool is_aligned = true;");
        for operand in self.body.operands.iter().filter(|operand| operand.kind.varies_along_row()) {
            let ld =
                if operand.kind == Kind::Matrix { format!(", args.{}", leading(&operand.name)) } else { String::new() };
            out.line(format!("is_aligned &= autokernel::rows::is_aligned<kVector>({}{ld});", address(operand)));
        }
        for operand in
            lanes::of(self.body).filter(|lane| lane.columns == Columns::Repeat).map(|lane| lane.own_columns())
        {
            out.line(format!(
                "is_aligned &= args.{operand} % kVector == 0;  // a table that repeats is of whole vectors"
            ));
        }
        out.line("return is_aligned;");
        out.line("}");
        if self.brought.is_in_shared_memory() {
            self.alike(out);
        }
        out.line("");
        out.line(format!("{FUNCTION} Places places(const Args& args, int64_t row, int first) {{"));
        out.line("return {");
        let is_kept = |lane: &Lane<'_>| self.kept_rows().any(|kept| kept.name == lane.name);
        let place = |lane: Lane<'_>| {
            if is_kept(&lane) { format!("{{{}}},", lane.place()) } else { format!("{},", lane.place()) }
        };
        out.lines(lanes::of(self.body).map(place));
        out.line("};");
        out.line("}");
    }

    pub fn visit_rows(&self, out: &mut Lines) {
        out.line("");
        out.line("// Calls `visit` for each Row that a block keeps.");
        out.line("template <typename Visit>");
        out.line(format!("{FUNCTION} void visit_rows(const Places& places, Visit visit) {{"));
        out.lines(self.kept_rows().map(|lane| format!("visit(places.{});", element(lane.name))));
        out.line("}");
    }

    /// Whether vectors of all matrices are aligned at the same columns, so that `Row`s that are kept can be shifted to them.
    fn alike(&self, out: &mut Lines) {
        let is_kept = |lane: &Lane<'_>| self.kept_rows().any(|kept| kept.name == lane.name);
        let mut lanes = lanes::of(self.body);
        let may_shift = lanes.all(|lane| lane.operand.kind == Kind::Matrix || lane.is_read_row() && is_kept(&lane));
        out.line("");
        out.line(format!("static constexpr bool kMayShift = {may_shift};  // no Row is written or read from memory"));
        out.line("// Whether vectors of all matrices are aligned at the same columns.");
        out.line(format!("{FUNCTION} bool is_alike(const Args& args) {{"));
        out.line("bool is_alike = true;");
        let with_ld = |lane: &Lane<'_>| format!("{}, args.{}", address(lane.operand), leading(&lane.operand.name));
        let leader = self.leader().as_ref().map(with_ld).unwrap_or_default();
        for lane in lanes::of(self.body).filter(|lane| lane.operand.kind == Kind::Matrix) {
            out.line(format!("is_alike &= autokernel::rows::is_alike<kVector>({leader}, {});", with_ld(&lane)));
        }
        out.line("return is_alike;");
        out.line("}");
    }

    /// The matrix whose alignment the vectors follow: of the narrowest elements, as their rows begin anywhere.
    fn leader(&self) -> Option<Lane<'_>> {
        let matrices = lanes::of(self.body).filter(|lane| lane.operand.kind == Kind::Matrix);
        // One whose vectors lie where they are read.
        matrices.min_by_key(|lane| (!lane.columns.are_same(), lane.row.is_some(), lane.dtype().bytes()))
    }
}
