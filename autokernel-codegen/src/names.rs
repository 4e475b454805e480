//! The names in a text, and where those come from that it calls.

use autokernel_ops::epilogue::Epilogue;
use autokernel_ops::expr::Math;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::Ident;
use syn::visit::{self, Visit};

/// A `use` of each function that the body calls and that is no method of `f32`, from where the facade has them.
pub fn imports(block: &syn::Block) -> Vec<TokenStream> {
    let calls = calls(block);
    let is_called = |name: &&str| calls.iter().any(|called| called == name);
    let functions = Math::ALL.iter().filter(|function| !function.is_method()).map(|function| function.name());
    let functions = functions.filter(is_called).map(|name| {
        let name = format_ident!("{name}");
        quote!(use ::autokernel::__private::#name;)
    });
    let epilogues = Epilogue::of_bodies();
    let epilogues = epilogues.iter().map(Epilogue::name).filter(is_called).map(|name| {
        let name = format_ident!("{name}");
        quote!(use ::autokernel::__private::epilogues::#name;)
    });
    functions.chain(epilogues).collect()
}

/// The functions that a text calls by a plain name.
pub fn calls(block: &syn::Block) -> Vec<Ident> {
    let mut calls = Calls::default();
    calls.visit_block(block);
    calls.0
}

#[derive(Default)]
struct Calls(Vec<Ident>);

impl<'ast> Visit<'ast> for Calls {
    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        visit::visit_expr_call(self, call);
        let syn::Expr::Path(path) = &*call.func else { return };
        self.0.extend(path.path.get_ident().cloned());
    }
}

/// The names that a text takes from around it, each once.
#[derive(Default)]
pub struct Names {
    pub free: Vec<Ident>,
    /// Names that blocks of the text bind.
    bound: Vec<Ident>,
    /// Whether a function that is called is none of them.
    of_values: bool,
}

impl Names {
    /// Those of values alone: what a text calls may have the name of one.
    pub fn of_values() -> Self {
        Names { of_values: true, ..Names::default() }
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if !self.of_values {
            self.visit_expr(&call.func);
        }
        call.args.iter().for_each(|argument| self.visit_expr(argument));
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        let outer = self.bound.len();
        visit::visit_block(self, block);
        self.bound.truncate(outer);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        visit::visit_local(self, local);
        let pattern = match &local.pat {
            syn::Pat::Type(typed) => &typed.pat,
            other => other,
        };
        if let syn::Pat::Ident(name) = pattern {
            self.bound.push(name.ident.clone());
        }
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        visit::visit_item_const(self, item);
        self.bound.push(item.ident.clone());
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let Some(name) = path.path.get_ident() else { return };
        if !self.bound.contains(name) && !self.free.contains(name) {
            self.free.push(name.clone());
        }
    }
}
