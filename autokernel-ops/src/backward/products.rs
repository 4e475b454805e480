//! The kernels of the gradients of a product's body: those of what follows the product, row by row, and the products that lead
//! back to its factors.
//!
//! With p = a · b an element of the product, the body is one of rows that reads p. Its gradient dp is what both factors' gradients
//! are products of; where the gradient of the body's output is a product itself, dp is what follows that one.

use std::collections::BTreeSet;

use autokernel_core::{Dtype, Role};

use super::graph::Id;
use super::names::name_of;
use super::read::Forward;
use super::refuse::PRODUCT;
use super::saved::{Saved, saved};
use super::traced::{Traced, all};
use super::write::{Output, Writer, unique};
use super::{refuse, refuse_product};
use crate::body::{Body, Complaint, Kind, Operand, Place, Step};
use crate::epilogue::Epilogue;
use crate::expr::Expr;
use crate::matmul::Problem;
use crate::matmul::body::{self, Product, Written};
use crate::matmul::problem::Layout;

/// A kernel of a product's gradients.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// What it is for.
    pub purpose: Purpose,
    /// What it computes.
    pub computes: Computes,
}

/// What a kernel is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The function's outputs, and what its gradients are computed of.
    Forward,
    /// The gradients of the product, of matrices and of columns.
    Backward,
    /// The same of an output whose gradient is a product.
    Fused {
        /// The gradient of the output.
        of: String,
    },
    /// The gradients of rows, which are sums along columns.
    Rows,
    /// The gradient of the factor of that name.
    Factor(String),
}

/// What a kernel computes.
#[derive(Clone, Debug, PartialEq)]
pub enum Computes {
    /// A body of rows.
    Rows(Body),
    /// What follows a product.
    Product(Box<Chained>),
}

/// A product, and how its factors lie.
#[derive(Clone, Debug, PartialEq)]
pub struct Chained {
    /// The body.
    pub written: Written,
    /// How the factors lie.
    pub layout: Layout,
    /// Columns of the result, where they are known.
    pub known_n: Option<u32>,
    /// The summed dimension, where it is known.
    pub known_k: Option<u32>,
}

impl Purpose {
    /// What its kernel is called.
    pub fn name(&self) -> String {
        match self {
            Purpose::Forward => "forward".to_owned(),
            Purpose::Backward => "backward".to_owned(),
            Purpose::Fused { .. } => "backward_fused".to_owned(),
            Purpose::Rows => "backward_rows".to_owned(),
            Purpose::Factor(name) => format!("backward_{}", name.trim_start_matches("r#")),
        }
    }
}

impl Computes {
    /// The operands and what is computed of them; of a product its element is a name there.
    pub fn body(&self) -> &Body {
        match self {
            Computes::Rows(body) => body,
            Computes::Product(chained) => &chained.written.body,
        }
    }
}

/// The kernels of the gradients of a product with a body: of the operands of those numbers, or of every matrix and row that it reads.
///
/// # Errors
/// What has no gradient, each with what can be done instead.
pub fn gradient(problem: &Problem, body: &body::Body, wanted: Option<&[usize]>) -> Result<Vec<Kernel>, Vec<Complaint>> {
    let written = body.written();
    let epilogue = epilogue(written);
    let is_factor = |at: &usize| written.factors().any(|factor| factor == epilogue.operands[*at].name);
    let product = epilogue.operands.len() - 1;
    let of_operands = wanted.map_or_else(|| all(&written.body), <[usize]>::to_vec);
    let (factors, others): (Vec<usize>, Vec<usize>) = of_operands.into_iter().partition(is_factor);
    let traced_for: Vec<usize> = [product].into_iter().chain(others).collect();
    let mut complaints = refuse_product::complaints(written);
    if complaints.is_empty() {
        complaints = refuse::complaints(&epilogue, &traced_for);
    }
    if !complaints.is_empty() {
        return Err(complaints);
    }
    let traced = Traced::of(&epilogue, &traced_for).map_err(|complaints| {
        let of_product = |it: Complaint| match it.place {
            Place::Operand(at) if at == product => refuse_product::without_influence(written),
            _ => it,
        };
        complaints.into_iter().map(of_product).collect::<Vec<_>>()
    })?;
    let derivation = Derivation::new(problem, written, traced, wanted.is_some());
    Ok(derivation.kernels(&factors))
}

