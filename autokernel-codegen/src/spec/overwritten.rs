//! Outputs that a body reads before it writes them: `x = x + skip;`.

use autokernel_ops::body::InPlace;
use autokernel_ops::declaration::{Complaint, Parameter, TensorParameter};
use syn::visit::Visit;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, FnArg, Ident, Signature, Stmt, parse_quote};

use super::parameter;
use crate::names::Names;
use crate::words::binding_name;

/// An output, and the parameter that stands for what it held before, which is the last but for others of its kind.
#[derive(Clone, Debug)]
pub struct Overwritten {
    /// The output.
    pub output: Ident,
    /// What the body reads.
    pub before: Ident,
}

impl Overwritten {
    /// The same as the operation is told.
    pub fn in_place(&self) -> InPlace {
        InPlace { output: self.output.to_string(), before: self.before.to_string() }
    }

    /// What the body reads, of the parameters that the source has: where the output stands.
    pub fn parameter(&self, parameters: &[Parameter]) -> Option<Parameter> {
        parameters.iter().find_map(|parameter| match parameter {
            Parameter::Tensor(tensor) if self.output == tensor.name => {
                let name = self.before.to_string();
                Some(Parameter::Tensor(TensorParameter { name, mutable: false, ..tensor.clone() }))
            }
            _ => None,
        })
    }
}

/// Gives what the body reads of its outputs before it writes them parameters of their own, behind the others.
pub fn split(sig: &mut Signature, block: &mut Block) -> Vec<Overwritten> {
    let matrices: Vec<FnArg> = sig.inputs.iter().filter(|input| parameter::is_written_matrix(input)).cloned().collect();
    let mut taken: Vec<Ident> = sig.inputs.iter().filter_map(parameter::name).cloned().collect();
    taken.extend(bound(block));
    let mut overwritten = Vec::new();
    for input in matrices {
        let Some(output) = parameter::name(&input).cloned() else { continue };
        block.stmts.iter_mut().for_each(|statement| spell_out(statement, &output));
        let Some(written) = block.stmts.iter().position(|statement| writes(statement, &output)) else { continue };
        let reads = |statements: &[Stmt]| statements.iter().any(|statement| reads(statement, &output));
        if !reads(&block.stmts[..=written]) || reads(&block.stmts[written + 1..]) {
            continue;
        }
        let before = unique(&output, &taken);
        let mut rename = Rename { from: &output, to: &before };
        block.stmts[..=written].iter_mut().for_each(|statement| rename.visit_stmt_mut(statement));
        sig.inputs.push(read(&input, &before));
        taken.push(before.clone());
        overwritten.push(Overwritten { output, before });
    }
    overwritten
}

/// What the operation complains of, in the words of the source: there an output and what it held before have one name and one type.
pub fn as_written(complaints: Vec<Complaint>, overwritten: &[Overwritten]) -> Vec<Complaint> {
    let mut told: Vec<Complaint> = Vec::new();
    for mut complaint in complaints {
        for Overwritten { output, before } in overwritten {
            complaint.message = complaint.message.replace(&format!("`{before}`"), &format!("`{output}`"));
        }
        if told.iter().all(|other| (other.node, &other.message) != (complaint.node, &complaint.message)) {
            told.push(complaint);
        }
    }
    told
}

/// `output = output + value;` of `output += value;`.
fn spell_out(statement: &mut Stmt, output: &Ident) {
    let Stmt::Expr(expr @ syn::Expr::Binary(_), _) = statement else { return };
    let syn::Expr::Binary(syn::ExprBinary { left, op, right, .. }) = &*expr else { return };
    let op: syn::BinOp = match op {
        syn::BinOp::AddAssign(_) => parse_quote!(+),
        syn::BinOp::SubAssign(_) => parse_quote!(-),
        syn::BinOp::MulAssign(_) => parse_quote!(*),
        syn::BinOp::DivAssign(_) => parse_quote!(/),
        syn::BinOp::RemAssign(_) => parse_quote!(%),
        _ => return,
    };
    if is(left, output) {
        *expr = parse_quote!(#left = #left #op (#right));
    }
}

fn is(expr: &syn::Expr, name: &Ident) -> bool {
    matches!(expr, syn::Expr::Path(path) if path.path.is_ident(name))
}

/// The names that the statements of a block bind.
fn bound(block: &syn::Block) -> Vec<Ident> {
    struct Bound(Vec<Ident>);
    impl<'ast> Visit<'ast> for Bound {
        fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
            self.0.push(pattern.ident.clone());
        }
        fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
            self.0.push(item.ident.clone());
        }
    }
    let mut bound = Bound(Vec::new());
    bound.visit_block(block);
    bound.0
}

/// Whether it is `output = …;`.
fn writes(statement: &Stmt, output: &Ident) -> bool {
    let Stmt::Expr(syn::Expr::Assign(assign), _) = statement else { return false };
    is(&assign.left, output)
}

/// Whether its values name the output.
fn reads(statement: &Stmt, output: &Ident) -> bool {
    let mut names = Names::of_values();
    match statement {
        Stmt::Expr(syn::Expr::Assign(assign), _) => names.visit_expr(&assign.right),
        other => names.visit_stmt(other),
    }
    names.free.contains(output)
}

