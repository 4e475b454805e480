//! What a declaration says of scales of blocks of both factors.

use super::known::twice;
use crate::declaration::{Complaint, Declaration, Given, Node};
use crate::matmul::block_scales::{BLOCK, BLOCKS};
use crate::matmul::body::Product;

/// The setting that says how large blocks are, and where it stands.
#[derive(Clone, Copy)]
pub struct Block {
    pub size: u32,
    pub node: Node,
}

impl Block {
    /// Takes the setting itself.
    ///
    /// # Errors
    /// No size of a block, or a second one.
    pub fn read(before: Option<Block>, node: Node, given: &Given) -> Result<Self, Complaint> {
        let [size] = BLOCKS;
        let Given::Value(value) = given else {
            return Err(node.complain(format!("give the numbers of a block along K: `{BLOCK} = {size}`")));
        };
        if before.is_some() {
            return Err(twice(BLOCK, node));
        }
        if value.dimension()? != size {
            return Err(value.node.complain(format!("a block has {size} numbers along K; write `{BLOCK} = {size}`")));
        }
        Ok(Block { size, node })
    }
}

/// The size of the blocks that have scales, where there are such.
///
/// # Errors
/// Scales without that size, or it without scales.
pub fn block(declaration: &Declaration, product: &Product, block: Option<Block>) -> Result<Option<u32>, Complaint> {
    let ([size], Product { a, b, a_scales, .. }) = (BLOCKS, product);
    match (a_scales, block) {
        (None, None) => Ok(None),
        (Some(_), Some(block)) => Ok(Some(block.size)),
        (Some(name), None) => {
            let message = format!(
                "of how many numbers along K is an element of `{name}`? write `{BLOCK} = {size}` in the attribute's parentheses"
            );
            Err(declaration.arguments.complain(message))
        }
        (None, Some(block)) => {
            let message = format!(
                "no scales of blocks stand in the body; write `dot({a} * {a}_scales, ({b} * {b}_scales).t())` there"
            );
            Err(block.node.complain(message))
        }
    }
}