/// The body as one of rows, whose last operand is the product.
pub(super) fn epilogue(written: &Written) -> Body {
    let a = written.body.operand(&written.product.a);
    let dtype = a.map_or(Dtype::F32, |a| a.dtype);
    let name = written.product.name.clone();
    let product = Operand { name, kind: Kind::Matrix, dtype, role: Role::Input, batched: false };
    let mut body = written.body.clone();
    body.operands.push(product);
    body
}

/// What the author calls a value of the product.
fn called(forward: &Forward, id: Id) -> String {
    let Some(name) = forward.names.get(&id) else { return "product".to_owned() };
    let is_argument = |it: &Epilogue| *name == format!("{}_{}", it.name(), it.function().parameter);
    // Of what is given to an epilogue without a name the reader made one.
    if Epilogue::of_bodies().iter().any(is_argument) {
        return "preactivation".to_owned();
    }
    name.clone()
}

/// What all kernels are made of.
struct Derivation<'p> {
    problem: &'p Problem,
    written: &'p Written,
    forward: Forward,
    seeds: Vec<(Id, Operand)>,
    /// The gradient of the product: the value, and who holds it.
    of_product: (Id, Operand),
    /// Whether an output's gradient is that as it is.
    is_seed: bool,
    /// Gradients of other operands.
    others: Vec<Output>,
    /// The node of the product.
    product: Id,
    /// What is kept of it.
    saved: Saved,
    /// That, as kernels read it.
    kept: Option<(Id, Operand)>,
    /// Names that a parameter of a kernel cannot have.
    taken: BTreeSet<String>,
}

impl<'p> Derivation<'p> {
    fn new(problem: &'p Problem, written: &'p Written, traced: Traced, is_named: bool) -> Self {
        let Traced { mut forward, seeds, mut outputs } = traced;
        let first = outputs.remove(0);
        let product = forward.graph.name(&written.product.name, true);
        let operands = written.body.operands.iter().flat_map(|it| [it.name.clone(), name_of(it)]);
        let fetches = written.body.fetches.iter().map(|fetch| fetch.name.clone());
        let mut taken: BTreeSet<String> = operands.chain(fetches).chain([PRODUCT.to_owned()]).collect();
        let mut free = |name: String| {
            let name = if taken.contains(&name) { unique(&name, &taken) } else { name };
            taken.insert(name.clone());
            name
        };
        let read = |name: String| Operand { name, role: Role::Input, ..first.operand.clone() };
        let own = |id: Id| called(&forward, id);
        let is_held = |(id, operand): &&(Id, Operand), output: &Output| {
            *id == output.value && operand.kind == Kind::Matrix && operand.dtype == output.operand.dtype
        };
        let held = seeds.iter().find(|seed| is_held(seed, &first)).map(|(_, operand)| operand.clone());
        // What is a gradient as it was given needs no copy, unless that was asked for.
        let is_copy = |output: &Output| output.fold.is_none() && seeds.iter().any(|seed| is_held(&seed, output));
        let others: Vec<Output> = outputs.into_iter().filter(|output| is_named || !is_copy(output)).collect();
        let roots: Vec<Id> = others.iter().map(|output| output.value).chain([first.value]).collect();
        let saved = saved(&forward, product, &roots);
        let kept = match &saved {
            Saved::Nothing => None,
            Saved::Written(id, output) => {
                let output = written.body.operand(output);
                output.map(|output| (*id, Operand { role: Role::Input, ..output.clone() }))
            }
            Saved::Value(id) => Some((*id, read(free(own(*id))))),
        };
        let is_seed = held.is_some();
        let gradient = held.unwrap_or_else(|| {
            let named = Operand { name: own(product), ..first.operand.clone() };
            read(free(name_of(&named)))
        });
        Derivation {
            problem,
            written,
            of_product: (first.value, gradient),
            is_seed,
            others,
            product,
            saved,
            kept,
            taken,
            forward,
            seeds,
        }
    }

