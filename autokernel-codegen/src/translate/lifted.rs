//! Calls in a body that are no arithmetic on one element, or say where it stands, and those of the built-in epilogues.

use autokernel_ops::body::Reduction;
use autokernel_ops::declaration::Factors;
use autokernel_ops::epilogue::Epilogue;
use autokernel_ops::expr::{Axis, Expr};
use quote::ToTokens;
use syn::{Error, Ident, Result};

use super::{Bound, Text, Translator, Value};
use crate::fetched::picked_row;
use crate::words::{DOT, takes};

impl Translator<'_> {
    /// The value of a call that is a reduction, a product or an epilogue; none of another one.
    pub(super) fn lifted(&mut self, name: &str, call: &syn::ExprCall) -> Option<Result<Expr>> {
        if let Some(reduction) = Reduction::from_name(name) {
            return Some(self.reduction(call, reduction));
        }
        if Reduction::from_column_name(name).is_some() {
            let message = format!(
                "`{name}` gives one number a column, which is known behind the last row: an output is given all of it, \
                 `out = {name}(…);`, and another kernel reads that"
            );
            return Some(Err(Error::new_spanned(call, message)));
        }
        if let Some(axis) = Axis::from_name(name) {
            return Some(self.index(call, axis));
        }
        if let Some(axis) = Axis::from_count(name).filter(|_| self.text != Text::Epilogue) {
            return Some(self.extent(call, axis));
        }
        match self.text {
            Text::Epilogue => None,
            Text::Function | Text::Body if name == DOT => Some(self.product(call)),
            Text::Function | Text::Body => {
                let epilogue = Epilogue::of_bodies().into_iter().find(|epilogue| epilogue.name() == name)?;
                Some(self.epilogue(call, &epilogue))
            }
        }
    }

    /// A reduction, which becomes a value of its own; the same one twice is one value.
    fn reduction(&mut self, call: &syn::ExprCall, reduction: Reduction) -> Result<Expr> {
        let name = reduction.name();
        if self.text == Text::Epilogue {
            let message = format!("`{name}` reduces a row, and an epilogue sees one element; leave it out");
            return Err(Error::new_spanned(call, message));
        }
        self.refuse_in_function(call, name)?;
        self.refuse_branch(
            call,
            &format!("a row is reduced whether a branch is taken or not; bind it before: `let r = {name}(…);`"),
        )?;
        let [of] = &call.args.iter().collect::<Vec<_>>()[..] else {
            return Err(Error::new_spanned(
                call,
                format!("`{name}` takes the one number that it reduces: `{name}(x)`"),
            ));
        };
        let of = self.number(of)?;
        Ok(self.lift(name, call, Value::Reduced(reduction, of)))
    }

    /// `row_index()` or `column_index()`.
    fn index(&self, call: &syn::ExprCall, axis: Axis) -> Result<Expr> {
        let name = axis.name();
        if self.text == Text::Epilogue {
            let message =
                format!("`{name}` is where an element stands, and an epilogue sees its value alone; leave it out");
            return Err(Error::new_spanned(call, message));
        }
        self.refuse_in_function(call, name)?;
        if call.args.is_empty() {
            Ok(Expr::Index(axis))
        } else {
            Err(Error::new_spanned(call, takes(name, 0, call.args.len())))
        }
    }

    /// `rows()` or `columns()`.
    fn extent(&self, call: &syn::ExprCall, axis: Axis) -> Result<Expr> {
        self.refuse_in_function(call, axis.count())?;
        if call.args.is_empty() {
            Ok(Expr::Extent(axis))
        } else {
            Err(Error::new_spanned(call, takes(axis.count(), 0, call.args.len())))
        }
    }

    /// `dot(a, b)`, where either may have `.t()`, of two matrices, which becomes a value of its own.
    fn product(&mut self, call: &syn::ExprCall) -> Result<Expr> {
        self.refuse_in_function(call, DOT)?;
        self.refuse_branch(
            call,
            "a product is summed whether a branch is taken or not; bind it before: `let y = dot(…);`",
        )?;
        let [a, b] = &call.args.iter().collect::<Vec<_>>()[..] else {
            let message = "`dot` takes two matrices: `dot(a, b)`, with `.t()` after one that is stored transposed";
            return Err(Error::new_spanned(call, message));
        };
        let (of_a, of_b) = (scaled_factor(a)?, scaled_factor(b)?);
        if of_b.rows.is_some() {
            let message = "an index picks rows of the first factor, `dot(x[rows], w.t())`; swap the factors, or gather in `#[autokernel::rows]`";
            return Err(Error::new_spanned(b, message));
        }
        if of_a.zeros.is_some() {
            let message = "zero points are of the second factor, the weights: `dot(x, ((w - zeros) * scales).t())`";
            return Err(Error::new_spanned(a, message));
        }
        for factor in [&of_a, &of_b] {
            for name in [Some(factor.matrix), factor.rows, factor.zeros, factor.scales].into_iter().flatten() {
                self.refuse_hidden(name)?;
            }
        }
        let name = |ident: Option<&Ident>| ident.map(Ident::to_string);
        let factors = Factors {
            a: of_a.matrix.to_string(),
            rows: name(of_a.rows),
            transpose_a: of_a.is_transposed,
            a_scales: name(of_a.scales),
            b: of_b.matrix.to_string(),
            transpose_b: of_b.is_transposed,
            scales: name(of_b.scales),
            zeros: name(of_b.zeros),
        };
        Ok(self.lift(DOT, call, Value::Product(factors)))
    }

    /// An epilogue, whose text is put in the place of its call.
    fn epilogue(&mut self, call: &syn::ExprCall, epilogue: &Epilogue) -> Result<Expr> {
        let (function, parameters) = (epilogue.function(), epilogue.arguments().len());
        if call.args.len() != 1 + parameters {
            let arguments: String = epilogue.arguments().iter().map(|value| format!(", {value:?}")).collect();
            let message = takes(epilogue.name(), 1 + parameters, call.args.len());
            let message = format!("{message}; write `{}(x{arguments})`", epilogue.name());
            return Err(Error::new_spanned(call, message));
        }
        let arguments = call.args.iter().map(|argument| self.number(argument)).collect::<Result<Vec<_>>>()?;
        let names = std::iter::once(&function.parameter).chain(function.bindings.iter().map(|binding| &binding.name));
        // The first bindings are the parameters beside the element.
        let bodies = function.bindings.iter().skip(parameters).map(|binding| &binding.value);
        let values = arguments.into_iter().chain(bodies.cloned());
        let mut renamed: Vec<(&str, String)> = Vec::new();
        for (name, value) in names.zip(values) {
            let value = rename(&value, if renamed.len() > parameters { &renamed } else { &[] });
            let unique = self.unique(&format!("{}_{name}", epilogue.name()));
            self.bound.push(Bound {
                name: unique.clone(),
                value: Value::Number(value),
                tokens: call.to_token_stream(),
            });
            renamed.push((name, unique));
        }
        Ok(rename(&function.result, &renamed))
    }

    /// The name of a value that stands for `call`; of an equal one where there is one.
    pub(super) fn lift(&mut self, name: &str, call: &impl ToTokens, value: Value) -> Expr {
        if let Some(known) = self.bound.iter().find(|bound| bound.value == value) {
            return Expr::Variable(known.name.clone());
        }
        let unique = self.unique(name);
        self.bound.push(Bound { name: unique.clone(), value, tokens: call.to_token_stream() });
        Expr::Variable(unique)
    }

    pub(super) fn refuse_in_function(&self, call: &impl ToTokens, name: &str) -> Result<()> {
        let message = format!(
            "`{name}` is a kernel's, and a function computes a number from numbers; pass its value as an argument"
        );
        if self.text == Text::Function { Err(Error::new_spanned(call, message)) } else { Ok(()) }
    }

    fn refuse_branch(&self, call: &syn::ExprCall, message: &str) -> Result<()> {
        if self.depth > 0 { Err(Error::new_spanned(call, message)) } else { Ok(()) }
    }
}

