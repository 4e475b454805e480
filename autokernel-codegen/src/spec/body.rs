//! The statements of a body.

use autokernel_ops::body::{Fetch, Step};
use autokernel_ops::declaration::{Parameter, Statement, TensorParameter, What};
use syn::{Error, Ident, Result};

use super::nodes::Nodes;
use crate::fetched::picked_row;
use crate::folded::folded;
use crate::function::{Functions, calls_in};
use crate::made_scales::made_scales;
use crate::mistakes::Mistakes;
use crate::translate::{Text, Translator, Value};
use crate::words::{binding_name, refuse_intrinsic};

/// Reads what a function does, statement by statement. Its parameters are called `names`, the unreadable ones too.
///
/// # Errors
/// All mistakes at once, each at its place with what can be written instead.
pub fn read(
    block: &syn::Block,
    names: &[Ident],
    parameters: &[Parameter],
    functions: &Functions,
    nodes: &mut Nodes,
) -> Result<Vec<Statement>> {
    let mut reader = Reader {
        translator: Translator::new(Text::Body, functions),
        taken: 0,
        statements: Vec::new(),
        parameters,
        nodes,
    };
    let mut mistakes = Mistakes::default();
    for name in names {
        mistakes.note(refuse_intrinsic(name, "a parameter of this name"));
        reader.translator.declare(&name.to_string());
    }
    let outputs: Vec<&str> = parameters.iter().filter_map(output).collect();
    // What is called is brought into scope within the body, where it would hide an input.
    let is_read = |name: &Ident| names.contains(name) && outputs.iter().all(|output| name != output);
    for name in calls_in(block).iter().filter(|name| is_read(name) && functions.find(name).is_some()) {
        let message = format!("`{name}` is a number here and a function that is called; give one of them another name");
        mistakes.push(Error::new(name.span(), message));
    }
    for statement in &block.stmts {
        mistakes.note(refuse_name_of_output(statement, &outputs));
        mistakes.note(reader.statement(statement));
    }
    mistakes.into_result()?;
    Ok(reader.statements)
}

struct Reader<'n> {
    translator: Translator<'n>,
    /// Values of the translator that are statements already.
    taken: usize,
    statements: Vec<Statement>,
    parameters: &'n [Parameter],
    nodes: &'n mut Nodes,
}

impl Reader<'_> {
    fn statement(&mut self, statement: &syn::Stmt) -> Result<()> {
        let assigned = self.assigned(statement);
        if assigned.is_err() {
            self.declare_misread(statement);
        }
        self.take_bound();
        if let Some((step, assignment)) = assigned? {
            let made = made_scales(&assignment.left)
                .map(|(output, scales)| What::MadeScales { output: output.to_string(), scales: scales.to_string() });
            self.statements.push(Statement { what: What::Step(step), node: self.nodes.add(assignment) });
            self.statements.extend(made.map(|what| Statement { what, node: self.nodes.add(&assignment.left) }));
        }
        Ok(())
    }

    /// Puts the name of a `let` that cannot be read into scope, so that its uses are no mistakes.
    fn declare_misread(&mut self, statement: &syn::Stmt) {
        let syn::Stmt::Local(local) = statement else { return };
        let pattern = match &local.pat {
            syn::Pat::Type(typed) => &typed.pat,
            other => other,
        };
        if let syn::Pat::Ident(name) = pattern {
            self.translator.declare(&name.ident.to_string());
        }
    }

    /// What was bound since the last time.
    fn take_bound(&mut self) {
        for bound in &self.translator.bound[self.taken..] {
            let name = bound.name.clone();
            let what = match &bound.value {
                Value::Number(value) => What::Step(Step::Let { name, value: value.clone() }),
                Value::Reduced(reduction, of) => {
                    What::Step(Step::Reduce { name, reduction: *reduction, of: of.clone() })
                }
                Value::Fetched { of, row, columns } => {
                    What::Fetch(Fetch { name, of: of.clone(), row: row.clone(), columns: *columns })
                }
                Value::Product(factors) => What::Product { name, factors: factors.clone() },
            };
            self.statements.push(Statement { what, node: self.nodes.add(&bound.tokens) });
        }
        self.taken = self.translator.bound.len();
    }

    /// Reads a statement: gives what it assigns, if it does.
    fn assigned<'s>(&mut self, statement: &'s syn::Stmt) -> Result<Option<(Step, &'s syn::ExprAssign)>> {
        let syn::Stmt::Expr(expr, _) = statement else {
            return self.translator.statement(statement).map(|()| None);
        };
        let syn::Expr::Assign(assign) = expr else {
            return Err(Error::new_spanned(expr, self.instead_of(expr)));
        };
        let (output, row) = match &*assign.left {
            syn::Expr::Path(path) => (path.path.get_ident(), None),
            syn::Expr::Index(picked) => {
                let (output, row) = picked_row(picked)?;
                (Some(output), Some(row.to_string()))
            }
            left => (made_scales(left).map(|(output, _)| output), None),
        };
        let refused = "only an output is assigned to: `out = …;`, where an index picks its rows `out[index] = …;`, or with scales of its \
                       blocks that the kernel makes `out * scales = …;`, and of a product that lies transposed `out.t() = …;`";
        let output = output.ok_or_else(|| Error::new_spanned(&assign.left, refused))?;
        let (fold, value) = match folded(&assign.right)? {
            Some((fold, value)) => (Some(fold), value),
            None => (None, &*assign.right),
        };
        let value = self.translator.number(value)?;
        Ok(Some((Step::Store { output: output.to_string(), row, fold, value }, assign)))
    }
}

