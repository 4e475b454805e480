//! Outputs that lie transposed: `out.t() = dot(a, b) + bias;`, read as the product of the other order that is stored.

use autokernel_ops::body::{Kind, Reduction};
use autokernel_ops::expr::Axis;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Error, Expr, FnArg, Ident, Result, Signature, Stmt, parse_quote_spanned};

use super::parameter;
use crate::mistakes::Mistakes;
use crate::translate::{Scaled, scaled_factor};
use crate::words::{DOT, REPEAT_COLUMNS, ROTATE_HALF, ROTATE_PAIRS, binding_name};

/// What is said of a body that a transposed result does not carry over.
const AS_IT_LIES: &str = "write `out = …;`";

/// Makes of a function that writes `out.t() = …` one that writes what is stored: the factors of `dot` change places, `Row` and `Column`
/// too, and so do `row_index()` and `column_index()`. Whether it was one.
///
/// # Errors
/// What has no such form, each with its remedy.
pub fn split(sig: &mut Signature, block: &mut Block) -> Result<bool> {
    let is_one = block.stmts.iter_mut().filter_map(assigned).any(|(left, _)| transposed(left).is_some());
    if !is_one || !crate::names::calls(block).iter().any(|name| name == DOT) {
        return Ok(false);
    }
    let mut mistakes = Mistakes::default();
    for input in &sig.inputs {
        mistakes.note(check_parameter(input));
    }
    let matrices = sig.inputs.iter().filter(|input| parameter::is_of_elements(input));
    let matrices = matrices.filter_map(parameter::name).cloned().collect();
    let mut pass = Transpose { matrices, hidden: Vec::new(), first_factor: None, mistakes };
    for statement in &mut block.stmts {
        pass.statement(statement);
    }
    pass.mistakes.into_result()?;
    sig.inputs.iter_mut().for_each(swap_container);
    Ok(true)
}

/// Complains of whole numbers of few bits, which are second factors, where they are first ones of what is stored.
///
/// # Errors
/// The parameter is one.
pub fn check_weights<'i>(block: &Block, inputs: impl Iterator<Item = &'i FnArg> + Clone) -> Result<()> {
    let mut factors = FirstFactors::default();
    factors.visit_block_mut(&mut block.clone());
    let element = |name: &Ident| {
        let input = inputs.clone().find(|input| parameter::name(input) == Some(name))?;
        Some((input, parameter::element(input)?.path.segments.last()?.ident.to_string()))
    };
    for (first, second) in factors.0 {
        let (Some((input, weights)), Some((_, other))) = (element(&first), element(&second)) else { continue };
        if ["i8", "i4x2"].contains(&weights.as_str()) && weights != other {
            let message = format!(
                "weights of {weights} are the second factor of what is stored, and of `out.t() = …` they are the first; {AS_IT_LIES}, \
                 and transpose where it is read"
            );
            return Err(Error::new_spanned(input, message));
        }
    }
    Ok(())
}

/// What a statement assigns to, and the value.
fn assigned(statement: &mut Stmt) -> Option<(&mut Expr, &mut Expr)> {
    use syn::BinOp::{AddAssign, DivAssign, MulAssign, RemAssign, SubAssign};
    let Stmt::Expr(expr, _) = statement else { return None };
    match expr {
        Expr::Assign(assign) => Some((&mut assign.left, &mut assign.right)),
        Expr::Binary(syn::ExprBinary {
            left,
            op: AddAssign(_) | SubAssign(_) | MulAssign(_) | DivAssign(_) | RemAssign(_),
            right,
            ..
        }) => Some((left, right)),
        _ => None,
    }
}

/// `x` of `x.t()`.
fn transposed(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Paren(paren) => transposed(&paren.expr),
        Expr::MethodCall(call) if call.method == "t" && call.args.is_empty() => Some(&call.receiver),
        _ => None,
    }
}

