//! A body on the score as kernels compute it: what is the same for a head or linear in the key is taken out of what each score costs.
//!
//! Weights are `2^(log2(e) · factor · (u − max u))` of scores `factor · u`, so that the factor costs nothing. Where `u` is the sum of
//! products and something added to it, sums of products begin at that, which costs what it does and no more.

pub mod ball;
mod coefficient;
mod level;
mod slope;

use self::coefficient::Coefficient;
use self::level::{Level, Levels};
use self::slope::slope;
use super::score::{SCALE, SCORE, Score};
use crate::expr::{BinaryOp, Binding, Condition, Expr, Math};

/// Bodies of more operations, with each `let` put in where it is read, are computed as they are written.
const MOST_OPERATIONS: u64 = 2000;

/// A body by what is computed how often.
#[derive(Clone, Debug, PartialEq)]
pub struct Lowered {
    /// What is the same for a head.
    pub heads: Vec<Expr>,
    /// What is linear in the key.
    pub lines: Vec<Line>,
    /// What is computed for each score and read more than once, in order.
    pub bindings: Vec<Binding>,
    /// What scores are multiples of, positive, and the same for a launch.
    pub factor: Expr,
    /// At what sums of products begin, where they do not at zero.
    pub begin: Option<Expr>,
    /// The score over the factor; `score` itself where the sum of products is that.
    pub value: Expr,
}

/// Something linear in the key.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its value at a key.
    pub base: Expr,
    /// What it grows by to the next.
    pub step: Expr,
    /// Whether that is the same for a head.
    pub step_is_of_head: bool,
}

/// What a name of a lowered expression stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameOf {
    /// What it is in the body.
    Body,
    /// One of `heads`.
    Head(usize),
    /// One of `lines`.
    Line(usize),
}

/// In no name of a body.
const OF_HEAD: char = '/';
const OF_LINE: char = '+';

/// What a name stands for.
pub fn name_of(name: &str) -> NameOf {
    let number = |prefix| name.strip_prefix(prefix).and_then(|number: &str| number.parse().ok());
    number(OF_HEAD).map(NameOf::Head).or_else(|| number(OF_LINE).map(NameOf::Line)).unwrap_or(NameOf::Body)
}

impl Lowered {
    /// Whether each score is more than the sum of products.
    pub fn changes(&self) -> bool {
        self.value != Expr::Variable(SCORE.to_owned())
    }

    /// Whether scores over the factor are from -1 to 1, whatever the operands are.
    pub fn is_bounded(&self) -> bool {
        matches!(self.value, Expr::Call(Math::Tanh, _))
    }

    /// What the sum of products is multiplied by where the score over the factor is the tanh of that.
    pub fn steepness(&self) -> Option<Expr> {
        let Expr::Call(Math::Tanh, args) = &self.value else { return None };
        let is_score = |expr: &Expr| *expr == Expr::Variable(SCORE.to_owned());
        let of_head = |expr: &Expr| match expr {
            Expr::Variable(name) => matches!(name_of(name), NameOf::Head(_)),
            Expr::Literal(_) => true,
            _ => false,
        };
        match args.first()? {
            arg if is_score(arg) => Some(Expr::Literal(1.0)),
            Expr::Binary(BinaryOp::Multiply, left, right) if is_score(left) && of_head(right) => {
                Some((**right).clone())
            }
            Expr::Binary(BinaryOp::Multiply, left, right) if is_score(right) && of_head(left) => Some((**left).clone()),
            _ => None,
        }
    }

    /// What sums of products begin at grows by so much from key to key, where that is all that becomes of them and the same for a head.
    pub fn step(&self) -> Option<&Expr> {
        let Some(Expr::Variable(name)) = &self.begin else { return None };
        let NameOf::Line(at) = name_of(name) else { return None };
        let line = &self.lines[at];
        (line.step_is_of_head && !self.changes()).then_some(&line.step)
    }

    /// Those of the bindings that `expr` needs.
    pub fn needed_by(&self, expr: &Expr) -> Vec<&Binding> {
        let mut names = expr.variables();
        let mut needed: Vec<&Binding> = Vec::new();
        for binding in self.bindings.iter().rev() {
            if names.contains(&binding.name.as_str()) {
                names.extend(binding.value.variables());
                needed.push(binding);
            }
        }
        needed.reverse();
        needed
    }
}

