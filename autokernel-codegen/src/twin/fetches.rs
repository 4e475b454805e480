//! Elements in rows that an index picks: names in the place of what reads them.

use autokernel_ops::body::Fetch;
use proc_macro2::Span;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, ExprAssign, Ident};

use crate::translate::picked_row;

/// Puts a name in the place of each `operand[index]` that is read.
pub struct Fetches;

impl Fetches {
    /// The parameter that holds what is read.
    pub fn name(fetch: &Fetch) -> Ident {
        name(&fetch.of, &fetch.row)
    }
}

/// Names are told apart by their letters alone: no user has this one.
fn name(of: &str, row: &str) -> Ident {
    let [of, row] = [of, row].map(|name| name.trim_start_matches("r#"));
    Ident::new(&format!("{of}_in_the_row_of_{row}"), Span::mixed_site())
}

impl VisitMut for Fetches {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_mut::visit_expr_mut(self, expr);
        let Expr::Index(picked) = &*expr else { return };
        let Ok((of, row)) = picked_row(picked) else { return };
        let name = name(&of.to_string(), &row.to_string());
        *expr = Expr::Path(syn::ExprPath { attrs: Vec::new(), qself: None, path: name.into() });
    }

    fn visit_expr_assign_mut(&mut self, assign: &mut ExprAssign) {
        self.visit_expr_mut(&mut assign.right);
    }
}
