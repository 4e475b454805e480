//! Elements in other rows and columns: names in the place of what reads them.

use autokernel_ops::body::{Body, Columns, Fetch};
use proc_macro2::Span;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, ExprAssign, Ident};

use crate::fetched::{Fetched, fetched};

/// Puts a name in the place of each `operand[index]`, and of its like, that is read of an operand of the body.
pub struct Fetches<'b>(pub &'b Body);

impl Fetches<'_> {
    /// The parameter that holds what is read.
    pub fn name(fetch: &Fetch) -> Ident {
        name(&fetch.of, fetch.row.as_deref(), fetch.columns)
    }
}

fn is_of(written: &Fetched<'_>, fetch: &Fetch) -> bool {
    let is_row = match (written.row, &fetch.row) {
        (Some(row), Some(of)) => row == of,
        (row, of) => row.is_none() && of.is_none(),
    };
    *written.of == fetch.of && is_row && written.columns == fetch.columns
}

/// Names are told apart by their letters alone: no user has this one.
fn name(of: &str, row: Option<&str>, columns: Columns) -> Ident {
    let plain = |name: &str| name.trim_start_matches("r#").to_owned();
    let row = row.map_or_else(|| "its_row".to_owned(), |row| format!("the_row_of_{}", plain(row)));
    let columns = match columns {
        Columns::Same => String::new(),
        Columns::RotateHalf(head) => format!("_rotated_by_half_of_{head}"),
        Columns::RotatePairs => "_rotated_in_pairs".to_owned(),
        Columns::Repeat => "_repeated".to_owned(),
    };
    Ident::new(&format!("{}_in_{row}{columns}", plain(of)), Span::mixed_site())
}

impl VisitMut for Fetches<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let is_read = |it: &Fetched<'_>| self.0.fetches.iter().any(|fetch| is_of(it, fetch));
        let Some(Fetched { of, row, columns }) = fetched(expr).and_then(Result::ok).filter(is_read) else {
            return visit_mut::visit_expr_mut(self, expr);
        };
        let name = name(&of.to_string(), row.map(ToString::to_string).as_deref(), columns);
        *expr = Expr::Path(syn::ExprPath { attrs: Vec::new(), qself: None, path: name.into() });
    }

    fn visit_expr_assign_mut(&mut self, assign: &mut ExprAssign) {
        self.visit_expr_mut(&mut assign.right);
    }
}