/// `x_before`, as no other name is.
fn unique(output: &Ident, taken: &[Ident]) -> Ident {
    let mut name = format!("{}_before", output.to_string().trim_start_matches("r#"));
    while taken.iter().any(|other| *other == name) {
        name.push('_');
    }
    Ident::new(&name, output.span())
}

/// `before: &Matrix<T>` of `output: &mut Matrix<T>`.
fn read(written: &FnArg, before: &Ident) -> FnArg {
    let mut read = written.clone();
    if let FnArg::Typed(typed) = &mut read {
        *typed.pat = parse_quote!(#before);
        if let syn::Type::Reference(reference) = &mut *typed.ty {
            reference.mutability = None;
        }
    }
    read
}

/// Gives what is read another name; a name that a block binds hides it there, and a function that is called is another.
struct Rename<'n> {
    from: &'n Ident,
    to: &'n Ident,
}

impl VisitMut for Rename<'_> {
    fn visit_expr_assign_mut(&mut self, assign: &mut syn::ExprAssign) {
        self.visit_expr_mut(&mut assign.right);
    }

    fn visit_expr_call_mut(&mut self, call: &mut syn::ExprCall) {
        call.args.iter_mut().for_each(|argument| self.visit_expr_mut(argument));
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        for statement in &mut block.stmts {
            self.visit_stmt_mut(statement);
            let hides = match statement {
                Stmt::Local(local) => binding_name(&local.pat).is_ok_and(|name| *self.from == name),
                Stmt::Item(syn::Item::Const(item)) => item.ident == *self.from,
                _ => false,
            };
            if hides {
                return;
            }
        }
    }

    fn visit_expr_path_mut(&mut self, path: &mut syn::ExprPath) {
        if path.path.is_ident(self.from) {
            let mut to = self.to.clone();
            to.set_span(path.path.segments[0].ident.span());
            path.path = to.into();
        }
        visit_mut::visit_expr_path_mut(self, path);
    }
}

#[cfg(test)]
mod tests {
    use quote::{ToTokens, quote};

    use super::*;

    fn of(item: proc_macro2::TokenStream) -> (String, String, usize) {
        let mut function: syn::ItemFn = syn::parse2(item).unwrap();
        let overwritten = split(&mut function.sig, &mut function.block);
        let inputs = function.sig.inputs.to_token_stream().to_string();
        (inputs, function.block.to_token_stream().to_string(), overwritten.len())
    }

    #[test]
    fn what_is_read_before_it_is_written_is_a_parameter_of_its_own_behind_the_others() {
        let (inputs, body, count) = of(quote!(
            fn add(x: &mut Matrix<bf16>, skip: &Matrix<bf16>, x_before: f32, out: &mut Matrix<f32>) {
                let y = if x < 0.0 {
                    let x: f32 = 1.0;
                    x
                } else {
                    const x: f32 = 2.0;
                    x + skip
                };
                x = y + x * x_before + x(x);
                out = y;
            }
        ));
        let expected = quote!(x: &mut Matrix<bf16>, skip: &Matrix<bf16>, x_before: f32, out: &mut Matrix<f32>, x_before_: &Matrix<bf16>);
        assert_eq!((inputs, count), (expected.to_string(), 1));
        let expected = quote!({
            let y = if x_before_ < 0.0 {
                let x: f32 = 1.0;
                x
            } else {
                const x: f32 = 2.0;
                x + skip
            };
            x = y + x_before_ * x_before + x(x_before_);
            out = y;
        });
        assert_eq!(body, expected.to_string());
    }

    #[test]
    fn an_output_that_is_added_to_is_read_before() {
        let (_, body, count) = of(quote!(
            fn add(skip: &Matrix<bf16>, x: &mut Matrix<bf16>) {
                x -= skip * 2.0;
            }
        ));
        let expected = quote!({
            x = x_before - (skip * 2.0);
        });
        assert_eq!((body, count), (expected.to_string(), 1));
    }

    #[test]
    fn what_is_read_behind_its_assignment_or_of_no_matrix_or_never_stays_as_it_is() {
        for item in [
            quote!(
                fn f(x: &Matrix<f32>, out: &mut Matrix<f32>, copy: &mut Matrix<f32>) {
                    out = x;
                    copy = out;
                }
            ),
            quote!(
                fn f(x: &Matrix<f32>, out: &mut Column<f32>) {
                    out = row_sum(x) + out;
                }
            ),
            quote!(
                fn f(x: &Matrix<f32>, out: &mut Matrix<f32>) {
                    out = x;
                }
            ),
            quote!(
                fn f(x: &Matrix<f32>, out: &mut Matrix<f32>) {
                    let y = out;
                }
            ),
            quote!(
                fn f(x: &Matrix<f32>, columns: &mut Matrix<f32>) {
                    columns = x / columns();
                }
            ),
        ] {
            let function: syn::ItemFn = syn::parse2(item.clone()).unwrap();
            let (inputs, _, count) = of(item);
            assert_eq!((inputs, count), (function.sig.inputs.to_token_stream().to_string(), 0));
        }
    }
}
