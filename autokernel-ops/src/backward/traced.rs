//! A body's graph with the gradients of what is wanted.

use autokernel_core::Role;

use super::graph::{Graph, Id};
use super::names::name_of;
use super::read::Forward;
use super::refuse;
use super::write::Output;
use crate::body::{Body, Complaint, Kind, Operand, Reduction};

/// What the kernels of gradients are made of.
pub struct Traced {
    /// The body, and the adjoints of its values.
    pub forward: Forward,
    /// The gradients of what the body writes, which kernels are given.
    pub seeds: Vec<(Id, Operand)>,
    /// The gradients of what is wanted, in order.
    pub outputs: Vec<Output>,
}

/// Every matrix and row that is read, by their numbers.
pub fn all(body: &Body) -> Vec<usize> {
    let is_wanted = |operand: &Operand| operand.role == Role::Input && matches!(operand.kind, Kind::Matrix | Kind::Row);
    (0..body.operands.len()).filter(|&at| is_wanted(&body.operands[at])).collect()
}

/// The node of an operand's element.
pub fn leaf(graph: &mut Graph, operand: &Operand) -> Id {
    graph.name(&operand.name, operand.kind.varies_along_row())
}

impl Traced {
    /// The gradients of the operands of those numbers, which have one.
    ///
    /// # Errors
    /// Operands with which nothing changes, and rows whose gradient is one number.
    pub fn of(body: &Body, wanted: &[usize]) -> Result<Self, Vec<Complaint>> {
        let mut forward = Forward::of(body);
        let seeds = seeds(body, &mut forward);
        let leaves: Vec<Id> = wanted.iter().map(|&at| leaf(&mut forward.graph, &body.operands[at])).collect();
        let pairs: Vec<(Id, Id)> = seeds.iter().map(|(value, seed, _)| (*value, *seed)).collect();
        let adjoints = forward.graph.adjoints(&pairs, &leaves);
        let (mut outputs, mut complaints) = (Vec::new(), Vec::new());
        for (&at, adjoint) in wanted.iter().zip(adjoints) {
            let operand = &body.operands[at];
            let gradient = Operand { name: name_of(operand), role: Role::Output, ..operand.clone() };
            match adjoint {
                Some(value) if operand.kind == Kind::Row && !forward.graph.varies(value) => {
                    complaints.push(refuse::same_in_each_column(at, operand));
                }
                Some(value) => {
                    let fold = (operand.kind == Kind::Row).then_some(Reduction::Sum);
                    outputs.push(Output { operand: gradient, fold, value });
                }
                None => complaints.push(refuse::without_influence(at, operand)),
            }
        }
        let seeds = seeds.into_iter().map(|(_, seed, operand)| (seed, operand)).collect();
        if complaints.is_empty() { Ok(Traced { forward, seeds, outputs }) } else { Err(complaints) }
    }
}

/// For each output its value, the element of its gradient, and the operand that has that.
fn seeds(body: &Body, forward: &mut Forward) -> Vec<(Id, Id, Operand)> {
    let mut seeds = Vec::new();
    for (output, _, value) in forward.stores.clone() {
        let Some(operand) = body.operand(&output) else { continue };
        let operand = Operand { name: name_of(operand), role: Role::Input, ..operand.clone() };
        seeds.push((value, leaf(&mut forward.graph, &operand), operand));
    }
    seeds
}