/// The body `score` of scores that are multiplied by `scale` without one.
pub fn lower(score: &Score, scale: f32) -> Lowered {
    let mut levels = Levels::new(score);
    let score = &scaled(score, scale);
    let Some((bindings, value)) = put_in(score, &mut levels) else {
        return as_written(score);
    };
    let mut lowering = Lowering { levels, heads: Vec::new(), lines: Vec::new() };
    let bindings = bindings
        .into_iter()
        .map(|Binding { name, value }| Binding { name, value: lowering.by(&value, Coefficient::ONE) })
        .collect();
    let (factor, value) = lowering.parted(&value);
    let (begin, value) = lowering.begun(value);
    let Lowering { heads, lines, .. } = lowering;
    Lowered { heads, lines, bindings, factor, begin, value }
}

/// With the scale as the number that it is.
fn scaled(score: &Score, scale: f32) -> Score {
    let of_scale = |name: &str| (name == SCALE).then_some(Expr::Literal(scale));
    let bindings = score.bindings.iter();
    let bindings =
        bindings.map(|it| Binding { name: it.name.clone(), value: replaced(&it.value, &of_scale) }).collect();
    Score { operands: score.operands.clone(), bindings, value: replaced(&score.value, &of_scale) }
}

fn as_written(score: &Score) -> Lowered {
    let Score { bindings, value, .. } = score.clone();
    Lowered { heads: Vec::new(), lines: Vec::new(), bindings, factor: Expr::Literal(1.0), begin: None, value }
}

/// The body with each `let` where it is read, but for those that several read and that each score has its own of. None of a body that
/// would be too long.
fn put_in(score: &Score, levels: &mut Levels) -> Option<(Vec<Binding>, Expr)> {
    let reads = |name: &str| score.expressions().flat_map(Expr::variables).filter(|read| *read == name).count();
    let (mut kept, mut put): (Vec<Binding>, Vec<(&str, Expr, u64)>) = (Vec::new(), Vec::new());
    let with = |expr: &Expr, put: &[(&str, Expr, u64)]| {
        let of = |name: &&str| put.iter().find(|(own, ..)| own == name);
        let names = expr.variables();
        let operations = names.iter().filter_map(of).map(|(.., operations)| *operations);
        let operations = operations.fold(u64::from(expr.operations()), u64::saturating_add);
        (operations <= MOST_OPERATIONS)
            .then(|| (replaced(expr, &|name| of(&name).map(|(_, value, _)| value.clone())), operations))
    };
    for Binding { name, value } in &score.bindings {
        let (value, operations) = with(value, &put)?;
        if levels.of(&value) >= Level::Key && reads(name) > 1 && operations > 0 {
            levels.bind(name, &value);
            kept.push(Binding { name: name.clone(), value });
        } else {
            put.push((name, value, operations));
        }
    }
    let (value, _) = with(&score.value, &put)?;
    Some((kept, value))
}

fn replaced(expr: &Expr, value: &impl Fn(&str) -> Option<Expr>) -> Expr {
    match expr {
        Expr::Variable(name) => value(name).unwrap_or_else(|| expr.clone()),
        other => other.map_children(&mut |child| replaced(child, value)),
    }
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary(op, Box::new(left), Box::new(right))
}

struct Lowering {
    levels: Levels,
    heads: Vec<Expr>,
    lines: Vec<Line>,
}

impl Lowering {
    /// The factor of a score, and the score over it.
    fn parted(&mut self, value: &Expr) -> (Expr, Expr) {
        if let Some(unit) = self.unit(value).map(|unit| unit as f32).filter(|unit| unit.is_normal() && *unit > 0.0) {
            let by = Coefficient::of(1.0 / f64::from(unit));
            return (Expr::Literal(unit), self.by(value, by));
        }
        if let Some((coefficient, arg)) = self.capped(value, Coefficient::ONE) {
            if coefficient.is_constant() && coefficient.constant > 0.0 {
                return (coefficient.number(), self.tanh(arg, Coefficient::ONE));
            }
            let (size, sign) = coefficient.size_and_sign();
            // Not zero, by which a score of -inf would be no number.
            let size = Expr::Call(Math::Max, vec![size, Expr::Literal(f32::MIN_POSITIVE)]);
            return (size, self.tanh(arg, Coefficient::ONE.times(&sign)));
        }
        (Expr::Literal(1.0), self.by(value, Coefficient::ONE))
    }

