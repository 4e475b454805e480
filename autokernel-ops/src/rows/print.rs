//! CUDA's `struct Problem`, as `rows_sm80.cuh` and `rows_sm90.cuh` read it.

use super::joined::Join;
use super::lanes::{self, Lane, address, pick};
use super::passes::{Elements, Pass, Program, RowStep, Source};
use crate::body::cuda::{cuda_type, element, leading};
use crate::body::{Body, Columns, FP8, Fetch, Kind, Operand, Reduction};
use crate::expr::cuda::Spelling;
use crate::expr::{Axis, Expr, Precision};
use crate::lines::Lines;

/// Of what holds neighbouring elements: a vector, or a single one at an end of a row.
const COLUMNS: &str = "template <int kColumns>";
const FUNCTION: &str = "__device__ __forceinline__ static";

/// What a kernel's blocks bring to shared memory by bulk copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brought {
    /// Nothing: threads load what they read.
    Nothing,
    /// Nothing either, and threads request the `Row`s with the row, before they reduce anything.
    NothingAtOnce,
    /// Rows of the matrices.
    Matrices,
    /// These, and once a launch the `Row`s.
    MatricesAndRows,
}

impl Brought {
    fn is_in_shared_memory(self) -> bool {
        matches!(self, Brought::Matrices | Brought::MatricesAndRows)
    }
}

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
        settle(&mut out, join);
    }
    printer.reduce(&mut out);
    out.line("};");
    out.finish()
}

struct Printer<'p> {
    body: &'p Body,
    program: &'p Program,
    brought: Brought,
}

/// Reads an operand that the elements of a row share.
pub(super) fn of_row(operand: &Operand, to_f32: &str) -> String {
    let name = element(&operand.name);
    match operand.kind {
        Kind::Scalar => format!("row.{name} = args.{name};"),
        Kind::DeviceScalar => format!("row.{name} = {to_f32}(*{});", address(operand)),
        Kind::Index => format!("row.{name} = static_cast<float>({}[index]);", address(operand)),
        _ => format!("row.{name} = {to_f32}({}[index]);", address(operand)),
    }
}

/// The names of what is read once a row: operands that do not differ along it, and fetched ones.
pub(super) fn of_rows(body: &Body) -> impl Iterator<Item = &str> {
    let is_of_row = |operand: &&Operand| !operand.kind.varies_along_row();
    // An index is a number where an expression has it.
    let is_number = |operand: &Operand| operand.kind != Kind::Index || body.is_in_expressions(&operand.name);
    let own = body.inputs().filter(is_of_row).filter(move |it| is_number(it) && !body.has_own_axis(&it.name));
    let own = own.map(|operand| operand.name.as_str());
    let fetched = body.fetches.iter().filter(move |fetch| body.operand(&fetch.of).as_ref().is_some_and(is_of_row));
    own.chain(fetched.map(|fetch| fetch.name.as_str()))
}

/// What gives the number of the row, called `index`, its name among the row's values.
pub(super) fn row_index() -> String {
    format!("row.{} = static_cast<float>(index);", Axis::Row.name())
}

fn operation(reduction: Reduction) -> &'static str {
    match reduction {
        Reduction::Sum | Reduction::Mean => "Sum",
        Reduction::Max => "Max",
        Reduction::Min => "Min",
    }
}

