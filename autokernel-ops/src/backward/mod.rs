//! The kernels of a body's gradients, as bodies: reverse mode on its expressions, at what is wanted of the gradients of its
//! outputs, from the inputs of the body alone.
//!
//! The graph of the body (`read`) gets the adjoints of its values (`reverse`), in which sums along a row are taken apart (`totals`),
//! what changes nothing is left out (`invariance`), what was not chosen stays nothing (`gates`), and forms with a derivative of their own have that (`known`); what is needed of
//! it becomes bodies again (`write`), which are compiled like any other. A product's body (`products`) is one of rows that reads the
//! product, of which the forward pass keeps what that needs (`saved`).

pub mod differences;
mod gates;
mod graph;
mod invariance;
mod known;
mod names;
pub mod product_differences;
pub mod products;
mod read;
mod refuse;
mod refuse_product;
mod reverse;
mod saved;
mod totals;
mod traced;
mod write;

pub use names::source;

use std::collections::{BTreeMap, BTreeSet};

use autokernel_core::{Dtype, Role};

use crate::body::{Body, Complaint, Kind, Operand};
use graph::{Graph, Id, Node};
use names::name_of;
use read::Forward;
use traced::Traced;
use write::{Output, Writer, unique};

/// The kernels of a body's gradients. Each takes what it needs of the body's inputs, in their order, then of the gradients of its
/// outputs, and writes the gradients of inputs. That of an operand `x` is called `dx`, and is of its type.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    /// The gradients of matrices and columns, and behind them numbers of each row that the other kernel takes.
    pub by_rows: Option<Body>,
    /// The gradients of rows, which are sums along columns.
    pub by_columns: Option<Body>,
}

/// The gradients of a body without mistakes: of the operands of those numbers, or of every matrix and row that it reads.
///
/// # Errors
/// What has no gradient, each with what can be done instead.
pub fn gradient(body: &Body, wanted: Option<&[usize]>) -> Result<Gradient, Vec<Complaint>> {
    let wanted = wanted.map_or_else(|| traced::all(body), <[usize]>::to_vec);
    let complaints = refuse::complaints(body, &wanted);
    if !complaints.is_empty() {
        return Err(complaints);
    }
    let traced = Traced::of(body, &wanted)?;
    let inputs = body.operands.iter().filter(|operand| operand.role == Role::Input).cloned();
    let inputs: Vec<Operand> = inputs.chain(traced.seeds.into_iter().map(|(_, operand)| operand)).collect();
    kernels(&traced.forward, body, &inputs, traced.outputs)
}

/// The outputs' kernels, each of what it needs of `inputs`.
fn kernels(
    forward: &Forward,
    body: &Body,
    inputs: &[Operand],
    outputs: Vec<Output>,
) -> Result<Gradient, Vec<Complaint>> {
    let (of_rows, mut others): (Vec<Output>, Vec<Output>) =
        outputs.into_iter().partition(|output| output.fold.is_some());
    let roots: Vec<Id> = of_rows.iter().map(|output| output.value).collect();
    let operands = body.operands.iter().flat_map(|operand| [operand.name.clone(), name_of(operand)]);
    let taken = operands.chain(body.fetches.iter().map(|fetch| fetch.name.clone())).collect();
    let statistics = statistics(forward, &roots, taken);
    for (value, operand) in &statistics {
        let operand = Operand { role: Role::Output, ..operand.clone() };
        others.push(Output { operand, fold: None, value: *value });
    }
    let given: Vec<Operand> = inputs.iter().chain(statistics.iter().map(|(_, operand)| operand)).cloned().collect();
    let of_body = |writer: Writer<'_>, operands: &[Operand], outputs: Vec<Output>| {
        (!outputs.is_empty()).then(|| writer.body(operands, &body.fetches, outputs))
    };
    let by_rows = of_body(Writer::new(forward), inputs, others);
    let by_columns = of_body(Writer::new(forward).given(&statistics), &given, of_rows);
    match by_columns.as_ref().and_then(|columns| columns.fetches.first()) {
        Some(fetch) => Err(vec![refuse::fetched_by_columns(body, fetch)]),
        None => Ok(Gradient { by_rows, by_columns }),
    }
}

/// The numbers of a row that only reductions along it give, and that the values need: a column for each.
fn statistics(forward: &Forward, roots: &[Id], mut taken: BTreeSet<String>) -> Vec<(Id, Operand)> {
    let Forward { graph, names, .. } = forward;
    let (mut found, mut open, mut seen) = (Vec::new(), roots.to_vec(), BTreeSet::new());
    let mut known = BTreeMap::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        if graph.varies(id) || !has_reduction(graph, id, &mut known) {
            open.extend(graph.node(id).children());
            continue;
        }
        found.push(id);
    }
    found.sort_unstable();
    let operand = |id: Id| {
        let own = names.get(&id).filter(|name| !taken.contains(*name));
        let name = own.cloned().unwrap_or_else(|| unique("of_row", &taken));
        taken.insert(name.clone());
        (id, Operand { name, kind: Kind::Column, dtype: Dtype::F32, role: Role::Input, batched: false })
    };
    found.into_iter().map(operand).collect()
}

/// Whether a reduction is part of the node; `known` holds what was asked before.
fn has_reduction(graph: &Graph, id: Id, known: &mut BTreeMap<Id, bool>) -> bool {
    if let Some(&has) = known.get(&id) {
        return has;
    }
    let node = graph.node(id);
    let has =
        matches!(node, Node::Reduce(..)) || node.children().into_iter().any(|child| has_reduction(graph, child, known));
    known.insert(id, has);
    has
}

#[cfg(test)]
mod tests;