/// What is said of an expression that is no factor.
fn refused(written: &syn::Expr) -> Error {
    let message = "a factor of `dot` is an operand by its name, `w` or `w.t()`, or with scales `x * scales` or \
                   `(w * scales).t()`: products are taken of matrices as they lie in memory";
    Error::new_spanned(written, message)
}

/// The matrix that a factor of a product names, and whether it is taken transposed.
fn factor(written: &syn::Expr) -> Result<(&Ident, bool)> {
    let refused = || refused(written);
    match written {
        syn::Expr::Path(path) => Ok((path.path.get_ident().ok_or_else(refused)?, false)),
        syn::Expr::Paren(inner) => factor(&inner.expr),
        syn::Expr::MethodCall(call) if call.method == "t" && call.args.is_empty() => match factor(&call.receiver)? {
            (name, false) => Ok((name, true)),
            (_, true) => Err(refused()),
        },
        _ => Err(refused()),
    }
}

/// What a factor of a product names.
#[derive(Clone, Copy)]
pub struct Scaled<'e> {
    /// The matrix.
    pub matrix: &'e Ident,
    /// The index that picks its rows.
    pub rows: Option<&'e Ident>,
    /// What is subtracted from it before it is scaled.
    pub zeros: Option<&'e Ident>,
    /// Its scales.
    pub scales: Option<&'e Ident>,
    /// Whether it is taken transposed.
    pub is_transposed: bool,
}

