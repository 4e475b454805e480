//! Random expressions of the language of bodies.

use std::collections::BTreeSet;

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// A name in scope.
#[derive(Clone)]
pub struct Name {
    pub text: String,
    /// Whether it differs along a row.
    pub varies: bool,
}

/// A function of the crate's own.
#[derive(Clone)]
pub struct Helper {
    pub name: String,
    pub arity: usize,
}

/// What an expression may be made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    Any,
    /// What is the same for all elements of a row.
    OfRow,
}

/// An expression.
pub struct Number {
    pub text: String,
    /// Whether it differs along a row.
    pub varies: bool,
}

/// Operators of one operand, each in a domain where it has a value.
const METHODS: [&str; 13] =
    ["abs", "exp", "ln", "sqrt", "tanh", "sin", "cos", "recip", "powi", "clamp", "floor", "ceil", "trunc"];
const EXPONENTS: [&str; 5] = ["2", "3", "-1", "5", "0"];
/// Functions of one operand.
const FUNCTIONS: [&str; 8] = ["erf", "identity", "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid"];
const REDUCTIONS: [&str; 4] = ["row_sum", "row_mean", "row_max", "row_min"];
const NUMBERS: [&str; 14] = [
    "0.0",
    "0.5",
    "1.0",
    "2.0",
    "-1.5",
    "0.1",
    "3.0f32",
    "1e-3",
    "6.0",
    "-0.25",
    "1e-6f32",
    "0.333_333_34",
    "std::f32::consts::PI",
    "f32::EPSILON",
];
/// Whose products soon leave the range of fp32.
const EXTREMES: [&str; 6] = ["1e30", "1e-30", "-1e30", "3e38", "f32::MAX", "f32::NEG_INFINITY"];
const QUESTIONS: [&str; 3] = ["is_nan", "is_finite", "is_infinite"];
const COMPARISONS: [&str; 6] = ["<", "<=", ">", ">=", "==", "!="];

/// Writes expressions, and keeps what they may name.
pub struct Writer<'r> {
    pub rng: &'r mut StdRng,
    /// Innermost last; a later one hides an earlier one of the same text.
    names: Vec<Name>,
    /// Operands that nothing which is written has named yet.
    unread: BTreeSet<String>,
    /// Whether what is written next is what an output gets, and no value that may go nowhere.
    pub stores: bool,
    /// Reductions that may still be written.
    reductions: u32,
    /// The product, which like reductions stands in no block.
    dot: Option<String>,
    helpers: Vec<Helper>,
    /// Blocks around what is written.
    depth: u32,
    bound: u32,
    /// Whether an element stands somewhere: in a kernel, and not in a function.
    has_indices: bool,
}

impl<'r> Writer<'r> {
    pub fn new(
        rng: &'r mut StdRng,
        inputs: Vec<Name>,
        reduces: bool,
        dot: Option<String>,
        helpers: Vec<Helper>,
    ) -> Self {
        let read = if reduces { BTreeSet::new() } else { inputs.iter().map(|name| name.text.clone()).collect() };
        let unread = read.into_iter().chain(dot.clone()).collect();
        let reductions = if reduces { rng.random_range(0..5) } else { 0 };
        let has_indices = reduces || dot.is_some();
        Writer { has_indices, rng, names: inputs, unread, stores: false, reductions, dot, helpers, depth: 0, bound: 0 }
    }

