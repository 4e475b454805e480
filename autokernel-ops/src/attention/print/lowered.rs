//! The functions of a body by what is computed how often.

use std::fmt::Write;

use super::operands::{fields, floats, kind_of, of_launch, operands};
use crate::attention::lower::{Line, Lowered, NameOf, name_of};
use crate::attention::score::{Kind, Score};
use crate::body::cuda::element;
use crate::expr::Expr;
use crate::expr::cuda::Spelling;

/// What sums of products begin at grows by from key to key.
const STEP: &str = "step";
/// How far the first column's key lies behind a query.
const DISTANCE: &str = "distance";

/// In which function a name is read.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Launch,
    Head,
    Row,
    Score,
}

/// What a head, a row and a score need, and what scores are multiples of.
pub fn functions(score: &Score, lowered: &Lowered, spelling: Spelling) -> String {
    let printer = Printer { score, lowered, spelling };
    [printer.of_head(), printer.of_row(), printer.factor(), printer.cap(), printer.begin(), printer.change()].concat()
}

struct Printer<'p> {
    score: &'p Score,
    lowered: &'p Lowered,
    spelling: Spelling,
}

impl Printer<'_> {
    fn of_head(&self) -> String {
        let values = || (0..self.lowered.heads.len()).map(value);
        let step = self.lowered.step();
        let mut text = format!(
            "\n  // What the scores of a head need beside themselves.\n  \
             struct OfHead {{{}{} }};\n  \
             template <typename Args>\n  \
             __device__ __forceinline__ static OfHead of_head(const Args& args, float batch_, float head_, int head) {{\n    \
             OfHead of_head{{{}}};\n",
            fields(self.score),
            floats(values().chain(step.map(|_| STEP.to_owned()))),
            operands(self.score),
        );
        for (number, name) in self.lowered.heads.iter().zip(values()) {
            line(&mut text, &format!("of_head.{name} = {};", self.number(number, Place::Head)));
        }
        if let Some(step) = step {
            line(&mut text, &format!("of_head.{STEP} = {};  // from key to key", self.number(step, Place::Head)));
        }
        text + "    return of_head;\n  }\n"
    }

    fn of_row(&self) -> String {
        let lines = || self.lowered.lines.iter().enumerate();
        let names = ["batch", "head", "query", "key"].map(element);
        let fields = lines().flat_map(|(at, line)| [Some(base(at)), is_of_row(line).then(|| step(at))]).flatten();
        let values = lines().flat_map(|(_, line)| [Some(&line.base), is_of_row(line).then_some(&line.step)]).flatten();
        let values = values.map(|value| self.number(value, Place::Row));
        let (distance, of_distance) = match self.score.has_distances() {
            true => (format!(" int {DISTANCE};"), Some("static_cast<int>(key_ - query_)".to_owned())),
            false => (String::new(), None),
        };
        format!(
            "\n  // What those of a query need, for columns that begin at a key.\n  \
             struct OfRow {{{}{distance} }};\n  \
             __device__ __forceinline__ static OfRow of_row(const OfHead& of_head, float batch_, float head_, float query_, \
             float key_) {{\n    \
             return {{{}}};\n  }}\n",
            floats(names.iter().cloned().chain(fields)),
            names.iter().cloned().chain(values).chain(of_distance).collect::<Vec<_>>().join(", "),
        )
    }

    fn factor(&self) -> String {
        let factor = self.number(&self.lowered.factor, Place::Launch);
        format!(
            "\n  // What scores are multiples of, and whether by numbers from -1 to 1.\n  \
             template <typename Args>\n  \
             __device__ __forceinline__ static float factor(const Args& args) {{\n    return {factor};\n  }}\n  \
             static constexpr bool kBounded = {};\n",
            self.lowered.is_bounded()
        )
    }

    fn cap(&self) -> String {
        let Some(steepness) = self.lowered.steepness() else {
            return "  static constexpr bool kCapped = false;\n".to_owned();
        };
        format!(
            "  // The tanh of so many times the sum of products.\n  \
             static constexpr bool kCapped = true;\n  \
             __device__ __forceinline__ static float steepness(const OfHead& of_head) {{\n    return {};\n  }}\n",
            self.number(&steepness, Place::Score)
        )
    }

    fn begin(&self) -> String {
        let Some(begin) = &self.lowered.begin else {
            return "\n  static constexpr bool kBegins = false;\n".to_owned();
        };
        format!(
            "\n  // At what sums of products begin.\n  \
             static constexpr bool kBegins = true;\n  \
             __device__ __forceinline__ static float begin(const OfHead& of_head, const OfRow& of_row, float column) {{\n{}  }}\n",
            self.returned(begin)
        )
    }

    fn change(&self) -> String {
        if !self.lowered.changes() {
            return "  static constexpr bool kChanges = false;  // what they are then\n".to_owned();
        }
        format!(
            "\n  // What a score is of the factor.\n  \
             static constexpr bool kChanges = true;\n  \
             __device__ __forceinline__ static float score(const OfHead& of_head, const OfRow& of_row, float score_, float column) \
             {{\n{}  }}\n",
            self.returned(&self.lowered.value)
        )
    }

    /// The lines of a function that gives `expr`.
    fn returned(&self, expr: &Expr) -> String {
        let mut text = String::new();
        for binding in self.lowered.needed_by(expr) {
            let value = self.number(&binding.value, Place::Score);
            line(&mut text, &format!("const float {} = {value};", element(&binding.name)));
        }
        line(&mut text, &format!("return {};", self.number(expr, Place::Score)));
        text
    }

    fn number(&self, expr: &Expr, place: Place) -> String {
        self.spelling.number(&expr.renamed(&|name| self.name(name, place)))
    }

    fn name(&self, name: &str, place: Place) -> String {
        match name_of(name) {
            NameOf::Head(at) => format!("of_head.{}", value(at)),
            NameOf::Line(at) => {
                let of = &self.lowered.lines[at];
                let step = if is_of_row(of) { format!("of_row.{}", step(at)) } else { self.number(&of.step, place) };
                format!("fmaf({step}, column, of_row.{})", base(at))
            }
            NameOf::Body => match (name, place) {
                _ if kind_of(self.score, name).is_some() => self.operand(name, place),
                ("key", Place::Score) => "(of_row.key_ + column)".to_owned(),
                ("batch" | "head" | "query", Place::Score) => format!("of_row.{}", element(name)),
                _ => element(name),
            },
        }
    }

    fn operand(&self, name: &str, place: Place) -> String {
        let at = self.score.operands.iter().position(|operand| operand.name == name).unwrap_or_default();
        match (self.score.operands[at].kind, place) {
            (kind, Place::Launch) => of_launch(at as u8, kind),
            // Columns are constants.
            (Kind::PerDistance, _) => {
                format!("of_head.{}.at(of_row.{DISTANCE} + static_cast<int>(column))", element(name))
            }
            _ => format!("of_head.{}", element(name)),
        }
    }
}

/// Whether rows have steps of their own.
fn is_of_row(line: &Line) -> bool {
    !line.step_is_of_head
}

fn value(at: usize) -> String {
    format!("value{at}")
}

fn base(at: usize) -> String {
    format!("base{at}")
}

fn step(at: usize) -> String {
    format!("step{at}")
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "    {line}").expect("strings take any text");
}