    fn kernels(self, factors: &[usize]) -> Vec<Kernel> {
        let rows = |purpose, body: Option<Body>| body.map(|body| Kernel { purpose, computes: Computes::Rows(body) });
        let mut kernels: Vec<Kernel> = Vec::new();
        kernels.extend(self.forward_kernel());
        kernels.extend(rows(Purpose::Backward, self.by_rows()));
        kernels.extend(self.fused());
        kernels.extend(rows(Purpose::Rows, self.by_columns()));
        kernels.extend(factors.iter().map(|&at| self.factor(at)));
        kernels
    }

    /// What is read beside the product, what is kept of that, and the gradients of the outputs.
    fn inputs(&self) -> Vec<Operand> {
        let is_read = |operand: &&Operand| {
            let is_kept = self.kept.iter().any(|(_, kept)| kept.name == operand.name);
            operand.role == Role::Input && !is_kept && self.written.factors().all(|factor| factor != operand.name)
        };
        let inputs = self.written.body.operands.iter().filter(is_read).cloned();
        inputs.chain(self.kept().map(|(_, kept)| kept)).chain(self.seeds.iter().map(|(_, seed)| seed.clone())).collect()
    }

    fn kept(&self) -> impl Iterator<Item = (Id, Operand)> + use<> {
        self.kept.clone().into_iter()
    }

    /// The gradients that a kernel writes row by row, that of the product first.
    fn of_rows(&self) -> Vec<Output> {
        let (value, operand) = &self.of_product;
        let of_product = || Output { operand: as_output(operand), fold: None, value: *value };
        let others = self.others.iter().filter(|output| output.fold.is_none()).cloned();
        (!self.is_seed).then(of_product).into_iter().chain(others).collect()
    }

    fn by_rows(&self) -> Option<Body> {
        let outputs = self.of_rows();
        let given: Vec<(Id, Operand)> = self.kept().collect();
        let writer = Writer::new(&self.forward).given(&given);
        (!outputs.is_empty()).then(|| writer.body(&self.inputs(), &self.written.body.fetches, outputs))
    }

    /// The gradients of rows: sums of what the other kernel wrote, where they are.
    fn by_columns(&self) -> Option<Body> {
        let outputs: Vec<Output> = self.others.iter().filter(|output| output.fold.is_some()).cloned().collect();
        let is_given = |id: Id| self.seeds.iter().any(|(seed, _)| *seed == id);
        let of_product = Some(self.of_product.clone()).filter(|(id, _)| !is_given(*id));
        let given: Vec<(Id, Operand)> = self.kept().chain(of_product.clone()).collect();
        let inputs: Vec<Operand> = self.inputs().into_iter().chain(of_product.map(|(_, operand)| operand)).collect();
        let writer = Writer::new(&self.forward).given(&given);
        (!outputs.is_empty()).then(|| writer.body(&inputs, &self.written.body.fetches, outputs))
    }

    /// The function, which writes what is kept too.
    fn forward_kernel(&self) -> Option<Kernel> {
        let (Saved::Value(id), Some((_, kept))) = (&self.saved, &self.kept) else { return None };
        let body = &self.written.body;
        let stores = self.forward.stores.iter().filter_map(|(name, fold, value)| {
            Some(Output { operand: body.operand(name)?.clone(), fold: *fold, value: *value })
        });
        let outputs = stores.chain([Output { operand: as_output(kept), fold: None, value: *id }]).collect();
        let name = unique("product", &self.taken);
        let product = Operand { name: name.clone(), ..kept.clone() };
        let writer = Writer::new(&self.forward).given(&[(self.product, product)]);
        let steps = writer.body(&body.operands, &body.fetches, outputs).steps;
        let operands = body.operands.iter().cloned().chain([as_output(kept)]).collect();
        let written = Written {
            product: Product { name, ..self.written.product.clone() },
            second: None,
            body: Body { operands, steps, ..body.clone() },
        };
        let Problem { layout, known_n, known_k, .. } = *self.problem;
        let chained = Chained { written, layout, known_n, known_k };
        Some(Kernel { purpose: Purpose::Forward, computes: Computes::Product(Box::new(chained)) })
    }

