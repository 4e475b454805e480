//! From a body's steps to what is computed once a row and what is computed for each element.

use std::collections::{BTreeMap, BTreeSet};

use crate::body::cuda::element;
use crate::body::{Body, InPlace, Reduction, Step};
use crate::expr::{Axis, BinaryOp, Expr};

/// What is computed once a row.
#[derive(Clone, Debug, PartialEq)]
pub enum RowStep {
    /// A number.
    Value {
        /// Its name in CUDA, without `row.`.
        name: String,
        /// What it is.
        value: Expr,
    },
    /// A number that elements are divided by.
    Divisor {
        /// Its name in CUDA, without `row.`.
        name: String,
        /// The number.
        value: Expr,
    },
    /// An element of a column.
    Store {
        /// The output's name.
        output: String,
        /// What is written.
        value: Expr,
    },
}

/// A value of each element.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// What it is.
    pub expr: Expr,
    /// The first pass that can compute it.
    pub ready: usize,
}

/// A body whose names are those of CUDA and whose row-wise parts are values of the row.
#[derive(Clone, Debug, Default)]
pub struct Lowered {
    /// How many passes there are.
    pub passes: usize,
    /// By their names in CUDA.
    pub elements: BTreeMap<String, Element>,
    /// The names of elements, in the order of the text.
    pub order: Vec<String>,
    /// By pass: the result's name without `row.`, how, and what.
    pub reduces: Vec<(usize, (String, Reduction, Expr))>,
    /// By pass: the output's name, and its elements.
    pub stores: Vec<(usize, (String, Expr))>,
    /// What is computed once a row before each pass.
    pub between: Vec<Vec<RowStep>>,
}

pub(super) const ROW: &str = "row.";

/// Whether the CUDA name is one of a value that the elements of a row share.
pub fn is_of_row(name: &str) -> bool {
    name.starts_with(ROW)
}

/// Lowers a body without mistakes.
pub fn lower(body: &Body) -> Lowered {
    let mut lowering =
        Lowering { body, names: BTreeMap::new(), ready: BTreeMap::new(), hoisted: Vec::new(), out: Lowered::default() };
    for operand in &body.operands {
        let name = element(&operand.name);
        lowering.name(&operand.name, if operand.kind.varies_along_row() { name } else { format!("{ROW}{name}") }, 0);
    }
    for fetch in &body.fetches {
        let name = element(&fetch.name);
        let varies = body.operand(&fetch.of).is_some_and(|operand| operand.kind.varies_along_row());
        lowering.name(&fetch.name, if varies { name } else { format!("{ROW}{name}") }, 0);
    }
    for step in body.needed_steps() {
        lowering.step(step);
    }
    let mut out = lowering.out;
    out.write_over_what_no_later_pass_reads(body);
    let last_reduce = out.reduces.iter().map(|(pass, _)| pass + 1);
    let last_store = out.stores.iter().map(|(pass, _)| pass + 1);
    out.passes = last_reduce.chain(last_store).max().unwrap_or(1);
    out.between.resize(out.passes + 1, Vec::new());
    out
}

struct Lowering<'b> {
    body: &'b Body,
    /// The CUDA name of each name in scope.
    names: BTreeMap<&'b str, String>,
    /// From which pass on a CUDA name has its value.
    ready: BTreeMap<String, usize>,
    /// What was taken out of elements, so that the same is computed once: whether a divisor, what, and its CUDA name.
    hoisted: Vec<(bool, Expr, String)>,
    out: Lowered,
}

impl<'b> Lowering<'b> {
    fn name(&mut self, name: &'b str, cuda: String, ready: usize) {
        self.names.insert(name, cuda.clone());
        self.ready.insert(cuda, ready);
    }

    fn step(&mut self, step: &'b Step) {
        let expr = self.rename(step.expr());
        let along_row = varies(&expr);
        match step {
            Step::Let { name, .. } if along_row => {
                let expr = self.hoist(&expr);
                let (cuda, ready) = (element(name), self.ready_of(&expr));
                self.out.elements.insert(cuda.clone(), Element { expr, ready });
                self.out.order.push(cuda.clone());
                self.name(name, cuda, ready);
            }
            Step::Let { name, .. } => {
                let (cuda, ready) = (element(name), self.ready_of(&expr));
                self.between(ready, RowStep::Value { name: cuda.clone(), value: expr });
                self.name(name, format!("{ROW}{cuda}"), ready);
            }
            Step::Reduce { name, reduction, .. } => {
                let expr = self.hoist(&expr);
                let (cuda, pass) = (element(name), self.ready_of(&expr));
                self.out.reduces.push((pass, (cuda.clone(), *reduction, expr)));
                self.name(name, format!("{ROW}{cuda}"), pass + 1);
            }
            Step::Store { output, .. } => {
                let to_column = self.body.operand(output).is_some_and(|operand| !operand.kind.varies_along_row());
                if to_column {
                    let ready = self.ready_of(&expr);
                    self.between(ready, RowStep::Store { output: output.clone(), value: expr });
                } else {
                    let expr = self.hoist(&expr);
                    let pass = self.ready_of(&expr);
                    self.out.stores.push((pass, (output.clone(), expr)));
                }
            }
        }
    }

    /// The expression with CUDA's names.
    fn rename(&self, expr: &Expr) -> Expr {
        match expr {
            Expr::Variable(name) => Expr::Variable(self.names.get(&**name).cloned().unwrap_or_else(|| element(name))),
            Expr::Index(Axis::Row) => Expr::Variable(format!("{ROW}{}", Axis::Row.name())),
            Expr::Index(Axis::Column) => Expr::Variable(Axis::Column.name().to_owned()),
            Expr::Extent(axis) => Expr::Variable(format!("{ROW}{}", axis.count_name())),
            other => other.map_children(&mut |child| self.rename(child)),
        }
    }