/// What a factor names: beside what [`factor`] reads also `x[rows]`, `x * scales`, `(w * scales).t()` and `((w - zeros) * scales).t()`.
pub fn scaled_factor(written: &syn::Expr) -> Result<Scaled<'_>> {
    match written {
        syn::Expr::Paren(inner) => scaled_factor(&inner.expr),
        syn::Expr::Index(picked) => {
            let (matrix, rows) = picked_row(picked)?;
            Ok(Scaled { matrix, rows: Some(rows), zeros: None, scales: None, is_transposed: false })
        }
        syn::Expr::MethodCall(call) if call.method == "t" && call.args.is_empty() => {
            match scaled_factor(&call.receiver)? {
                scaled @ Scaled { scales: Some(_), is_transposed: false, .. } => {
                    Ok(Scaled { is_transposed: true, ..scaled })
                }
                Scaled { rows: Some(_), .. } => {
                    let message = "rows that an index picks are multiplied along themselves, `dot(x[rows], w.t())`; gather what is \
                                   transposed in `#[autokernel::rows]`";
                    Err(Error::new_spanned(written, message))
                }
                _ => unscaled(written),
            }
        }
        syn::Expr::Binary(syn::ExprBinary { left, op: syn::BinOp::Mul(_), right, .. }) => {
            match (less_zeros(left), factor(right)) {
                (Ok((matrix, zeros)), Ok((scales, false))) => {
                    Ok(Scaled { matrix, rows: None, zeros, scales: Some(scales), is_transposed: false })
                }
                _ => unscaled(written),
            }
        }
        syn::Expr::Binary(syn::ExprBinary { op: syn::BinOp::Sub(_), .. }) if less_zeros(written).is_ok() => {
            let message = "zero points stand beside scales of groups: `((w - zeros) * scales).t()`";
            Err(Error::new_spanned(written, message))
        }
        _ => unscaled(written),
    }
}

/// The matrix of `w` or `(w - zeros)`, and what is subtracted.
fn less_zeros(written: &syn::Expr) -> Result<(&Ident, Option<&Ident>)> {
    match written {
        syn::Expr::Paren(inner) => less_zeros(&inner.expr),
        syn::Expr::Binary(syn::ExprBinary { left, op: syn::BinOp::Sub(_), right, .. }) => {
            match (factor(left)?, factor(right)?) {
                ((matrix, false), (zeros, false)) => Ok((matrix, Some(zeros))),
                _ => Err(refused(written)),
            }
        }
        _ => match factor(written)? {
            (matrix, false) => Ok((matrix, None)),
            (_, true) => Err(refused(written)),
        },
    }
}

fn unscaled(written: &syn::Expr) -> Result<Scaled<'_>> {
    let (matrix, is_transposed) = factor(written)?;
    Ok(Scaled { matrix, rows: None, zeros: None, scales: None, is_transposed })
}

/// The expression with other names for those that are listed.
fn rename(expr: &Expr, names: &[(&str, String)]) -> Expr {
    expr.renamed(&|name| {
        let other = names.iter().find(|(old, _)| *old == name);
        other.map_or_else(|| name.to_owned(), |(_, new)| new.clone())
    })
}
