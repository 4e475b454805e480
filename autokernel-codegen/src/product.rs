//! Products with a body as tokens: the problem that a function states, and the same body as a Rust function for the CPU.

use autokernel_core::{Dtype, Role};
pub use autokernel_ops::backward::product_differences as differences;
use autokernel_ops::backward::products::{Chained, Computes, Kernel, Purpose};
use autokernel_ops::body::{Columns, Fetch, Kind, MadeScales, Operand, Reduction, Step};
use autokernel_ops::expr::Expr;
pub use autokernel_ops::matmul::Problem;
pub use autokernel_ops::matmul::body::{Body, oracle};
use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{Error, Ident, Result};

use crate::function::{Called, Functions};
use crate::spec::{self, Spec};
use crate::translate::{Scaled, scaled_factor};
use crate::words::DOT;
use crate::{problem, rows, twin};

/// Reads a function whose body multiplies operands of its own, as `#[autokernel::fused_matmul]` does.
///
/// # Errors
/// Everything that is wrong with it, each at its place with what can be written instead.
pub fn problem(function: &syn::ItemFn) -> Result<Problem> {
    problem_with(TokenStream::new(), function)
}

/// The same with settings in the attribute's parentheses.
///
/// # Errors
/// As [`problem()`].
pub fn problem_with(settings: TokenStream, function: &syn::ItemFn) -> Result<Problem> {
    let other = || Error::new_spanned(&function.sig, "no operation has an attribute `fused_matmul`");
    let attribute = spec::attribute("fused_matmul").ok_or_else(other)?;
    match Spec::parse(attribute, settings, function.to_token_stream(), &Functions::default())?.problem {
        problem::Problem::Matmul(problem) => Ok(problem),
        _ => Err(other()),
    }
}

/// The kernels that a product's `backward` declared, as what they compute: for tests.
pub fn kernels_of_gradients(derived: &[Vec<Spec>]) -> Vec<Kernel> {
    let kernel = |spec: &Spec| {
        let computes = match &spec.problem {
            problem::Problem::Rows(problem) => Computes::Rows(problem.body().clone()),
            problem::Problem::Matmul(problem) => {
                let Problem { layout, known_n, known_k, .. } = *problem;
                let body = problem.body.as_deref().expect("what is derived has a body");
                let written = body.written().clone();
                Computes::Product(Box::new(Chained { written, layout, known_n, known_k }))
            }
            other => panic!("{other} is no gradient of a product"),
        };
        let name = spec.function.sig.ident.to_string();
        let output = || computes.body().outputs().next().expect("it writes something").name.clone();
        let purpose = match name.as_str() {
            "forward" => Purpose::Forward,
            "backward" => Purpose::Backward,
            "backward_rows" => Purpose::Rows,
            "backward_fused" => Purpose::Fused { of: name_of_product(&computes).expect("its product has a name") },
            _ => Purpose::Factor(output()),
        };
        Kernel { purpose, computes }
    };
    derived.iter().filter_map(|specs| specs.first()).map(kernel).collect()
}

/// What the body calls its product.
fn name_of_product(computes: &Computes) -> Option<String> {
    let Computes::Product(chained) = computes else { return None };
    chained.written.body.steps.iter().find_map(|step| match step {
        Step::Let { name, value: Expr::Variable(of) } if *of == chained.written.product.name => Some(name.clone()),
        _ => None,
    })
}

/// What stands for an element of each product; no name of a user's does.
const PRODUCTS: [&str; 2] = ["product_of_factors", "product_of_others"];

/// What the body reads and writes on the CPU, where its products are matrices that are there already.
pub struct Operands {
    /// The products.
    pub products: Vec<Operand>,
    /// The operands that are no factors, nor their scales, nor say where groups begin.
    pub others: Vec<Operand>,
    /// Those of them whose columns repeat along a row.
    pub tables: Vec<Fetch>,
    /// The outputs whose scales are made.
    pub made_scales: Vec<MadeScales>,
    /// How what the rows give of each output becomes one number, in the outputs' order.
    pub folds: Vec<Option<Reduction>>,
}

impl Operands {
    /// Those of `body`.
    pub fn of(body: &Body) -> Self {
        let product = |name: &str| {
            let (name, kind, dtype) = (name.to_owned(), Kind::Matrix, Dtype::F32);
            Operand { name, kind, dtype, role: Role::Input, batched: false }
        };
        let factors = body.multiplied();
        let others = (0..)
            .zip(body.operands())
            .filter(|(number, operand)| !factors.contains(number) && operand.kind != Kind::Index);
        Operands {
            products: body.sums().zip(PRODUCTS).map(|(_, name)| product(name)).collect(),
            others: others.map(|(_, operand)| operand.clone()).collect(),
            tables: body.fetches().filter(|fetch| fetch.columns == Columns::Repeat).cloned().collect(),
            made_scales: body.made_scales().to_vec(),
            folds: body.outputs().map(|output| body.fold_of(&output.name)).collect(),
        }
    }

    /// All of them, the products first, as [`rust_function`] takes them.
    pub fn body(&self) -> rows::Body {
        let operands = [&self.products[..], &self.others].concat();
        let (fetches, made_scales) = (self.tables.clone(), self.made_scales.clone());
        rows::Body { operands, fetches, made_scales, ..rows::Body::default() }
    }
}

/// The body as a Rust function on one row, `fn row(…)`, whose parameters are [`Operands::body`]; it calls `called` as rustc
/// finds them.
///
/// # Errors
/// A statement that no body holds.
pub fn rust_function(block: &syn::Block, body: &Body, called: &[Called]) -> Result<TokenStream> {
    let mut block = block.clone();
    let seconds = body.factors().split_off(1);
    let seconds = seconds.into_iter().map(|factor| body.operands()[usize::from(factor)].name.as_str());
    Named { seconds: seconds.collect() }.visit_block_mut(&mut block);
    twin::rust_function(&block, &Operands::of(body).body(), called)
}

/// Puts a product's name in the place of each `dot(…)`.
struct Named<'b> {
    /// The second factor of each product, which tells it from the other.
    seconds: Vec<&'b str>,
}

impl VisitMut for Named<'_> {
    fn visit_expr_mut(&mut self, expr: &mut syn::Expr) {
        visit_mut::visit_expr_mut(self, expr);
        let syn::Expr::Call(call) = expr else { return };
        let syn::Expr::Path(path) = &*call.func else { return };
        if path.path.is_ident(DOT) {
            let Some(Ok(Scaled { matrix: second, .. })) = call.args.get(1).map(scaled_factor) else { return };
            let Some(number) = self.seconds.iter().position(|name| second == name) else { return };
            let name = Ident::new(PRODUCTS[number], Span::call_site());
            *expr = syn::Expr::Path(syn::ExprPath { attrs: Vec::new(), qself: None, path: name.into() });
        }
    }
}

#[cfg(test)]
#[path = "product_tests.rs"]
mod tests;
