//! What elements see of partners' values: names in the place of what says it.

use autokernel_ops::body::Columns;
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, Ident};

use crate::fetched::{Fetched, fetched};

/// Puts a name in the place of each `rotate_half(value, 128)`, and of its like.
#[derive(Default)]
pub struct Partners(Vec<(Ident, Ident, Columns)>);

impl Partners {
    /// The names, each once.
    pub fn names(&self) -> impl Iterator<Item = &Ident> {
        self.0.iter().map(|(name, ..)| name)
    }

    /// What gives those names their values, of the elements of a row.
    pub fn values(&self) -> TokenStream {
        let values = self.0.iter().map(|(name, of, columns)| {
            let columns = match columns {
                Columns::RotateHalf(head) => quote!(RotateHalf(#head)),
                _ => quote!(RotatePairs),
            };
            quote! {
                let #name: ::std::vec::Vec<f32> =
                    ::autokernel::__private::partners(&#of, ::autokernel::__private::Columns::#columns);
            }
        });
        quote!(#(#values)*)
    }
}

/// Names are told apart by their letters alone: no user has this one.
fn name(of: &Ident, columns: Columns) -> Ident {
    let of = of.to_string();
    let how = match columns {
        Columns::RotateHalf(head) => format!("by_half_of_{head}"),
        _ => "in_pairs".to_owned(),
    };
    Ident::new(&format!("partners_of_{}_rotated_{how}", of.trim_start_matches("r#")), Span::mixed_site())
}

impl VisitMut for Partners {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_mut::visit_expr_mut(self, expr);
        let Some(Ok(Fetched { of, row: None, columns })) = fetched(expr) else { return };
        if !columns.are_partners() {
            return;
        }
        let (of, name) = (of.clone(), name(of, columns));
        if !self.names().any(|known| *known == name) {
            self.0.push((name.clone(), of, columns));
        }
        *expr = Expr::Path(syn::ExprPath { attrs: Vec::new(), qself: None, path: name.into() });
    }
}
