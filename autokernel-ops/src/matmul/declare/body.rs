//! What a declaration with a body says.

use autokernel_core::Role;

use super::Known;
use crate::body::declare::{node_at, operands};
use crate::body::{self, Operand};
use crate::declaration::{Complaint, Declaration, Factors, Node, Setting, Statement, What, both};
use crate::epilogue::Epilogue;
use crate::matmul::body::{Body, Product, Written};
use crate::matmul::problem::{Layout, Problem};

/// The product that `declaration` says, whose body is `statements`.
///
/// # Errors
/// All mistakes at once, each with its remedy.
pub fn declare(declaration: &Declaration, statements: &[Statement]) -> Result<Problem, Vec<Complaint>> {
    let known = known(declaration).map_err(|complaint| vec![complaint]);
    let (operands, known) = both(operands(&declaration.parameters), known)?;
    if declaration.body == crate::declaration::Body::Unreadable {
        return Err(Vec::new());
    }
    let Sorted { product, transpose_b, steps, nodes } = Sorted::new(declaration, statements)?;
    let dtype = |operand: Option<&Operand>| operand.map(|operand| operand.dtype);
    let input = dtype(operands.iter().find(|operand| operand.name == product.a));
    let output = dtype(operands.iter().find(|operand| operand.role == Role::Output));
    let complain = |it: body::Complaint| node_at(declaration, &nodes, it.place).complain(it.message);
    let body = Body::new(Written { product, body: body::Body { operands, steps } })
        .map_err(|complaints| complaints.into_iter().map(complain).collect::<Vec<_>>())?;
    let (Some(input), Some(output)) = (input, output) else { return Err(Vec::new()) };
    let layout = if transpose_b { Layout::Nt } else { Layout::Nn };
    let product = Problem::new(input, layout, Epilogue::identity());
    Ok(Problem { output, body: Some(body.into()), known_n: known.n, known_k: known.k, ..product })
}

fn known(declaration: &Declaration) -> Result<Known, Complaint> {
    let mut known = Known::default();
    for Setting { name, node, given } in &declaration.settings {
        match name.as_str() {
            "n" | "k" | "m" => known.apply(name, *node, given)?,
            "transpose_b" => {
                return Err(node.complain("the body says how `b` lies; write `dot(x, w.t())` there"));
            }
            other if Epilogue::builtin(other, None).is_ok() => {
                let message = format!("the body says what is fused; call it there: `out = {other}(dot(x, w));`");
                return Err(node.complain(message));
            }
            other => {
                let message = format!("unknown setting `{other}`; beside a body there are `n = …` and `k = …`");
                return Err(node.complain(message));
            }
        }
    }
    Ok(known)
}

/// The statements of a body, its product apart.
struct Sorted {
    product: Product,
    transpose_b: bool,
    steps: Vec<body::Step>,
    /// Where the steps stand.
    nodes: Vec<Node>,
}

impl Sorted {
    fn new(declaration: &Declaration, statements: &[Statement]) -> Result<Self, Vec<Complaint>> {
        let (mut products, mut steps, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
        for Statement { what, node } in statements {
            match what {
                What::Step(step) => {
                    steps.push(step.clone());
                    nodes.push(*node);
                }
                What::Product { name, factors } => products.push((name, factors, *node)),
            }
        }
        let Some((&(name, factors, _), more)) = products.split_first() else {
            let message = "a body of `fused_matmul` multiplies two of its operands: `out = dot(x, w.t());`; what \
                           multiplies none belongs in `#[autokernel::rows]`";
            return Err(vec![declaration.parameter_list.complain(message)]);
        };
        if !more.is_empty() {
            let message =
                "a kernel sums one product; write the other one to a matrix first, and pass that as an operand";
            return Err(more.iter().map(|(.., node)| node.complain(message)).collect());
        }
        let Factors { a, b, transpose_b } = factors.clone();
        Ok(Sorted { product: Product { name: name.clone(), a, b }, transpose_b, steps, nodes })
    }
}
