//! Row-wise kernels as tokens: from a Rust function with a body to the problem that it states.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{Error, Result};

use autokernel_core::{Dtype, Role};
pub use autokernel_ops::Schedule as AnySchedule;
pub use autokernel_ops::rows::schedule::{Keep, RowsSchedule};
use autokernel_ops::rows::{Body, Complaint, Place, Step};
pub use autokernel_ops::rows::{Kind, Operand, Problem, emit, oracle, plan, space};

use crate::mistakes::Mistakes;
use crate::translate::{Reductions, Translator, Value};

/// What a parameter looks like, for messages.
const FORMS: &str = "`x: &Matrix<bf16>`, `weight: &Row<bf16>`, `scale: &Column<f32>`, `out: &mut Matrix<bf16>`";

/// Reads a function whose parameters are operands and whose body is arithmetic on one element of each.
///
/// # Errors
/// Everything that is wrong with it, each at its place with what can be written instead.
pub fn problem(function: &syn::ItemFn) -> Result<Problem> {
    let mut mistakes = Mistakes::default();
    let mut operands = Vec::new();
    let mut operand_spans = Vec::new();
    for parameter in &function.sig.inputs {
        if let Some(operand) = mistakes.note(read_operand(parameter)) {
            operands.push(operand);
            operand_spans.push(parameter.span());
        }
    }
    let mut translator = Translator::new(Reductions::Lifted);
    for operand in &operands {
        translator.declare(&operand.name);
    }
    let mut steps = Steps::default();
    for statement in &function.block.stmts {
        let result = steps.read(&mut translator, statement);
        steps.take(&mut translator);
        if let Some(Some((output, value, span))) = mistakes.note(result) {
            steps.push(Step::Store { output, value }, span);
        }
    }
    mistakes.into_result()?;
    let body = Body { operands, steps: steps.steps };
    let place = |place: Place| match place {
        Place::Function => function.sig.span(),
        Place::Operand(at) => operand_spans.get(at).copied().unwrap_or_else(|| function.sig.span()),
        Place::Step(at) => steps.spans.get(at).copied().unwrap_or_else(|| function.block.span()),
    };
    Problem::new(body).map_err(|complaints| {
        let mut mistakes = Mistakes::default();
        complaints
            .into_iter()
            .for_each(|Complaint { place: at, message }| mistakes.push(Error::new(place(at), message)));
        let unnamed = || Error::new(function.sig.span(), "this body cannot be compiled");
        mistakes.into_result().err().unwrap_or_else(unnamed)
    })
}

/// Steps, and where each stands.
#[derive(Default)]
struct Steps {
    steps: Vec<Step>,
    spans: Vec<Span>,
    /// Values of the translator that are steps already.
    taken: usize,
}

impl Steps {
    fn push(&mut self, step: Step, span: Span) {
        self.steps.push(step);
        self.spans.push(span);
    }

    /// What was bound since the last time.
    fn take(&mut self, translator: &mut Translator) {
        for bound in &translator.bound[self.taken..] {
            let name = bound.name.clone();
            let step = match &bound.value {
                Value::Number(value) => Step::Let { name, value: value.clone() },
                Value::Reduced(reduction, of) => Step::Reduce { name, reduction: *reduction, of: of.clone() },
            };
            self.steps.push(step);
            self.spans.push(bound.span);
        }
        self.taken = translator.bound.len();
    }

    /// Reads a statement: gives what it assigns, if it does.
    fn read(
        &mut self,
        translator: &mut Translator,
        statement: &syn::Stmt,
    ) -> Result<Option<(String, autokernel_ops::expr::Expr, Span)>> {
        let syn::Stmt::Expr(expr, _) = statement else {
            return translator.statement(statement).map(|()| None);
        };
        let syn::Expr::Assign(assign) = expr else {
            return Err(Error::new(
                expr.span(),
                "this value goes nowhere; a body binds values, `let y = …;`, and writes its outputs, `out = …;`",
            ));
        };
        let output = match &*assign.left {
            syn::Expr::Path(path) => path.path.get_ident(),
            _ => None,
        };
        let output =
            output.ok_or_else(|| Error::new(assign.left.span(), "only an output is assigned to: `out = …;`"))?;
        let value = translator.number(&assign.right)?;
        Ok(Some((output.to_string(), value, assign.span())))
    }
}

/// Reads `x: &Matrix<bf16>` or another of the [`FORMS`].
fn read_operand(parameter: &syn::FnArg) -> Result<Operand> {
    let refused = |span: Span| Error::new(span, format!("an operand is one of {FORMS}"));
    let syn::FnArg::Typed(typed) = parameter else { return Err(refused(parameter.span())) };
    let name = match &*typed.pat {
        syn::Pat::Ident(ident) if ident.by_ref.is_none() && ident.mutability.is_none() && ident.subpat.is_none() => {
            ident.ident.to_string()
        }
        other => return Err(refused(other.span())),
    };
    let syn::Type::Reference(reference) = &*typed.ty else { return Err(refused(typed.ty.span())) };
    let role = if reference.mutability.is_some() { Role::Output } else { Role::Input };
    let syn::Type::Path(path) = &*reference.elem else { return Err(refused(typed.ty.span())) };
    let segment = path.path.segments.last().ok_or_else(|| refused(path.span()))?;
    let kind = Kind::from_name(&segment.ident.to_string()).ok_or_else(|| refused(segment.span()))?;
    let element = match &segment.arguments {
        syn::PathArguments::AngleBracketed(arguments) if arguments.args.len() == 1 => arguments.args.first(),
        _ => None,
    };
    let Some(syn::GenericArgument::Type(syn::Type::Path(element))) = element else {
        return Err(refused(segment.span()));
    };
    let element_name = element.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
    let dtype = Dtype::from_name(&element_name).ok_or_else(|| {
        Error::new(element.span(), format!("`{element_name}` is not an element type; use bf16, f16 or f32"))
    })?;
    Ok(Operand { name, kind, dtype, role })
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