    /// What the sum of products is multiplied by, where that is a constant.
    fn unit(&self, value: &Expr) -> Option<f64> {
        let constant = |expr: &Expr| {
            let coefficient = Coefficient::ONE.times(expr);
            coefficient.is_constant().then_some(coefficient.constant)
        };
        match value {
            Expr::Variable(name) => (name == SCORE).then_some(1.0),
            Expr::Binary(BinaryOp::Multiply, left, right) => match (constant(left), constant(right)) {
                (Some(factor), _) => Some(factor * self.unit(right)?),
                (_, Some(factor)) => Some(self.unit(left)? * factor),
                _ => None,
            },
            Expr::Binary(BinaryOp::Divide, left, right) => Some(self.unit(left)? / constant(right)?),
            Expr::Binary(BinaryOp::Add | BinaryOp::Subtract, left, right) if !self.levels.has_score(right) => {
                self.unit(left)
            }
            Expr::Binary(BinaryOp::Add, left, right) if !self.levels.has_score(left) => self.unit(right),
            Expr::If(_, then, otherwise) => self.unit(then).or_else(|| self.unit(otherwise)),
            _ => None,
        }
    }

    /// What is the same for a launch, and `x`, of a product with `tanh(x)`.
    fn capped<'e>(&self, value: &'e Expr, by: Coefficient) -> Option<(Coefficient, &'e Expr)> {
        let of_launch = |expr: &Expr| self.levels.of(expr) <= Level::Launch;
        match value {
            Expr::Negate(value) => self.capped(value, by.negated()),
            Expr::Binary(BinaryOp::Multiply, left, right) if of_launch(left) => self.capped(right, by.times(left)),
            Expr::Binary(BinaryOp::Multiply, left, right) if of_launch(right) => self.capped(left, by.times(right)),
            Expr::Binary(BinaryOp::Divide, left, right) if of_launch(right) => self.capped(left, by.over(right)),
            Expr::Call(Math::Tanh, args) => Some((by, &args[0])),
            _ => None,
        }
    }

    fn tanh(&mut self, arg: &Expr, by: Coefficient) -> Expr {
        Expr::Call(Math::Tanh, vec![self.by(arg, by)])
    }

    /// At what sums of products begin, and what is made of them then.
    fn begun(&self, value: Expr) -> (Option<Expr>, Expr) {
        let score = Expr::Variable(SCORE.to_owned());
        match value {
            Expr::Binary(BinaryOp::Add, left, right) if *left == score && !self.levels.has_score(&right) => {
                (Some(*right), score)
            }
            other => (None, other),
        }
    }

    /// `expr` multiplied by `by`, which goes to what is the same for a head wherever it can.
    fn by(&mut self, expr: &Expr, by: Coefficient) -> Expr {
        let level = self.levels.of(expr);
        if level <= Level::Head {
            return self.of_head(by.times(expr));
        }
        if level == Level::Row {
            return self.product(expr.clone(), by);
        }
        if !self.levels.has_score(expr) {
            let levels = &self.levels;
            if let Some(step) = slope(expr, level::KEY, &|expr| levels.of(expr) <= Level::Row) {
                return self.linear(expr, step, by);
            }
        }
        let is_of_head = |expr: &Expr| self.levels.of(expr) <= Level::Head;
        match expr {
            Expr::Negate(value) => self.by(value, by.negated()),
            Expr::Binary(BinaryOp::Add | BinaryOp::Subtract, ..) => self.sum(expr, by),
            Expr::Binary(BinaryOp::Multiply, left, right) if is_of_head(left) => self.by(right, by.times(left)),
            Expr::Binary(BinaryOp::Multiply, left, right) if is_of_head(right) => self.by(left, by.times(right)),
            Expr::Binary(BinaryOp::Divide, left, right) if is_of_head(right) => self.by(left, by.over(right)),
            Expr::Binary(op, left, right) => {
                let left = self.by(left, by);
                binary(*op, left, self.by(right, Coefficient::ONE))
            }
            Expr::If(condition, then, otherwise) => {
                let condition = self.condition(condition);
                let (then, otherwise) = (self.by(then, by.clone()), self.by(otherwise, by));
                Expr::If(Box::new(condition), Box::new(then), Box::new(otherwise))
            }
            Expr::Call(Math::MulAdd, args) => {
                let [left, right, added] = &args[..] else { unreachable!("it takes three") };
                let product = binary(BinaryOp::Multiply, left.clone(), right.clone());
                self.by(&binary(BinaryOp::Add, product, added.clone()), by)
            }
            leaf_or_call => {
                let own = leaf_or_call.map_children(&mut |arg| self.by(arg, Coefficient::ONE));
                self.product(own, by)
            }
        }
    }

    /// Of a sum: what the score is in, and behind it all that it is not, together.
    fn sum(&mut self, expr: &Expr, by: Coefficient) -> Expr {
        let mut addends = Vec::new();
        collect(expr, false, &mut addends);
        let (scored, free): (Vec<_>, Vec<_>) =
            addends.into_iter().partition(|(_, addend)| self.levels.has_score(addend));
        let free = sum_of(free);
        if scored.is_empty() {
            // Nothing to put apart; each addend by itself, as they are not linear together.
            let Expr::Binary(op, left, right) = expr else { unreachable!("a sum") };
            let left = self.by(left, by.clone());
            return binary(*op, left, self.by(right, by));
        }
        let scored = scored.into_iter().map(|(is_negative, addend)| {
            let by = if is_negative { by.clone().negated() } else { by.clone() };
            self.by(addend, by)
        });
        let scored = scored.collect::<Vec<_>>().into_iter().reduce(|a, b| binary(BinaryOp::Add, a, b));
        let free = free.map(|free| self.by(&free, by));
        [scored, free].into_iter().flatten().reduce(|a, b| binary(BinaryOp::Add, a, b)).expect("addends")
    }

    /// Numbers that are compared are what the body's text gives, bit by bit: which side of a boundary a key is on must not depend on
    /// where in a block it stands. Whole numbers are that in any order.
    fn condition(&mut self, condition: &Condition) -> Condition {
        condition.map_numbers(&mut |number| self.compared(number))
    }

    fn compared(&mut self, number: &Expr) -> Expr {
        if is_whole(number) {
            return self.by(number, Coefficient::ONE);
        }
        number.map_children(&mut |part| self.compared(part))
    }

    /// What is the same for a head, computed once for it.
    fn of_head(&mut self, value: Coefficient) -> Expr {
        let number = value.number();
        if matches!(number, Expr::Literal(_)) || matches!(&number, Expr::Variable(_)) {
            return number;
        }
        let at = position(&mut self.heads, number);
        Expr::Variable(format!("{OF_HEAD}{at}"))
    }

    fn product(&mut self, value: Expr, by: Coefficient) -> Expr {
        if by.is_one() { value } else { binary(BinaryOp::Multiply, value, self.of_head(by)) }
    }

    fn linear(&mut self, expr: &Expr, step: Expr, by: Coefficient) -> Expr {
        let base = self.product(expr.clone(), by.clone());
        let step_is_of_head = self.levels.of(&step) <= Level::Head;
        let step = if step_is_of_head { self.of_head(by.times(&step)) } else { self.product(step, by) };
        let at = position(&mut self.lines, Line { base, step, step_is_of_head });
        Expr::Variable(format!("{OF_LINE}{at}"))
    }
}