impl Reader<'_> {
    /// What can be written instead of an expression that is no statement of a body.
    fn instead_of(&self, expr: &syn::Expr) -> String {
        match expr {
            syn::Expr::ForLoop(_) | syn::Expr::While(_) | syn::Expr::Loop(_) => {
                "a body has no loops: what it says holds for every element, and `row_sum(…)` and its like go along the row"
            }
            syn::Expr::Binary(binary) if is_assignment(&binary.op) => return self.instead_of_a_change(&binary.left),
            syn::Expr::If(_) => "an output is written once, whatever holds: `out = if … { … } else { … };`",
            _ => "this value goes nowhere; a body binds values, `let y = …;`, and writes its outputs, `out = …;`",
        }
        .to_owned()
    }

    /// The same of `left += …`.
    fn instead_of_a_change(&self, left: &syn::Expr) -> String {
        let name = crate::translate::plain_name(left).map(ToString::to_string).unwrap_or_default();
        let operand = self.parameters.iter().find_map(|parameter| match parameter {
            Parameter::Tensor(tensor) if tensor.name == name => Some(tensor),
            _ => None,
        });
        match operand {
            Some(TensorParameter { mutable: true, container, element, .. }) => format!(
                "`{name}` is a `{container}`, and only a `&mut Matrix` or a `&mut Batch` is written over what it held; pass that as an operand of \
                 its own, `before: &{container}<{element}>`, and write `{name} = before + …;`"
            ),
            Some(TensorParameter { container, element, .. }) if ["Matrix", "Batch"].contains(&container.as_str()) => {
                format!("`{name}` is only read; to write over it, make it `{name}: &mut {container}<{element}>`")
            }
            _ => "nothing in a body changes, and an output is written once: bind a new value, `let z = y + …;`, or write `out = …;` with \
                  all of its value"
                .to_owned(),
        }
    }
}

/// A value under an output's name would make an assignment to it ambiguous.
fn refuse_name_of_output(statement: &syn::Stmt, outputs: &[&str]) -> Result<()> {
    let syn::Stmt::Local(local) = statement else { return Ok(()) };
    match binding_name(&local.pat) {
        Ok(name) if outputs.contains(&name.as_str()) => {
            let message = format!("`{name}` is an output: write `{name} = …;`, or give this value another name");
            Err(Error::new_spanned(&local.pat, message))
        }
        _ => Ok(()),
    }
}

fn is_assignment(op: &syn::BinOp) -> bool {
    use syn::BinOp::{AddAssign, DivAssign, MulAssign, RemAssign, SubAssign};
    matches!(op, AddAssign(_) | SubAssign(_) | MulAssign(_) | DivAssign(_) | RemAssign(_))
}

fn output(parameter: &Parameter) -> Option<&str> {
    match parameter {
        Parameter::Tensor(TensorParameter { name, mutable: true, .. }) => Some(name),
        _ => None,
    }
}
