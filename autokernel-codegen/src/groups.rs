//! What a macro fills in for `$t:ty` or `$e:expr`: in groups without delimiters, which are no part of what is declared.

use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, Signature, Type, token};

/// Opens the groups of a function: its types and names are then as if they were written there, and parentheses keep what is computed
/// together.
pub fn open(signature: &mut Signature, body: Option<&mut Block>) {
    Open.visit_signature_mut(signature);
    if let Some(body) = body {
        Open.visit_block_mut(body);
    }
}

struct Open;

impl VisitMut for Open {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        while let Type::Group(group) = ty {
            *ty = (*group.elem).clone();
        }
        visit_mut::visit_type_mut(self, ty);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        while let Expr::Group(group) = expr {
            let inner = (*group.expr).clone();
            *expr = if is_one(&inner) { inner } else { parenthesised(inner) };
        }
        visit_mut::visit_expr_mut(self, expr);
    }
}

/// Whether nothing beside it can take a part of it.
fn is_one(expr: &Expr) -> bool {
    matches!(expr, Expr::Path(_) | Expr::Lit(_) | Expr::Paren(_) | Expr::Group(_) | Expr::Call(_) | Expr::MethodCall(_))
}

fn parenthesised(inner: Expr) -> Expr {
    Expr::Paren(syn::ExprParen { attrs: Vec::new(), paren_token: token::Paren::default(), expr: Box::new(inner) })
}

#[cfg(test)]
mod tests {
    use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
    use quote::quote;

    use super::open;

    /// `tokens` as a macro fills them in.
    fn filled_in(tokens: TokenStream) -> TokenTree {
        Group::new(Delimiter::None, tokens).into()
    }

    #[test]
    fn what_a_macro_fills_in_is_as_if_it_were_written() {
        let (element, matrix) = (filled_in(quote!(bf16)), filled_in(quote!(&Matrix<bf16>)));
        let (sum, name, twice) = (filled_in(quote!(y + 1.0)), filled_in(quote!(y)), filled_in(quote!(f32)));
        let twice = filled_in(twice.into());
        let filled = quote! {
            fn f(x: #matrix, y: &Row<#element>, out: &mut Matrix<#twice>) { let z: #twice = #name; out = #sum * x * z; }
        };
        let written = quote! {
            fn f(x: &Matrix<bf16>, y: &Row<bf16>, out: &mut Matrix<f32>) { let z: f32 = y; out = (y + 1.0) * x * z; }
        };
        let mut function: syn::ItemFn = syn::parse2(filled).unwrap();
        let syn::ItemFn { sig, block, .. } = &mut function;
        open(sig, Some(block));
        assert_eq!(quote!(#function).to_string(), written.to_string());
    }
}
