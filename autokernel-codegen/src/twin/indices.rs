//! Where the element that a body computes stands: names in the place of the calls that say it.

use autokernel_ops::expr::Axis;
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, Ident};

/// The parameter that numbers the rows, whether it is used or not.
pub fn row_number() -> Ident {
    Ident::new("_number_of_the_row", Span::mixed_site())
}

/// Puts names in the place of the calls, and tells of which there are any.
#[derive(Default)]
pub struct Indices {
    called: Vec<Axis>,
    counted: Vec<Axis>,
}

impl Indices {
    /// The name that stands for a number. Names are told apart by their letters alone: no user has these.
    pub fn name(axis: Axis) -> &'static str {
        match axis {
            Axis::Row => "index_of_the_row",
            Axis::Column => "indices_of_the_columns",
        }
    }

    /// The same of how many there are.
    pub fn count(axis: Axis) -> &'static str {
        match axis {
            Axis::Row => "number_of_rows",
            Axis::Column => "number_of_columns",
        }
    }

    /// What gives those names their values, where there are so many columns.
    pub fn values(&self, all_columns: &Ident) -> TokenStream {
        let [row, column] = Axis::ALL.map(|axis| Ident::new(Self::name(axis), Span::mixed_site()));
        let number = row_number();
        let row = self.called.contains(&Axis::Row).then(|| quote!(let #row = #number.row as f32;));
        let columns = self.called.contains(&Axis::Column).then(
            || quote!(let #column: ::std::vec::Vec<f32> = (0..#all_columns).map(|column| column as f32).collect();),
        );
        let counts = self.counted.iter().map(|axis| {
            let (name, counted) = (
                Ident::new(Self::count(*axis), Span::mixed_site()),
                match axis {
                    Axis::Row => quote!(#number.rows),
                    Axis::Column => quote!(#all_columns),
                },
            );
            quote!(let #name = #counted as f32;)
        });
        quote!(#row #columns #(#counts)*)
    }
}

impl VisitMut for Indices {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_mut::visit_expr_mut(self, expr);
        let Expr::Call(call) = expr else { return };
        let Expr::Path(path) = &*call.func else { return };
        let Some(called) = path.path.get_ident().filter(|_| call.args.is_empty()).map(Ident::to_string) else { return };
        let name = match (Axis::from_name(&called), Axis::from_count(&called)) {
            (Some(axis), _) => {
                self.called.push(axis);
                Self::name(axis)
            }
            (None, Some(axis)) => {
                if !self.counted.contains(&axis) {
                    self.counted.push(axis);
                }
                Self::count(axis)
            }
            (None, None) => return,
        };
        let name = Ident::new(name, Span::mixed_site());
        *expr = Expr::Path(syn::ExprPath { attrs: Vec::new(), qself: None, path: name.into() });
    }
}