    /// The gradients of an output whose own gradient is the product of the next layer's: what is a `backward` of one matrix follows that.
    fn fused(&self) -> Option<Kernel> {
        let [(seed, of)] = &self.seeds[..] else { return None };
        let outputs = self.of_rows();
        if self.is_seed || of.kind != Kind::Matrix {
            return None;
        }
        let [next, dnext] = ["next", "dnext"].map(|name| {
            let name = if self.taken.contains(name) { unique(name, &self.taken) } else { name.to_owned() };
            Operand { name, role: Role::Input, ..self.of_product.1.clone() }
        });
        let given: Vec<(Id, Operand)> = self.kept().chain([(*seed, of.clone())]).collect();
        let inputs: Vec<Operand> = self.inputs().into_iter().filter(|operand| operand.name != of.name).collect();
        let body = Writer::new(&self.forward).given(&given).body(&inputs, &self.written.body.fetches, outputs);
        let (read, written): (Vec<Operand>, Vec<Operand>) =
            body.operands.into_iter().partition(|operand| operand.role == Role::Input);
        let product = product_of(of.name.clone(), [&dnext, &next]);
        let operands = [read, vec![next, dnext], written].concat();
        let written = Written { product, second: None, body: Body { operands, ..body } };
        let layout = Layout::new(false, !self.problem.layout.transpose_b());
        // What takes more operands or registers than a product's kernel has is two kernels.
        body::Body::new(written.clone()).ok()?;
        let chained = Chained { written, layout, known_n: self.problem.known_n, known_k: None };
        let purpose = Purpose::Fused { of: of.name.clone() };
        Some(Kernel { purpose, computes: Computes::Product(Box::new(chained)) })
    }

    /// The gradient of a factor, which lies as that does: of p = a b these are dp bᵀ and aᵀ dp, or where the factor is stored
    /// transposed, b dpᵀ and dpᵀ a.
    fn factor(&self, at: usize) -> Kernel {
        let Problem { layout, known_n, known_k, .. } = *self.problem;
        let operands = &self.written.body.operands;
        let ([a, b], _) = self.written.numbers_of_factors();
        let [a, b] = [a, b].map(usize::from);
        let (of_product, is_a) = (&self.of_product.1, at == a);
        let other = &operands[if is_a { b } else { a }];
        let (transpose_a, transpose_b) = (layout.transpose_a(), layout.transpose_b());
        let (factors, layout) = match (is_a, if is_a { transpose_a } else { transpose_b }) {
            (true, false) => ([of_product, other], Layout::new(false, !transpose_b)),
            (true, true) => ([other, of_product], Layout::new(transpose_b, true)),
            (false, false) => ([other, of_product], Layout::new(!transpose_a, false)),
            (false, true) => ([of_product, other], Layout::new(true, transpose_a)),
        };
        let (known_n, known_k) = match (is_a, transpose_a, transpose_b) {
            (true, false, _) => (known_k, known_n),
            (true, true, _) => (None, known_n),
            (false, _, false) => (known_n, None),
            (false, _, true) => (known_k, None),
        };
        let name = unique("product", &self.taken);
        let output = as_output(&Operand { name: name_of(&operands[at]), ..operands[at].clone() });
        let value = Expr::Variable(name.clone());
        let store = Step::Store { output: output.name.clone(), row: None, fold: None, value };
        let product = product_of(name, factors);
        let operands = vec![other.clone(), of_product.clone(), output];
        let body = Body { operands, steps: vec![store], ..Body::default() };
        let chained = Chained { written: Written { product, second: None, body }, layout, known_n, known_k };
        Kernel {
            purpose: Purpose::Factor(self.written.body.operands[at].name.clone()),
            computes: Computes::Product(Box::new(chained)),
        }
    }
}

fn as_output(operand: &Operand) -> Operand {
    Operand { role: Role::Output, ..operand.clone() }
}

fn product_of(name: String, [a, b]: [&Operand; 2]) -> Product {
    Product::plain(name, &a.name, &b.name)
}

#[cfg(test)]
#[path = "products_tests.rs"]
mod tests;
