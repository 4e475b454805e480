//! Reductions along columns, of which an output is given all: `out = column_sum(x);`.

use autokernel_ops::body::Reduction;
use syn::{Error, Expr, Result};

use crate::words::takes;

/// How a value is reduced along columns, and what; nothing where it is not.
///
/// # Errors
/// It is given other than one number.
pub fn folded(written: &Expr) -> Result<Option<(Reduction, &Expr)>> {
    let Expr::Call(call) = written else { return Ok(None) };
    let Expr::Path(path) = &*call.func else { return Ok(None) };
    let name = path.path.get_ident().map(ToString::to_string).unwrap_or_default();
    let Some(fold) = Reduction::from_column_name(&name) else { return Ok(None) };
    match (call.args.len(), call.args.first()) {
        (1, Some(of)) => Ok(Some((fold, of))),
        (given, _) => Err(Error::new_spanned(call, takes(&name, 1, given))),
    }
}
