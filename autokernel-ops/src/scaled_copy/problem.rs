//! What must be computed.

use std::fmt;

use autokernel_core::{Dim, Dtype, dim};
use serde::{Deserialize, Serialize};

use crate::declaration::{Complaint, Declaration, Given, Parameter, Setting, TensorParameter};

/// The dimensions, in order.
pub const DIMS: [Dim; 2] = [dim("rows"), dim("columns")];

/// `out[rows, columns] = alpha · x[rows, columns]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Type of both matrices.
    pub dtype: Dtype,
    /// What each element is multiplied by.
    pub alpha: f32,
    /// Columns, when known at compile time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_columns: Option<u32>,
}

/// Copies that are tuned together: of one type, whatever the factor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Type of both matrices.
    pub dtype: Dtype,
}

impl Problem {
    /// Reads `#[autokernel::scaled_copy(alpha = 2.0, columns = 4096)] fn f(x: &Matrix<bf16>, out: &mut Matrix<bf16>);`.
    pub(super) fn declare(declaration: &Declaration) -> Result<Self, Vec<Complaint>> {
        let refused = |complaint| vec![complaint];
        let (mut alpha, mut known_columns) = (None, None);
        for Setting { name, node, given } in &declaration.settings {
            match (name.as_str(), given) {
                ("alpha", Given::Value(value)) => alpha = value.number(),
                ("columns", Given::Value(value)) => known_columns = Some(value.dimension().map_err(refused)?),
                _ => return Err(vec![node.complain("write `alpha = 2.0` and `columns = 4096`")]),
            }
        }
        let alpha = alpha.ok_or_else(|| vec![declaration.arguments.complain("give the factor: `alpha = 2.0`")])?;
        let dtype = |parameter: &Parameter, wanted| match parameter {
            Parameter::Tensor(TensorParameter { mutable, element, .. }) if *mutable == wanted => {
                Dtype::from_name(element)
            }
            _ => None,
        };
        let types = match &declaration.parameters[..] {
            [x, out] => dtype(x, false).zip(dtype(out, true)),
            _ => None,
        };
        let form = "a copy takes `x: &Matrix<bf16>, out: &mut Matrix<bf16>`, both of one type";
        let complaint = || vec![declaration.parameter_list.complain(form)];
        let (dtype, _) = types.filter(|(x, out)| x == out).ok_or_else(complaint)?;
        Ok(Problem { dtype, alpha, known_columns })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { dtype, alpha, known_columns } = self;
        write!(f, "scaled_copy {dtype}, alpha = {alpha}")?;
        known_columns.map_or(Ok(()), |columns| write!(f, ", columns = {columns}"))
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scaled_copy {}", self.dtype)
    }
}