    /// The operands that nothing reads so far.
    pub fn forgotten(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.unread)
    }

    /// `let name = …;` or `const NAME: f32 = …;`
    pub fn binding(&mut self) -> String {
        if self.rng.random_ratio(1, 10) {
            let (name, value) = (self.fresh("LIMIT"), self.literal());
            self.names.push(Name { text: name.clone(), varies: false });
            return format!("const {name}: f32 = {value};");
        }
        let size = self.rng.random_range(1..5);
        let value = self.number(size, Allowed::Any);
        let name = self.name_to_bind();
        let ty = if self.rng.random() { ": f32" } else { "" };
        self.names.push(Name { text: name.clone(), varies: value.varies });
        format!("let {name}{ty} = {};", value.text)
    }

    /// A new name, or one that hides another; not of an operand that nobody has read.
    fn name_to_bind(&mut self) -> String {
        let hidden = self.visible(Allowed::Any).choose(self.rng).cloned();
        match hidden {
            Some(Name { text, .. }) if self.rng.random_ratio(1, 4) && self.may_be_hidden(&text) => text,
            _ => self.fresh("value"),
        }
    }

    fn may_be_hidden(&self, text: &str) -> bool {
        // An index and what it picks are the operands', whatever else has their names.
        let is_picked = text.contains(['[', '('])
            || text == super::INDEX
            || self
                .names
                .iter()
                .any(|it| it.text.starts_with(&format!("{text}[")) || it.text.contains(&format!("({text},")));
        !self.unread.contains(text) && !text.starts_with("dot(") && !text.starts_with("LIMIT") && !is_picked
    }

    fn fresh(&mut self, stem: &str) -> String {
        self.bound += 1;
        format!("{stem}{}", self.bound)
    }

    /// What may be named here, each once.
    fn visible(&self, allowed: Allowed) -> Vec<Name> {
        let mut seen = BTreeSet::new();
        let names = self.names.iter().rev().filter(|name| seen.insert(name.text.clone()));
        let mut names: Vec<Name> = names.filter(|name| allowed == Allowed::Any || !name.varies).cloned().collect();
        if self.depth == 0 {
            names.extend(self.dot.iter().map(|text| Name { text: text.clone(), varies: true }));
        }
        names
    }

    /// An expression of about so many operations on its longest way.
    pub fn number(&mut self, size: u32, allowed: Allowed) -> Number {
        if size == 0 {
            return self.leaf(allowed);
        }
        match self.rng.random_range(0..100) {
            0..34 => self.binary(size, allowed),
            34..38 => self.map(size, allowed, |_, value| format!("-{value}")),
            38..56 => self.method(size, allowed),
            56..63 => self.two(size, allowed, |writer, left, right| {
                let method = if writer.rng.random() { "max" } else { "min" };
                format!("{left}.{method}({right})")
            }),
            63..67 => self.mul_add(size, allowed),
            67..77 => self.function(size, allowed),
            77..87 => self.branch(size, allowed),
            87..90 => self.in_block(|writer| writer.block(size, allowed)),
            90..100 if self.depth == 0 && self.reductions > 0 => self.reduction(size),
            _ => self.leaf(allowed),
        }
    }

    fn leaf(&mut self, allowed: Allowed) -> Number {
        let names = self.visible(allowed);
        match names.choose(self.rng) {
            Some(name) if self.rng.random_ratio(5, 6) => {
                if self.stores {
                    self.unread.remove(&name.text);
                }
                Number { text: name.text.clone(), varies: name.varies }
            }
            _ if self.has_indices && self.rng.random_ratio(1, 3) => self.index(allowed),
            _ => Number { text: self.literal(), varies: false },
        }
    }

    fn index(&mut self, allowed: Allowed) -> Number {
        if self.rng.random_ratio(1, 4) {
            return Number { text: if self.rng.random() { "columns()" } else { "rows()" }.to_owned(), varies: false };
        }
        let varies = allowed == Allowed::Any && self.rng.random();
        Number { text: if varies { "column_index()" } else { "row_index()" }.to_owned(), varies }
    }

    fn literal(&mut self) -> String {
        let of = if self.rng.random_ratio(1, 25) { &EXTREMES[..] } else { &NUMBERS[..] };
        (*of.choose(self.rng).expect("there are some")).to_owned()
    }

    /// An operand of an operator or method, in parentheses.
    fn operand(&mut self, size: u32, allowed: Allowed) -> Number {
        let Number { text, varies } = self.number(size, allowed);
        let is_plain = text.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == '#');
        let is_number = text.starts_with(|letter: char| letter.is_ascii_digit());
        Number { text: if is_plain && !is_number { text } else { format!("({text})") }, varies }
    }

    /// A side of `+ - * /`, at times without parentheses, so that the text's own order of operations counts.
    fn side(&mut self, size: u32, allowed: Allowed) -> Number {
        let number = self.number(size, allowed);
        let needs_parentheses = number.text.starts_with(['-', '{']) || number.text.starts_with("if ");
        if !needs_parentheses && self.rng.random_ratio(1, 3) {
            return number;
        }
        Number { text: format!("({})", number.text), ..number }
    }

    fn map(&mut self, size: u32, allowed: Allowed, write: impl FnOnce(&mut Self, &str) -> String) -> Number {
        let Number { text, varies } = self.operand(size - 1, allowed);
        Number { text: write(self, &text), varies }
    }

    fn two(&mut self, size: u32, allowed: Allowed, write: impl FnOnce(&mut Self, &str, &str) -> String) -> Number {
        let shorter = self.rng.random_range(0..size);
        let (left, right) = (self.operand(size - 1, allowed), self.operand(shorter, allowed));
        Number { text: write(self, &left.text, &right.text), varies: left.varies || right.varies }
    }

    fn binary(&mut self, size: u32, allowed: Allowed) -> Number {
        let shorter = self.rng.random_range(0..size);
        let (left, right) = (self.side(size - 1, allowed), self.side(shorter, allowed));
        let varies = left.varies || right.varies;
        let (left, right) = (left.text, right.text);
        let text = match self.rng.random_range(0..13) {
            12 => format!("{left} % (({right}).abs() + 0.5)"),
            0..4 => format!("{left} + {right}"),
            4..7 => format!("{left} - {right}"),
            7..10 => format!("{left} * {right}"),
            10 => format!("{left} / {right}"),
            _ => format!("{left} / (({right}).abs() + 0.5)"),
        };
        Number { text, varies }
    }

    /// Mostly where it has a value of moderate size.
    fn method(&mut self, size: u32, allowed: Allowed) -> Number {
        let method = *METHODS.choose(self.rng).expect("there are some");
        let is_guarded = self.rng.random_ratio(3, 4);
        self.map(size, allowed, |writer, value| match method {
            "powi" => format!("{value}.powi({})", EXPONENTS.choose(writer.rng).expect("there are some")),
            "clamp" => format!("{value}.clamp(-2.0, 1.5)"),
            "exp" if is_guarded => format!("{value}.min(3.0).exp()"),
            "ln" | "recip" if is_guarded => format!("({value}.abs() + 0.25).{method}()"),
            "sqrt" if is_guarded => format!("{value}.abs().sqrt()"),
            method => format!("{value}.{method}()"),
        })
    }

    fn mul_add(&mut self, size: u32, allowed: Allowed) -> Number {
        let added = self.number(0, allowed);
        let product = self.two(size, allowed, |_, left, right| format!("{left}.mul_add({right}, {})", added.text));
        Number { varies: product.varies || added.varies, ..product }
    }

    fn function(&mut self, size: u32, allowed: Allowed) -> Number {
        let helper = self.helpers.choose(self.rng).cloned();
        if let Some(Helper { name, arity }) = helper.filter(|_| self.rng.random_ratio(2, 3)) {
            let arguments: Vec<Number> = (0..arity).map(|_| self.number(size - 1, allowed)).collect();
            let texts: Vec<&str> = arguments.iter().map(|argument| argument.text.as_str()).collect();
            let varies = arguments.iter().any(|argument| argument.varies);
            return Number { text: format!("{name}({})", texts.join(", ")), varies };
        }
        let Number { text, varies } = self.number(size - 1, allowed);
        let text = match self.rng.random_range(0..9) {
            8 => format!("leaky_relu({text}, 0.2)"),
            at => format!("{}({text})", FUNCTIONS[at]),
        };
        Number { text, varies }
    }

    fn reduction(&mut self, size: u32) -> Number {
        self.reductions -= 1;
        let mut of = self.number(size - 1, Allowed::Any);
        if !of.varies {
            let names: Vec<Name> = self.visible(Allowed::Any).into_iter().filter(|name| name.varies).collect();
            let Some(name) = names.choose(self.rng) else { return of };
            of.text = format!("({}) + {}", of.text, name.text);
        }
        let reduction = REDUCTIONS.choose(self.rng).expect("there are some");
        Number { text: format!("{reduction}({})", of.text), varies: false }
    }

    fn in_block(&mut self, write: impl FnOnce(&mut Self) -> Number) -> Number {
        let names = self.names.len();
        self.depth += 1;
        let written = write(self);
        self.depth -= 1;
        self.names.truncate(names);
        written
    }

    /// `{ let …; … }`
    fn block(&mut self, size: u32, allowed: Allowed) -> Number {
        let mut statements = String::new();
        if self.rng.random_ratio(1, 3) {
            let stores = std::mem::take(&mut self.stores);
            let value = self.number(size - 1, allowed);
            self.stores = stores;
            let name = self.name_to_bind();
            statements = format!("let {name} = {}; ", value.text);
            self.names.push(Name { text: name, varies: value.varies });
        }
        let Number { text, varies } = self.number(size - 1, allowed);
        Number { text: format!("{{ {statements}{text} }}"), varies }
    }

    fn branch(&mut self, size: u32, allowed: Allowed) -> Number {
        let condition = self.condition(2, allowed);
        let then = self.in_block(|writer| writer.block(size, allowed));
        let otherwise = if size > 1 && self.rng.random_ratio(1, 4) {
            self.in_block(|writer| writer.branch(size - 1, allowed))
        } else {
            self.in_block(|writer| writer.block(size, allowed))
        };
        let text = format!("if {} {} else {}", condition.text, then.text, otherwise.text);
        Number { text, varies: condition.varies || then.varies || otherwise.varies }
    }

    fn condition(&mut self, size: u32, allowed: Allowed) -> Number {
        match self.rng.random_range(0..6) {
            0 if size > 0 => {
                let Number { text, varies } = self.condition(size - 1, allowed);
                Number { text: format!("!({text})"), varies }
            }
            1 | 2 if size > 0 => {
                let (left, right) = (self.condition(size - 1, allowed), self.condition(size - 1, allowed));
                let op = if self.rng.random() { "&&" } else { "||" };
                Number { text: format!("({}) {op} ({})", left.text, right.text), varies: left.varies || right.varies }
            }
            3 if self.rng.random_ratio(1, 3) => self.map(2, allowed, |writer, value| {
                format!("{value}.{}()", QUESTIONS.choose(writer.rng).expect("there are some"))
            }),
            _ => self.two(2, allowed, |writer, left, right| {
                let op = COMPARISONS.choose(writer.rng).expect("there are some");
                format!("{left} {op} {right}")
            }),
        }
    }
}
