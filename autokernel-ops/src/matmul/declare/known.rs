//! Dimensions of a product that a declaration fixes.

use crate::declaration::{Complaint, Given, Node};

/// The dimensions that are always the same.
#[derive(Default)]
pub struct Known {
    /// Columns of the result.
    pub n: Option<u32>,
    /// What is summed over.
    pub k: Option<u32>,
}

impl Known {
    /// Takes the setting called `name`, a dimension.
    ///
    /// # Errors
    /// Another dimension, one given twice, or no size.
    pub fn apply(&mut self, name: &str, node: Node, given: &Given) -> Result<(), Complaint> {
        let known = match name {
            "n" => &mut self.n,
            "k" => &mut self.k,
            _ => {
                let message = "m cannot be fixed: it is the batch, given at each launch; only n and k can be known";
                return Err(node.complain(message));
            }
        };
        let Given::Value(value) = given else {
            return Err(node.complain(format!("give the dimension: `{name} = 4096`")));
        };
        if known.is_some() {
            return Err(twice(name, node));
        }
        *known = Some(value.dimension()?);
        Ok(())
    }
}

/// A setting that stands there already.
pub fn twice(name: &str, node: Node) -> Complaint {
    node.complain(format!("`{name}` is given twice; remove one"))
}