/// What the joined pass does between its two reductions.
fn settle(out: &mut Lines, join: &Join) {
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

/// The name of the field that makes what a thread kept of a joined pass relative to the whole row.
fn factor(join: &Join) -> String {
    format!("{}factor", join.first)
}

impl Printer<'_> {
    /// The pair of reductions that pass `at` brings together.
    fn joined(&self, at: usize) -> Option<&Join> {
        self.program.join.as_ref().filter(|join| join.pass + 1 == at)
    }

    /// Of pass `at`, or of a joined one and the one before it, the reductions that cross the threads by themselves.
    fn reductions(&self, at: usize) -> Vec<&(String, Reduction, Expr)> {
        let join = self.joined(at);
        let passes = if join.is_some() { at - 1..=at } else { at..=at };
        let reduces = passes.filter_map(|at| self.program.passes.get(at)).flat_map(|pass| &pass.reduces);
        reduces.filter(|(name, ..)| join.is_none_or(|join| *name != join.first && *name != join.second)).collect()
    }

    /// Numbers that threads tell each other at the end of pass `at`.
    fn numbers(&self, at: usize) -> usize {
        if self.program.joins(at) {
            0
        } else {
            self.reductions(at).len() + self.joined(at).map_or(0, |it| it.pair.numbers())
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

    fn number(&self, expr: &Expr) -> String {
        Spelling::Fast(self.body.precision()).number(expr)
    }

    /// The C++ type of a number that elements are divided by. Where threads load rows of f32 themselves, a multiplication more costs
    /// nothing, and ptxas spills a register of a layer_norm without it.
    fn divisor(&self, number: &Expr) -> &'static str {
        let is_short = self.body.precision() != Precision::Full;
        if (is_short || self.brought.is_in_shared_memory()) && self.program.is_near(number) {
            "autokernel::fast_math::NearDivisor"
        } else {
            "autokernel::fast_math::Divisor"
        }
    }

    /// The `Row`s that a block reads once and keeps.
    fn kept_rows(&self) -> impl Iterator<Item = Lane<'_>> {
        lanes::of(self.body).filter(|lane| self.brought == Brought::MatricesAndRows && lane.is_read_row())
    }

    /// The `Row`s that threads request with the row: those that a pass reads.
    fn requested_rows(&self) -> impl Iterator<Item = Lane<'_>> {
        let is_read =
            |name: &str| self.program.passes.iter().any(|pass| pass.streamed.rows.iter().any(|it| it == name));
        let with_the_row = |lane: &Lane<'_>| self.brought == Brought::NothingAtOnce && lane.is_read_row();
        lanes::of(self.body).filter(move |lane| with_the_row(lane) && is_read(lane.name))
    }

    fn is_requested(&self, name: &str) -> bool {
        self.requested_rows().any(|lane| lane.name == name)
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

    fn visit_rows(&self, out: &mut Lines) {
        out.line("");
        out.line("// Calls `visit` for each Row that a block keeps.");
        out.line("template <typename Visit>");
        out.line(format!("{FUNCTION} void visit_rows(const Places& places, Visit visit) {{"));
        out.lines(self.kept_rows().map(|lane| format!("visit(places.{});", element(lane.name))));
        out.line("}");
    }

    fn structs(&self, out: &mut Lines) {
        let place = |lane: Lane<'_>| format!("{} {}", self.place_type(&lane), element(lane.name));
        let places = lanes::of(self.body).map(place).collect();
        Self::structure(out, "Where the row lies in each operand.", "Places", None, places);

        let read = self.requested();
        let packed = read.iter().map(|name| {
            format!("autokernel::rows::Packed<{}, kColumns> {}", cuda_type(self.lane(name).operand), element(name))
        });
        let about = match self.brought {
            Brought::NothingAtOnce => "A vector of each matrix and Row that is read, as it lies in memory.",
            _ => "A vector of each matrix that is read, as it lies in memory.",
        };
        Self::structure(out, about, "Inputs", Some(COLUMNS), packed.collect());

        let kept = self.program.kept.iter().map(|name| format!("float {name}[kColumns]"));
        Self::structure(out, "Elements that later passes need.", "Kept", Some(COLUMNS), kept.collect());

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
        Self::structure(out, "What the elements of a row share.", "Values", None, values);

        let reduces = self.program.passes.iter().flat_map(|pass| &pass.reduces);
        let reduces = reduces.filter(|(name, ..)| join.is_none_or(|join| *name != join.second));
        let reduces = reduces.map(|(name, reduction, _)| match join.filter(|join| *name == join.first) {
            Some(join) => format!("autokernel::rows::Joined<autokernel::rows::{}> {name}", join.pair.name()),
            None => format!("autokernel::rows::Accumulator<autokernel::rows::{}> {name}", operation(*reduction)),
        });
        Self::structure(out, "What the passes reduce.", "Reduced", None, reduces.collect());
    }

    /// The matrix whose alignment the vectors follow: of the narrowest elements, as their rows begin anywhere.
    fn leader(&self) -> Option<Lane<'_>> {
        let matrices = lanes::of(self.body).filter(|lane| lane.operand.kind == Kind::Matrix);
        // One whose vectors lie where they are read.
        matrices.min_by_key(|lane| (!lane.columns.are_same(), lane.row.is_some(), lane.dtype().bytes()))
    }

    /// The lane of that name.
    fn lane(&self, name: &str) -> Lane<'_> {
        let mut lanes = lanes::of(self.body);
        lanes.find(|lane| lane.name == name).expect("a pass reads lanes of its body")
    }

    fn places(&self, out: &mut Lines) {
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

    fn inputs(&self, out: &mut Lines) {
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

    /// What of a row threads request before they use any of it, by the lanes' names.
    fn requested(&self) -> Vec<&str> {
        let rows = self.requested_rows().map(|lane| lane.name);
        self.program.matrices(self.body).into_iter().chain(rows).collect()
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

    fn between(&self, out: &mut Lines) {
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

    fn elements(&self, out: &mut Lines) {
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
            let store = if FP8.contains(&self.lane(name).dtype()) { "store_fp8" } else { "store" };
            let name = element(name);
            format!("autokernel::rows::{store}<kIsAligned>(places.{name}, span, {name}vector);")
        }));
    }

    fn reduce(&self, out: &mut Lines) {
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

/// The value of the row called `name`, of what its threads have reduced.
fn result(name: &str, reduction: Reduction, reduced: &str) -> String {
    match reduction {
        Reduction::Mean => {
            format!("row.{name} = autokernel::fast_math::quotient({reduced}, static_cast<float>(args.columns));")
        }
        Reduction::Sum | Reduction::Max | Reduction::Min => format!("row.{name} = {reduced};"),
    }
}