/// The other order of a factor.
fn turned(factor: &Expr) -> Expr {
    match transposed(factor) {
        Some(of) => of.clone(),
        None => parse_quote_spanned!(syn::spanned::Spanned::span(factor)=> #factor.t()),
    }
}

fn name(expr: &Expr) -> Option<&Ident> {
    let Expr::Path(path) = expr else { return None };
    path.path.get_ident()
}

/// What cannot be an operand beside results that lie transposed.
fn check_parameter(input: &FnArg) -> Result<()> {
    if parameter::is_index(input) {
        let message = format!(
            "an `Index` divides rows of what is stored, and of `out.t() = …` these are columns; {AS_IT_LIES} with the factors in the other \
             order, `dot(b.t(), a.t())`"
        );
        return Err(Error::new_spanned(input, message));
    }
    if parameter::is_written(input) && !parameter::is_of_elements(input) {
        let message = format!(
            "what is reduced goes along rows of what is stored, and of `out.t() = …` these are columns; {AS_IT_LIES}, or reduce in \
             `#[autokernel::rows]`, on what this kernel writes"
        );
        return Err(Error::new_spanned(input, message));
    }
    Ok(())
}

/// `Column` for `Row`, and the other way round; of batches too.
fn swap_container(input: &mut FnArg) {
    let Some(container) = parameter::container_mut(input) else { return };
    let (row, column) = (Kind::Row.name(), Kind::Column.name());
    let written = container.to_string();
    let other = match written.strip_prefix(row) {
        Some(rest) => format!("{column}{rest}"),
        None => match written.strip_prefix(column) {
            Some(rest) => format!("{row}{rest}"),
            None => return,
        },
    };
    *container = Ident::new(&other, container.span());
}

/// Writes the body of what is stored.
struct Transpose {
    /// The operands that have an element for each row and column.
    matrices: Vec<Ident>,
    /// Names that values have from here on.
    hidden: Vec<String>,
    /// The first factor of the products so far, as stored, and whether it is taken transposed.
    first_factor: Option<(String, bool)>,
    mistakes: Mistakes,
}

impl Transpose {
    fn statement(&mut self, statement: &mut Stmt) {
        let Some((left, right)) = assigned(statement) else { return self.visit_stmt_mut(statement) };
        match transposed(left).cloned() {
            Some(output) => *left = output,
            None => {
                let message = "all outputs of a kernel lie alike; write `….t() = …;` for each of them, or for none";
                self.mistakes.push(Error::new_spanned(&*left, message));
            }
        }
        self.visit_expr_mut(right);
    }

    fn is_matrix(&self, name: &Ident) -> bool {
        self.matrices.contains(name) && !self.hidden.iter().any(|hidden| name == hidden)
    }

    fn hide(&mut self, name: Result<String>) {
        self.hidden.extend(name);
    }

    fn call(&mut self, call: &mut syn::ExprCall) {
        let Some(called) = name(&call.func).map(ToString::to_string) else {
            return visit_mut::visit_expr_call_mut(self, call);
        };
        let other = |axis: Axis| if axis == Axis::Row { Axis::Column } else { Axis::Row };
        match (called.as_str(), Axis::from_name(&called)) {
            (DOT, _) => self.product(call),
            (_, Some(axis)) => rename(call, other(axis).name()),
            (count, None) if Axis::from_count(count).is_some() => {
                let axis = Axis::from_count(count).map_or(Axis::Row, other);
                rename(call, axis.count());
            }
            (ROTATE_HALF | ROTATE_PAIRS | REPEAT_COLUMNS, _) => {
                let message = format!(
                    "`{called}` goes along rows of what is stored, and of `out.t() = …` these are columns; {AS_IT_LIES}, or do this in \
                     `#[autokernel::rows]`, on what this kernel writes"
                );
                self.mistakes.push(Error::new_spanned(&*call, message));
            }
            _ if Reduction::from_name(&called).or_else(|| Reduction::from_column_name(&called)).is_some() => {
                let message = format!(
                    "`{called}` goes along rows of what is stored, and of `out.t() = …` these are columns; {AS_IT_LIES}, or reduce in \
                     `#[autokernel::rows]`, on what this kernel writes"
                );
                self.mistakes.push(Error::new_spanned(&*call, message));
            }
            _ => visit_mut::visit_expr_call_mut(self, call),
        }
    }

    /// `dot(b.t(), a.t())` of `dot(a, b)`.
    fn product(&mut self, call: &mut syn::ExprCall) {
        let [a, b] = &call.args.iter().cloned().collect::<Vec<_>>()[..] else { return };
        let is_scaled = |factor| matches!(scaled_factor(factor), Ok(Scaled { scales: Some(_), .. }));
        if let Some(factor) = [a, b].into_iter().find(|factor| is_scaled(factor)) {
            let message = format!(
                "scales within `dot` are of a first and of a second factor, which change places in `out.t() = …`; scale the product behind \
                 it by a `Row` and a `Column`, or {AS_IT_LIES}"
            );
            return self.mistakes.push(Error::new_spanned(factor, message));
        }
        let first = turned(b);
        let named = scaled_factor(&first).map(|of| (of.matrix.to_string(), of.is_transposed)).ok();
        if self.first_factor.is_some() && self.first_factor != named {
            let message = format!(
                "two products of a kernel have the same first factor, which of `out.t() = …` is the second one, `dot(a, w)` and `dot(b, \
                 w)`; {AS_IT_LIES}, or write one product to a matrix first"
            );
            self.mistakes.push(Error::new_spanned(&*call, message));
        }
        call.args = [first, turned(a)].into_iter().collect();
        self.first_factor = named;
    }
}

/// The call of a function of another name.
fn rename(call: &mut syn::ExprCall, other: &str) {
    let other = Ident::new(other, syn::spanned::Spanned::span(&*call.func));
    *call.func = parse_quote_spanned!(other.span()=> #other);
}

impl VisitMut for Transpose {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Some(of) = transposed(expr).cloned() {
            match name(&of) {
                Some(operand) if self.is_matrix(operand) => *expr = of,
                _ => {
                    let message =
                        "`.t()` is of a matrix beside a product that lies transposed, and of its factors; leave it out";
                    self.mistakes.push(Error::new_spanned(&*expr, message));
                }
            }
            return;
        }
        match expr {
            Expr::Call(call) => self.call(call),
            Expr::Path(path) => {
                let Some(operand) = path.path.get_ident().filter(|name| self.is_matrix(name)) else { return };
                let message = format!(
                    "`{operand}` lies as `[m, n]`, and what is written as `[n, m]`; store it so too, and write `{operand}.t()`"
                );
                self.mistakes.push(Error::new_spanned(path, message));
            }
            other => visit_mut::visit_expr_mut(self, other),
        }
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        let outer = self.hidden.len();
        visit_mut::visit_block_mut(self, block);
        self.hidden.truncate(outer);
    }

    fn visit_local_mut(&mut self, local: &mut syn::Local) {
        visit_mut::visit_local_mut(self, local);
        self.hide(binding_name(&local.pat));
    }

    fn visit_item_const_mut(&mut self, item: &mut syn::ItemConst) {
        visit_mut::visit_item_const_mut(self, item);
        self.hide(Ok(item.ident.to_string()));
    }
}

/// The factors of each product, by their names.
#[derive(Default)]
struct FirstFactors(Vec<(Ident, Ident)>);

impl VisitMut for FirstFactors {
    fn visit_expr_call_mut(&mut self, call: &mut syn::ExprCall) {
        visit_mut::visit_expr_call_mut(self, call);
        let of = |factor: Option<&Expr>| factor.and_then(|it| scaled_factor(it).ok()).map(|it| it.matrix.clone());
        if name(&call.func).is_some_and(|name| name == DOT) {
            self.0.extend(of(call.args.first()).zip(of(call.args.get(1))));
        }
    }
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;
    use quote::{ToTokens, quote};

    use super::*;

    fn of(item: TokenStream) -> Result<(String, String, bool)> {
        let mut function: syn::ItemFn = syn::parse2(item).unwrap();
        let is_one = split(&mut function.sig, &mut function.block)?;
        let inputs = function.sig.inputs.to_token_stream().to_string();
        Ok((inputs, function.block.to_token_stream().to_string(), is_one))
    }

    #[test]
    fn what_is_stored_is_the_product_of_the_other_order() {
        let (inputs, body, is_one) = of(quote!(
            fn f(
                x: &Matrix<T>,
                w: &Matrix<T>,
                bias: &Row<f32>,
                scale: &ColumnBatch<f32>,
                skip: &Matrix<T>,
                out: &mut Matrix<T>,
            ) {
                let y = gelu(dot(x, w.t()) + bias);
                let skip = skip.t() * row_index() + rows();
                out.t() = columns() * y * scale + skip - {
                    let out = column_index();
                    out
                } + out.t();
            }
        ))
        .unwrap();
        let expected = quote!(x: &Matrix<T>, w: &Matrix<T>, bias: &Column<f32>, scale: &RowBatch<f32>, skip: &Matrix<T>, out: &mut Matrix<T>,);
        assert_eq!((inputs, is_one), (expected.to_string(), true));
        let expected = quote!({
            let y = gelu(dot(w, x.t()) + bias);
            let skip = skip * column_index() + columns();
            out = rows() * y * scale + skip - {
                let out = row_index();
                out
            } + out;
        });
        assert_eq!(body, expected.to_string());
    }

    #[test]
    fn two_products_of_one_second_factor_are_two_of_one_first_factor() {
        let (_, body, _) = of(quote!(
            fn f(a: &Matrix<T>, b: &Matrix<T>, w: &Matrix<T>, out: &mut Matrix<T>) {
                out.t() += dot(a, w) * dot(b.t(), (w));
            }
        ))
        .unwrap();
        assert!(body.contains("out += dot (w . t () , a . t ())"), "{body}");
    }

    #[test]
    fn what_lies_as_it_is_written_stays_as_it_is() {
        for body in [quote!(out = dot(x, w.t()) + skip;), quote!(out.t() = x;)] {
            let item = quote!(fn f(x: &Matrix<T>, w: &Matrix<T>, skip: &Row<T>, out: &mut Matrix<T>) { #body });
            let (inputs, text, is_one) = of(item).unwrap();
            assert_eq!((text, is_one), (quote!({ #body }).to_string(), false));
            assert!(inputs.contains("skip : & Row < T >"), "{inputs}");
        }
    }

    #[test]
    fn what_has_no_such_form_is_refused_with_its_remedy() {
        for (parameters, body, remedy) in [
            (quote!(), quote!(out.t() = dot(x, w.t()) + skip;), "and write `skip.t()`"),
            (
                quote!(, more: &mut Matrix<T>),
                quote!(out.t() = dot(x, w.t()); more = 1.0;),
                "for each of them, or for none",
            ),
            (
                quote!(, sum: &mut Column<T>),
                quote!(out.t() = dot(x, w.t()); sum = 1.0;),
                "or reduce in `#[autokernel::rows]`",
            ),
            (quote!(), quote!(let y = dot(x, w.t()); out.t() = y - row_max(y);), "or reduce in `#[autokernel::rows]`"),
            (
                quote!(),
                quote!(let y = dot(x, w.t()); out.t() = rotate_pairs(y);),
                "or do this in `#[autokernel::rows]`",
            ),
            (quote!(), quote!(out.t() = dot(x, (w * scales).t());), "scale the product behind it"),
            (quote!(, offsets: &Index), quote!(out.t() = dot(x, w.t());), "in the other order, `dot(b.t(), a.t())`"),
            (quote!(), quote!(out.t() = dot(x, w.t()) * dot(x, skip.t());), "write one product to a matrix first"),
            (quote!(), quote!(let y = dot(x, w.t()); out.t() = y.t();), "leave it out"),
        ] {
            let item =
                quote!(fn f(x: &Matrix<T>, w: &Matrix<T>, skip: &Matrix<T>, out: &mut Matrix<T> #parameters) { #body });
            let refused = of(item).unwrap_err().to_string();
            assert!(refused.contains(remedy), "{body}: {refused}");
        }
    }

    #[test]
    fn weights_of_few_bits_are_no_first_factor() {
        let function: syn::ItemFn = syn::parse2(quote!(
            fn f(w: &Matrix<i8>, x: &Matrix<bf16>) {
                out = dot(w, x.t());
            }
        ))
        .unwrap();
        let refused = check_weights(&function.block, function.sig.inputs.iter()).unwrap_err().to_string();
        assert!(refused.contains("weights of i8") && refused.contains("write `out = …;`"), "{refused}");
    }
}