    /// The expression with what is the same for all elements of a row computed once a row.
    fn hoist(&mut self, expr: &Expr) -> Expr {
        match expr {
            Expr::Variable(_) | Expr::Literal(_) | Expr::Index(_) | Expr::Extent(_) => expr.clone(),
            _ if is_row_wise(expr) => self.once_a_row(false, expr),
            Expr::Binary(BinaryOp::Divide, left, right) if is_row_wise(right) && varies(left) => {
                let divisor = self.once_a_row(true, right);
                Expr::Binary(BinaryOp::Divide, Box::new(self.hoist(left)), Box::new(divisor))
            }
            _ => expr.map_children(&mut |child| self.hoist(child)),
        }
    }

    fn once_a_row(&mut self, is_divisor: bool, expr: &Expr) -> Expr {
        let known = self.hoisted.iter().find(|(divisor, known, _)| (*divisor, known) == (is_divisor, expr));
        if let Some((.., name)) = known {
            return Expr::Variable(name.clone());
        }
        let number = self.hoisted.len();
        let ready = self.ready_of(expr);
        let value = expr.clone();
        let (name, step) = if is_divisor {
            let name = format!("divisor{number}");
            (name.clone(), RowStep::Divisor { name, value })
        } else {
            let name = format!("value{number}");
            (name.clone(), RowStep::Value { name, value })
        };
        self.between(ready, step);
        let name = format!("{ROW}{name}");
        self.ready.insert(name.clone(), ready);
        self.hoisted.push((is_divisor, expr.clone(), name.clone()));
        Expr::Variable(name)
    }

    fn between(&mut self, ready: usize, step: RowStep) {
        if self.out.between.len() <= ready {
            self.out.between.resize(ready + 1, Vec::new());
        }
        self.out.between[ready].push(step);
    }

    fn ready_of(&self, expr: &Expr) -> usize {
        let ready = expr.variables().into_iter().filter_map(|name| self.ready.get(name).copied());
        ready.max().unwrap_or(0)
    }
}

/// Whether the expression, in CUDA's names, differs along a row.
fn varies(expr: &Expr) -> bool {
    expr.variables().iter().any(|name| !is_of_row(name))
}

/// Whether it is one number a row, and no constant.
fn is_row_wise(expr: &Expr) -> bool {
    !varies(expr) && !expr.variables().is_empty()
}

impl Lowered {
    /// Puts off what is written over an input until the last pass that reads it, which may read it from memory again.
    ///
    /// A store that waits may read another output that is written over, which then has to wait for it, too.
    fn write_over_what_no_later_pass_reads(&mut self, body: &Body) {
        while body.in_place.iter().any(|place| self.put_off(place)) {}
    }

    /// Whether the store of an output had to be moved to a later pass.
    fn put_off(&mut self, InPlace { output, before }: &InPlace) -> bool {
        let last = {
            let from = self.computed_from(element(before));
            let reads = |expr: &Expr| expr.variables().into_iter().any(|name| from.contains(name));
            let reduces = self.reduces.iter().filter(|(_, (.., expr))| reads(expr)).map(|(pass, _)| *pass);
            let stores = self.stores.iter().filter(|(_, (_, expr))| reads(expr)).map(|(pass, _)| *pass);
            reduces.chain(stores).max()
        };
        let written = self.stores.iter_mut().find(|(_, (name, _))| name == output);
        match (written, last) {
            (Some((pass, _)), Some(last)) if *pass < last => {
                *pass = last;
                true
            }
            _ => false,
        }
    }

    /// The names of what is computed from that element, its own among them.
    fn computed_from(&self, element: String) -> BTreeSet<String> {
        let mut from = BTreeSet::from([element]);
        // Each name is computed from those before it.
        for name in &self.order {
            if self.elements[name].expr.variables().into_iter().any(|name| from.contains(name)) {
                from.insert(name.clone());
            }
        }
        from
    }

    /// The first pass that can compute the element of that name: 0 for an operand.
    pub fn ready(&self, name: &str) -> usize {
        self.elements.get(name).map_or(0, |value| value.ready)
    }

    /// The elements that the reductions and stores of a pass begin with.
    pub fn needs_of(&self, pass: usize) -> Vec<&str> {
        let reduced = self.reduces.iter().filter(|(of, _)| *of == pass).map(|(_, (.., expr))| expr);
        let stored = self.stores.iter().filter(|(of, _)| *of == pass).map(|(_, (_, expr))| expr);
        reduced.chain(stored).flat_map(Expr::variables).filter(|name| !is_of_row(name)).collect()
    }

    /// Operations that computing the value from operands takes, where a function counts as eight; none for an operand.
    pub fn operations<'l>(&'l self, name: &'l str, known: &mut BTreeMap<&'l str, u32>) -> Option<u32> {
        let value = self.elements.get(name)?;
        if let Some(found) = known.get(name) {
            return Some(*found);
        }
        let mut total = 0u32;
        value.expr.walk(&mut |expr| {
            total = total.saturating_add(match expr {
                Expr::Literal(_) | Expr::Index(_) | Expr::Extent(_) => 0,
                Expr::Variable(name) => self.operations(name, known).unwrap_or(0),
                Expr::Call(function, _) => 1 + 7 * function.cost().special_functions,
                Expr::Negate(_) | Expr::Binary(..) | Expr::If(..) => 1,
            });
        });
        known.insert(name, total);
        Some(total)
    }
}

#[cfg(test)]
#[path = "lower_tests.rs"]
mod tests;