/// Whether a number is whole, and small enough that sums of it are exact.
fn is_whole(expr: &Expr) -> bool {
    const MOST: f32 = 65_536.0;
    match expr {
        Expr::Variable(name) => name == level::KEY || name == level::QUERY,
        Expr::Literal(value) => value.fract() == 0.0 && value.abs() <= MOST,
        Expr::Negate(value) => is_whole(value),
        Expr::Binary(BinaryOp::Add | BinaryOp::Subtract, left, right) => is_whole(left) && is_whole(right),
        _ => false,
    }
}

fn position<T: PartialEq>(all: &mut Vec<T>, one: T) -> usize {
    all.iter().position(|other| *other == one).unwrap_or_else(|| {
        all.push(one);
        all.len() - 1
    })
}

/// The addends of a sum, each with whether it is subtracted.
fn collect<'e>(expr: &'e Expr, is_negative: bool, addends: &mut Vec<(bool, &'e Expr)>) {
    match expr {
        Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Subtract), left, right) => {
            collect(left, is_negative, addends);
            collect(right, is_negative != (*op == BinaryOp::Subtract), addends);
        }
        other => addends.push((is_negative, other)),
    }
}

fn sum_of(addends: Vec<(bool, &Expr)>) -> Option<Expr> {
    addends.into_iter().fold(None, |sum, (is_negative, addend)| {
        let addend = addend.clone();
        Some(match (sum, is_negative) {
            (Some(sum), true) => binary(BinaryOp::Subtract, sum, addend),
            (Some(sum), false) => binary(BinaryOp::Add, sum, addend),
            (None, true) => Expr::Negate(Box::new(addend)),
            (None, false) => addend,
        })
    })
}

#[cfg(test)]
mod tests;
