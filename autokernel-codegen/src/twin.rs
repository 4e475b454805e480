//! A body as a Rust function that computes one row in `f32`: the tokens of the user's own text, each reduction a loop, each
//! value and each output another.

mod fetches;
mod function;
mod indices;
mod literals;
mod partners;
mod places;
mod score;

use autokernel_core::Role;
use autokernel_ops::body::{Body, Fetch, Kind, MadeScales, Operand, Reduction};
use autokernel_ops::expr::Axis;
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::visit::Visit;
use syn::visit_mut::{self, VisitMut};
use syn::{Error, Ident, Result};

use self::fetches::Fetches;
use self::indices::{Indices, row_number};
use self::partners::Partners;
use crate::folded::folded;
use crate::function::Called;
use crate::made_scales::made_scales;
use crate::names::{Names, imports};
use crate::words::binding_name;

pub use self::function::items as function_items;
pub use self::score::rust_function as score_function;

/// `fn row(number: Place, x: &[f32], eps: f32, out: &mut [f32]) { … }` of a body, whose operands and then whose fetches are its
/// parameters behind the row's number: slices of as many elements as a row has columns, and numbers where an operand has one a row. A reduction is
/// a loop, and so are values and outputs.
///
/// # Errors
/// A statement that no body holds.
pub fn rust_function(block: &syn::Block, body: &Body, called: &[Called]) -> Result<TokenStream> {
    let mut block = literals::typed(block);
    places::beside_generated(&mut block, body.operands.iter().map(|operand| operand.name.as_str()));
    let mut indices = Indices::default();
    indices.visit_block_mut(&mut block);
    Fetches(body).visit_block_mut(&mut block);
    let mut twin = Twin::new(body);
    let statements = block.stmts.iter().map(|statement| twin.statement(statement)).collect::<Result<Vec<_>>>()?;
    let Twin { columns, .. } = &twin;
    let parameters = passed(body).map(parameter).chain(body.fetches.iter().map(|fetch| fetched(body, fetch)));
    let picking = body.operands.iter().filter(|operand| operand.kind == Kind::Index).map(name_of);
    let (imports, own) = (imports(&block), called.iter().map(own_function));
    let (number, indices) = (row_number(), indices.values(columns));
    let is_matrix = |operand: &&Operand| operand.kind == Kind::Matrix;
    let of_fetch = || body.fetches.iter().find(|it| body.operand(&it.of).as_ref().is_some_and(is_matrix));
    let matrix = passed(body).find(is_matrix).map(name_of).or_else(|| of_fetch().map(Fetches::name));
    Ok(quote! {
        #[allow(clippy::all, clippy::pedantic, clippy::nursery)]
        fn row(#number: ::autokernel::__private::Place, #(#parameters),*) {
            #(#imports)*
            #(#own)*
            let #columns = #matrix.len();
            #(let _ = #picking;)*
            #indices
            #(#statements)*
        }
    })
}

