//! What the forward pass of a product keeps for its gradients: the pre-activation.

use std::collections::BTreeSet;

use super::graph::{Graph, Id, Node};
use super::read::Forward;
use super::write::Writer;
use crate::expr::BinaryOp;

/// How the kernels of gradients come by the value that they need of the product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saved {
    /// They need none.
    Nothing,
    /// An output of the function holds it.
    Written(Id, String),
    /// The function has to write it too.
    Value(Id),
}

/// The value nearest to the activation from which all of `gradients` are computed without the product itself: one that an output
/// holds, else one that the author named, else the product. Only sums and multiples of the product are kept: of what an activation
/// gave, 16 bits tell little of how steep it was.
pub fn saved(forward: &Forward, product: Id, gradients: &[Id]) -> Saved {
    let graph = &forward.graph;
    let needs_product = |writer: &Writer<'_>| writer.uses(gradients).contains_key(&product);
    if !needs_product(&Writer::new(forward)) {
        return Saved::Nothing;
    }
    let suffices = |id: Id| id == product || !needs_product(&Writer::new(forward).keeping(id));
    let written = forward.stores.iter().rev().find(|(.., id)| graph.is_linear(*id, product) && suffices(*id));
    if let Some((output, _, id)) = written {
        return Saved::Written(*id, output.clone());
    }
    let named = forward.names.keys().rev().find(|id| graph.is_linear(**id, product) && suffices(**id));
    Saved::Value(named.copied().unwrap_or(product))
}

impl Graph {
    /// Whether a value is a multiple of another one, or that with something added.
    fn is_linear(&self, id: Id, of: Id) -> bool {
        let has = |id: Id| self.is_made_of(id, of);
        id == of
            || match *self.node(id) {
                Node::Negate(value) => self.is_linear(value, of),
                Node::Binary(BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply, left, right) => {
                    match (has(left), has(right)) {
                        (true, false) => self.is_linear(left, of),
                        (false, true) => self.is_linear(right, of),
                        _ => false,
                    }
                }
                Node::Binary(BinaryOp::Divide, above, by) => !has(by) && self.is_linear(above, of),
                _ => false,
            }
    }

    fn is_made_of(&self, id: Id, of: Id) -> bool {
        let (mut open, mut seen) = (vec![id], BTreeSet::new());
        while let Some(id) = open.pop() {
            if id == of {
                return true;
            }
            if seen.insert(id) {
                open.extend(self.node(id).children());
            }
        }
        false
    }
}
