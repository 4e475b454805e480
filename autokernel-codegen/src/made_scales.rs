//! Outputs whose scales the kernel makes: `out * out_scales = value;`.

use syn::{BinOp, Expr, Ident};

/// The output and what holds its scales, of what stands left of the `=`; nothing where it is something else.
pub fn made_scales(left: &Expr) -> Option<(&Ident, &Ident)> {
    let Expr::Binary(syn::ExprBinary { left, op: BinOp::Mul(_), right, .. }) = left else { return None };
    Some((name(left)?, name(right)?))
}

fn name(expr: &Expr) -> Option<&Ident> {
    let Expr::Path(path) = expr else { return None };
    path.path.get_ident()
}
