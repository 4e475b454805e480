//! A body as its author would have written it: for kernels that are derived from others.

use autokernel_core::{Dtype, Role};
use autokernel_ops::body::{Body, Columns, Fetch, Kind, Operand, Step};
use autokernel_ops::expr::{BinaryOp, CompareOp, Condition, Expr, Math};
use autokernel_ops::matmul::body::Product;
use autokernel_ops::matmul::problem::Layout;
use proc_macro2::{Literal, Span, TokenStream};
use quote::{format_ident, quote};
use syn::Ident;

use crate::words::DOT;

/// `x: &Matrix<bf16>`, whose elements are of the type parameter where there is one.
pub fn parameter(operand: &Operand, generic: Option<&Ident>) -> TokenStream {
    let (name, kind) = (name(&operand.name), format_ident!("{}", operand.container()));
    let element = generic.map_or_else(|| element(operand.dtype), |generic| quote!(#generic));
    match (operand.kind, operand.role) {
        (Kind::Scalar, _) => quote!(#name: f32),
        (Kind::Index, _) => quote!(#name: &::autokernel::Index),
        (_, Role::Input) => quote!(#name: &::autokernel::#kind<#element>),
        (_, Role::Output) => quote!(#name: &mut ::autokernel::#kind<#element>),
    }
}

/// An element type where no name of it is in scope.
pub fn element(dtype: Dtype) -> TokenStream {
    match dtype {
        Dtype::F32 => quote!(f32),
        Dtype::I32 => quote!(i32),
        Dtype::I8 => quote!(i8),
        dtype => {
            let name = format_ident!("{}", dtype.name());
            quote!(::autokernel::#name)
        }
    }
}

/// The statement that binds a product.
pub fn product(Product { name, a, b, .. }: &Product, layout: Layout) -> TokenStream {
    let factor = |of: &str, is_transposed: bool| {
        let of = self::name(of);
        if is_transposed { quote!(#of.t()) } else { quote!(#of) }
    };
    let (name, dot) = (self::name(name), format_ident!("{DOT}"));
    let (a, b) = (factor(a, layout.transpose_a()), factor(b, layout.transpose_b()));
    quote!(let #name = #dot(#a, #b);)
}

/// The statements of a body.
pub fn statements(body: &Body) -> TokenStream {
    let text = Text { fetches: &body.fetches };
    let statements = body.steps.iter().map(|step| match step {
        Step::Let { name, value } => {
            let (name, value) = (self::name(name), text.number(value));
            quote!(let #name = #value;)
        }
        Step::Reduce { name, reduction, of } => {
            let (name, function, of) = (self::name(name), format_ident!("{}", reduction.name()), text.number(of));
            quote!(let #name = #function(#of);)
        }
        Step::Store { output, row, fold, value } => {
            let (output, mut value) = (name(output), text.number(value));
            if let Some(fold) = fold {
                let function = format_ident!("{}", fold.column_name());
                value = quote!(#function(#value));
            }
            match row.as_deref().map(name) {
                Some(row) => quote!(#output[#row] = #value;),
                None => quote!(#output = #value;),
            }
        }
    });
    quote!(#(#statements)*)
}

/// An identifier, raw where it is written so.
fn name(name: &str) -> Ident {
    match name.strip_prefix("r#") {
        Some(name) => Ident::new_raw(name, Span::call_site()),
        None => Ident::new(name, Span::call_site()),
    }
}

struct Text<'b> {
    fetches: &'b [Fetch],
}

impl Text<'_> {
    /// An expression by itself.
    fn number(&self, expr: &Expr) -> TokenStream {
        match expr {
            Expr::Variable(of) => {
                let fetch = self.fetches.iter().find(|fetch| fetch.name == *of);
                fetch.map_or_else(|| name_tokens(of), fetched)
            }
            Expr::Literal(value) => literal(*value),
            Expr::Index(axis) => {
                let function = format_ident!("{}", axis.name());
                quote!(#function())
            }
            Expr::Extent(axis) => {
                let function = format_ident!("{}", axis.count());
                quote!(#function())
            }
            Expr::Negate(value) => {
                let value = self.part(value);
                quote!(-#value)
            }
            Expr::Binary(op, left, right) => {
                let (left, right) = (self.part(left), self.part(right));
                match op {
                    BinaryOp::Add => quote!(#left + #right),
                    BinaryOp::Subtract => quote!(#left - #right),
                    BinaryOp::Multiply => quote!(#left * #right),
                    BinaryOp::Divide => quote!(#left / #right),
                    BinaryOp::Remainder => quote!(#left % #right),
                }
            }
            Expr::Call(function, arguments) => self.call(*function, arguments),
            Expr::If(condition, then, otherwise) => {
                let (condition, then, otherwise) = (self.truth(condition), self.number(then), self.number(otherwise));
                quote!(if #condition { #then } else { #otherwise })
            }
        }
    }

    /// An expression in another one.
    fn part(&self, expr: &Expr) -> TokenStream {
        let text = self.number(expr);
        match expr {
            Expr::Literal(value) if value.is_sign_negative() => quote!((#text)),
            Expr::Variable(_) | Expr::Literal(_) | Expr::Index(_) | Expr::Extent(_) | Expr::Call(..) => text,
            Expr::Negate(_) | Expr::Binary(..) | Expr::If(..) => quote!((#text)),
        }
    }

    fn call(&self, function: Math, arguments: &[Expr]) -> TokenStream {
        let name = format_ident!("{}", function.name());
        match arguments.split_first() {
            Some((receiver, others)) if function.is_method() => {
                let (receiver, others) = (self.part(receiver), others.iter().map(|other| self.number(other)));
                quote!(#receiver.#name(#(#others),*))
            }
            _ => {
                let arguments = arguments.iter().map(|argument| self.number(argument));
                quote!(#name(#(#arguments),*))
            }
        }
    }

    fn truth(&self, condition: &Condition) -> TokenStream {
        match condition {
            Condition::Compare(op, left, right) => {
                let (left, right) = (self.part(left), self.part(right));
                match op {
                    CompareOp::Less => quote!(#left < #right),
                    CompareOp::LessEqual => quote!(#left <= #right),
                    CompareOp::Greater => quote!(#left > #right),
                    CompareOp::GreaterEqual => quote!(#left >= #right),
                    CompareOp::Equal => quote!(#left == #right),
                    CompareOp::NotEqual => quote!(#left != #right),
                }
            }
            Condition::Not(condition) => {
                let condition = self.truth(condition);
                quote!(!(#condition))
            }
            Condition::And(left, right) => {
                let (left, right) = (self.truth(left), self.truth(right));
                quote!((#left) && (#right))
            }
            Condition::Or(left, right) => {
                let (left, right) = (self.truth(left), self.truth(right));
                quote!((#left) || (#right))
            }
        }
    }
}

fn name_tokens(of: &str) -> TokenStream {
    let name = name(of);
    quote!(#name)
}

fn literal(value: f32) -> TokenStream {
    let positive = match value.abs() {
        // No text of a number is infinite.
        size if size.is_infinite() => quote!((1.0 / 0.0)),
        size if size.is_nan() => return quote!((0.0 / 0.0)),
        size => {
            let size = Literal::f32_unsuffixed(size);
            quote!(#size)
        }
    };
    if value.is_sign_negative() { quote!(-#positive) } else { positive }
}

fn fetched(fetch: &Fetch) -> TokenStream {
    let of = name(&fetch.of);
    let picked = match fetch.row.as_deref().map(name) {
        Some(row) => quote!(#of[#row]),
        None => quote!(#of),
    };
    match fetch.columns {
        Columns::Same => picked,
        Columns::RotateHalf(head) => {
            let head = Literal::u32_unsuffixed(head);
            quote!(rotate_half(#picked, #head))
        }
        Columns::RotatePairs => quote!(rotate_pairs(#picked)),
        Columns::Repeat => quote!(repeat_columns(#picked)),
    }
}