/// A function of the crate's own, from beside the kernel, and the assertion that it is the one that the build compiled.
fn own_function(Called { name, fingerprint }: &Called) -> TokenStream {
    let message = format!(
        "`{name}` here is another function than the one that the build compiled for the GPU: it looks for \
         `#[autokernel::function]` under that name in this crate's files; give each function its own name, and mark this one"
    );
    quote! {
        use super::#name;
        const _: () = ::core::assert!(#name::FINGERPRINT == #fingerprint, #message);
    }
}

/// The operands whose row, or number, the function is handed: those whose rows or columns are their own are fetched.
fn passed(body: &Body) -> impl Iterator<Item = &Operand> {
    body.operands.iter().filter(|operand| operand.role == Role::Output || !body.has_own_axis(&operand.name))
}

/// The parameter of a fetch.
fn fetched(body: &Body, fetch: &Fetch) -> TokenStream {
    let name = Fetches::name(fetch);
    match body.operand(&fetch.of) {
        Some(operand) if !operand.kind.varies_along_row() => quote!(#name: f32),
        _ => quote!(#name: &[f32]),
    }
}

/// The parameter of an operand. No text of a body names an output, so that it cannot hide a name there.
fn parameter(operand: &Operand) -> TokenStream {
    let name = name_of(operand);
    match (operand.role, operand.kind.varies_along_row()) {
        (Role::Input, true) => quote!(#name: &[f32]),
        (Role::Input, false) => quote!(#name: f32),
        (Role::Output, true) => quote!(#name: &mut [f32]),
        (Role::Output, false) => quote!(#name: &mut f32),
    }
}

/// What an operand is called. An output has a name of its own, so that it is none of the row's own names either.
fn name_of(operand: &Operand) -> Ident {
    let name = &operand.name;
    match operand.role {
        Role::Input => ident(name, Span::call_site()),
        Role::Output => Ident::new(&format!("{}_written", name.trim_start_matches("r#")), Span::mixed_site()),
    }
}

/// An identifier, raw where it is written so.
fn ident(name: &str, span: Span) -> Ident {
    match name.strip_prefix("r#") {
        Some(name) => Ident::new_raw(name, span),
        None => Ident::new(name, span),
    }
}

/// Whether a name stands for a number of the row, or for one of each element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Along {
    Row,
    Elements,
}

struct Twin<'p> {
    operands: &'p [Operand],
    made_scales: &'p [MadeScales],
    /// Names in scope, innermost last.
    scope: Vec<(String, Along)>,
    columns: Ident,
    column: Ident,
    /// Reductions so far, for their names.
    reductions: usize,
}

impl<'p> Twin<'p> {
    fn new(body: &'p Body) -> Self {
        let Body { operands, made_scales, .. } = body;
        let inputs = operands.iter().filter(|operand| operand.role == Role::Input).map(|operand| {
            let along = if operand.kind.varies_along_row() { Along::Elements } else { Along::Row };
            (operand.name.clone(), along)
        });
        let fetches = body.fetches.iter().map(|fetch| {
            let of = body.operand(&fetch.of);
            let along = if of.is_none_or(|it| it.kind.varies_along_row()) { Along::Elements } else { Along::Row };
            (Fetches::name(fetch).to_string(), along)
        });
        let [columns, column] = ["columns", "column"].map(|name| Ident::new(name, Span::mixed_site()));
        let indices = [(Axis::Row, Along::Row), (Axis::Column, Along::Elements)];
        let counts = Axis::ALL.map(|axis| (Indices::count(axis).to_owned(), Along::Row));
        let indices = indices.map(|(axis, along)| (Indices::name(axis).to_owned(), along)).into_iter().chain(counts);
        Twin {
            operands,
            made_scales,
            scope: inputs.chain(fetches).chain(indices).collect(),
            columns,
            column,
            reductions: 0,
        }
    }

    /// A statement behind the values of partners that it sees.
    fn statement(&mut self, statement: &syn::Stmt) -> Result<TokenStream> {
        let (mut statement, mut partners) = (statement.clone(), Partners::default());
        partners.visit_stmt_mut(&mut statement);
        self.scope.extend(partners.names().map(|name| (name.to_string(), Along::Elements)));
        let (values, statement) = (partners.values(), self.own_statement(&statement)?);
        Ok(quote!(#values #statement))
    }

    fn own_statement(&mut self, statement: &syn::Stmt) -> Result<TokenStream> {
        let unreadable = || Error::new_spanned(statement, "this statement is none of a body");
        match statement {
            syn::Stmt::Local(local) => {
                let value = local.init.as_ref().ok_or_else(unreadable)?;
                self.bind(&local.pat, &value.expr)
            }
            syn::Stmt::Item(syn::Item::Const(item)) => {
                self.scope.push((item.ident.to_string(), Along::Row));
                Ok(quote!(#item))
            }
            syn::Stmt::Expr(syn::Expr::Assign(assign), _) => self.store(assign).ok_or_else(unreadable),
            _ => Err(unreadable()),
        }
    }

    fn bind(&mut self, pattern: &syn::Pat, value: &syn::Expr) -> Result<TokenStream> {
        let name = binding_name(pattern)?;
        let (value, reductions) = self.lift(value);
        let plain = match pattern {
            syn::Pat::Type(typed) => &typed.pat,
            other => other,
        };
        let elements = self.elements(&value);
        if elements.is_empty() {
            self.scope.push((name, Along::Row));
            return Ok(quote!(#reductions let #plain: f32 = #value;));
        }
        let values = self.each(&value, &elements);
        self.scope.push((name, Along::Elements));
        Ok(quote!(#reductions let #plain: ::std::vec::Vec<f32> = #values.collect();))
    }

    fn store(&mut self, assign: &syn::ExprAssign) -> Option<TokenStream> {
        let name = match &*assign.left {
            syn::Expr::Index(picked) => path_name(&picked.expr)?,
            left => made_scales(left).map_or_else(|| path_name(left), |(output, _)| Some(output.to_string()))?,
        };
        let operand = self.operands.iter().find(|operand| operand.name == name)?;
        let output = name_of(operand);
        // What reduces along columns sees the values of all rows.
        let value = folded(&assign.right).ok()?.map_or(&*assign.right, |(_, value)| value);
        let (value, reductions) = self.lift(value);
        if !operand.kind.varies_along_row() {
            return Some(quote!(#reductions *#output = #value;));
        }
        let elements = self.elements(&value);
        let scaled = self.scaled(operand);
        let Twin { columns, column, .. } = self;
        Some(quote! {
            #reductions
            for #column in 0..#columns {
                #(let #elements = #elements[#column];)*
                #output[#column] = #value;
            }
            #scaled
        })
    }

    /// What scales the blocks of an output behind its values; nothing where none are made of it.
    fn scaled(&self, output: &Operand) -> Option<TokenStream> {
        let MadeScales { scales, block, .. } = self.made_scales.iter().find(|made| made.output == output.name)?;
        let scales = self.operands.iter().find(|operand| operand.name == *scales)?;
        let (is_matrix, scales) = (scales.kind.varies_along_row(), name_of(scales));
        let scales = if is_matrix { quote!(#scales) } else { quote!(::core::slice::from_mut(#scales)) };
        let (output, largest) = (name_of(output), MadeScales::largest(output.dtype));
        let block = *block as usize;
        Some(quote!(::autokernel::__private::scale_blocks(#output, #scales, #block, #largest);))
    }

    /// The value with a name for each reduction in it, and what computes them.
    fn lift(&mut self, value: &syn::Expr) -> (syn::Expr, TokenStream) {
        let mut value = value.clone();
        let mut lift = Lift { reductions: self.reductions, lifted: Vec::new() };
        lift.visit_expr_mut(&mut value);
        self.reductions = lift.reductions;
        let lifted = lift.lifted.iter().map(|(name, reduction, of)| {
            let (function, values) = (format_ident!("{}", reduction.name()), self.each(of, &self.elements(of)));
            quote!(let #name = ::autokernel::__private::#function(#values);)
        });
        let statements = quote!(#(#lifted)*);
        (value, statements)
    }

    /// An iterator over the values of each element.
    fn each(&self, value: &syn::Expr, elements: &[Ident]) -> TokenStream {
        let Twin { columns, column, .. } = self;
        quote! {
            (0..#columns).map(|#column| {
                #(let #elements = #elements[#column];)*
                #value
            })
        }
    }

    /// The names in a value that differ along a row, each once.
    fn elements(&self, value: &syn::Expr) -> Vec<Ident> {
        let mut names = Names::default();
        names.visit_expr(value);
        let is_element = |name: &Ident| {
            let found = self.scope.iter().rev().find(|(known, _)| name == known);
            found.is_some_and(|(_, along)| *along == Along::Elements)
        };
        names.free.into_iter().filter(is_element).collect()
    }
}

/// The name that an expression is.
fn path_name(expr: &syn::Expr) -> Option<String> {
    let syn::Expr::Path(path) = expr else { return None };
    path.path.get_ident().map(Ident::to_string)
}

/// Takes reductions out of a value, innermost first.
struct Lift {
    reductions: usize,
    lifted: Vec<(Ident, Reduction, syn::Expr)>,
}

impl VisitMut for Lift {
    fn visit_expr_mut(&mut self, expr: &mut syn::Expr) {
        visit_mut::visit_expr_mut(self, expr);
        let syn::Expr::Call(call) = expr else { return };
        let syn::Expr::Path(path) = &*call.func else { return };
        let reduction = path.path.get_ident().and_then(|name| Reduction::from_name(&name.to_string()));
        let (Some(reduction), Some(of)) = (reduction, call.args.first().cloned()) else { return };
        // Names are told apart by their letters alone: no user has this one.
        let name = Ident::new(&format!("reduction_{}_of_the_row", self.reductions), Span::mixed_site());
        self.reductions += 1;
        *expr = syn::Expr::Path(syn::ExprPath { attrs: Vec::new(), qself: None, path: name.clone().into() });
        self.lifted.push((name, reduction, of));
    }
}

#[cfg(test)]
#[path = "twin_tests.rs"]
mod tests;
