//! From Rust expressions to expression trees: what epilogues and bodies have in common.
//!
//! Understood: `let` and `const` of type `f32`, literals, names, constants of `f32`, `+ - * / %`, unary minus, comparisons, `&& || !`,
//! `if … else`, the methods and functions of [`Math`], in bodies and their functions the built-in epilogues and functions of the
//! crate's own, and in bodies reductions along a row and products of matrices. All of it is pure, so a `let` inside a branch may be computed outside it.

mod call;
mod constants;
mod fetch;
mod instead;
mod lifted;
mod spelled;

pub use call::check_function;
pub use lifted::{Scaled, scaled_factor};

use std::collections::BTreeSet;

use syn::{Error, Result};

use self::constants::constant;
use self::instead::{instead_of, instead_of_reduction};
use crate::fetched::fetched;
use crate::function::Functions;
use crate::words::{DOT, REPEAT_COLUMNS, ROTATE_HALF, ROTATE_PAIRS, binding_name, expect_f32, is_intrinsic, takes};
use autokernel_ops::body::{Columns, Reduction};
use autokernel_ops::declaration::Factors;
use autokernel_ops::epilogue::Epilogue;
use autokernel_ops::expr::{Axis, BinaryOp, CompareOp, Condition, Expr, Math};
use proc_macro2::TokenStream;
use quote::ToTokens;

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// It computes one element from one element.
    Epilogue,
    /// It computes a number from numbers, and may call epilogues and others of its kind.
    Function,
    /// It may call epilogues, reduce along a row and multiply matrices; what is no arithmetic on one element becomes a value
    /// of its own.
    Body,
}

/// A value that has a name.
pub struct Bound {
    /// The name, unique in the text.
    pub name: String,
    /// What it is.
    pub value: Value,
    /// The text that says it.
    pub tokens: TokenStream,
}

/// What has a name.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(Expr),
    /// What a row's numbers are reduced to.
    Reduced(Reduction, Expr),
    /// An operand's element in another row or column.
    Fetched {
        /// The operand.
        of: String,
        /// The index that picks the row.
        row: Option<String>,
        /// Which columns.
        columns: Columns,
    },
    /// An element of a product.
    Product(Factors),
}

/// Reads a text, statement by statement.
pub struct Translator<'f> {
    /// Every value that has got a name, in the order of the text.
    pub bound: Vec<Bound>,
    /// Names as written, innermost last, and the unique names they stand for.
    scope: Vec<(String, String)>,
    /// From where on names are seen: a function sees those of its own.
    seen_from: usize,
    text: Text,
    /// Blocks around what is read.
    depth: u32,
    /// Names that stand outside of all blocks.
    outermost: usize,
    functions: &'f Functions,
    /// The unique names of constants.
    constants: BTreeSet<String>,
    /// The functions whose text is being read, each called by the one before it.
    inside: Vec<String>,
}

impl<'f> Translator<'f> {
    /// A translator in whose scope there is no name, of a text that may call `functions`.
    pub fn new(text: Text, functions: &'f Functions) -> Self {
        let (bound, scope, inside) = (Vec::new(), Vec::new(), Vec::new());
        let constants = BTreeSet::new();
        Translator { bound, scope, constants, seen_from: 0, text, depth: 0, outermost: 0, functions, inside }
    }

    /// Puts a parameter into scope, under its own name.
    pub fn declare(&mut self, name: &str) {
        self.scope.push((name.to_owned(), name.to_owned()));
    }

    /// Gives a value a name.
    pub fn bind(&mut self, name: &str, value: Value, text: impl ToTokens) {
        let unique = self.unique(name);
        self.bind_as(name, unique, value, text);
    }

    /// A value of a constant that no other name hides: rustc's items are seen in all of their block.
    fn bind_constant(&mut self, name: &syn::Ident, value: Expr, item: &syn::ItemConst) -> Result<()> {
        if self.scope[self.seen_from..].iter().any(|(written, _)| name == written) {
            let message = format!(
                "Rust sees a constant in all of its block, before it too, so that `{name}` would mean one thing there and another here; give \
                 it a name of its own"
            );
            return Err(Error::new(name.span(), message));
        }
        self.bind(&name.to_string(), Value::Number(value), item);
        self.constants.extend(self.scope.last().map(|(_, unique)| unique.clone()));
        Ok(())
    }

    /// A `let` of a constant's name would be a pattern that asks for its value.
    fn refuse_name_of_constant(&self, name: &str, pattern: &syn::Pat) -> Result<()> {
        let is_constant = |(written, unique): &(String, String)| written == name && self.constants.contains(unique);
        if self.scope[self.seen_from..].iter().any(is_constant) {
            let message = format!("`{name}` is a constant; give this value another name");
            return Err(Error::new_spanned(pattern, message));
        }
        Ok(())
    }

    /// Gives a value a name, which stands for the unique one.
    fn bind_as(&mut self, name: &str, unique: String, value: Value, text: impl ToTokens) {
        self.bound.push(Bound { name: unique.clone(), value, tokens: text.into_token_stream() });
        self.scope.push((name.to_owned(), unique));
    }

    fn unique(&self, name: &str) -> String {
        let mut unique = name.to_owned();
        while self.scope.iter().any(|(_, used)| *used == unique) || self.bound.iter().any(|b| b.name == unique) {
            unique.push('_');
        }
        unique
    }

    /// The value of a block.
    pub fn block(&mut self, block: &syn::Block) -> Result<Expr> {
        if self.depth == 0 {
            self.outermost = self.scope.len();
        }
        self.depth += 1;
        let value = self.statements(block);
        self.depth -= 1;
        value
    }

    fn statements(&mut self, block: &syn::Block) -> Result<Expr> {
        let outer_names = self.scope.len();
        let Some((last, statements)) = block.stmts.split_last() else {
            return Err(Error::new_spanned(block, "a block of a body ends with the value it returns"));
        };
        for statement in statements {
            self.statement(statement)?;
        }
        let syn::Stmt::Expr(value, None) = last else {
            return Err(Error::new_spanned(last, "a block of a body ends with the value it returns, without `;`"));
        };
        let value = self.number(value)?;
        self.scope.truncate(outer_names);
        Ok(value)
    }

    /// A `let` or a `const`.
    pub fn statement(&mut self, statement: &syn::Stmt) -> Result<()> {
        match statement {
            syn::Stmt::Local(local) => {
                let name = binding_name(&local.pat)?;
                let init = local.init.as_ref().filter(|init| init.diverge.is_none());
                let init = init.ok_or_else(|| Error::new_spanned(local, "give the name its value: `let y = …;`"))?;
                self.refuse_name_of_constant(&name, &local.pat)?;
                let value = self.number(&init.expr)?;
                self.bind(&name, Value::Number(value), local);
                Ok(())
            }
            syn::Stmt::Item(syn::Item::Const(item)) => {
                expect_f32(&item.ty)?;
                let value = self.number(&item.expr)?;
                self.bind_constant(&item.ident, value, item)
            }
            other => Err(Error::new_spanned(other, "a body may hold only `let` and `const` before its value")),
        }
    }

    /// A number.
    pub fn number(&mut self, expr: &syn::Expr) -> Result<Expr> {
        if let Some(fetched) = fetched(expr) {
            return self.fetch(expr, &fetched?);
        }
        match expr {
            syn::Expr::Lit(literal) => number_literal(&literal.lit),
            syn::Expr::Path(path) => self.variable(path),
            syn::Expr::Paren(paren) => self.number(&paren.expr),
            syn::Expr::Group(group) => self.number(&group.expr),
            syn::Expr::Block(block) if block.label.is_none() => self.block(&block.block),
            syn::Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_)) => {
                Ok(Expr::Negate(Box::new(self.number(&unary.expr)?)))
            }
            syn::Expr::Binary(binary) => {
                let op = arithmetic(&binary.op)?;
                let (left, right) = (self.number(&binary.left)?, self.number(&binary.right)?);
                Ok(Expr::Binary(op, Box::new(left), Box::new(right)))
            }
            syn::Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Not(_)) => {
                Err(Error::new_spanned(unary, NO_NUMBER))
            }
            syn::Expr::If(branch) => self.branch(branch),
            syn::Expr::MethodCall(call) => self.method_call(call),
            syn::Expr::Call(call) => self.function_call(call),
            other => Err(Error::new_spanned(
                other,
                "this expression cannot be translated to CUDA; a body uses `+ - * / %`, `if … else`, comparisons, \
                 `let`, "
                    .to_owned()
                    + &self.known_functions(),
            )),
        }
    }

    fn variable(&self, path: &syn::ExprPath) -> Result<Expr> {
        if let Some(value) = constant(&path.path) {
            return Ok(Expr::Literal(value));
        }
        let name = path.path.get_ident().map(ToString::to_string);
        let found =
            name.and_then(|name| self.scope[self.seen_from..].iter().rev().find(|(written, _)| *written == name));
        let (_, unique) = found.ok_or_else(|| {
            let name = path.to_token_stream().to_string().replace(' ', "");
            let message = format!(
                "there is no `{name}` here; a body sees only its parameters, its own `let` and `const` names, and constants of \
                 `f32` by their path, as `f32::MAX` and `std::f32::consts::PI`"
            );
            Error::new_spanned(path, message)
        })?;
        Ok(Expr::Variable(unique.clone()))
    }

    fn branch(&mut self, branch: &syn::ExprIf) -> Result<Expr> {
        let Some((_, otherwise)) = &branch.else_branch else {
            return Err(Error::new_spanned(branch, "an `if` in a body needs its `else`"));
        };
        let condition = self.condition(&branch.cond)?;
        let then = self.block(&branch.then_branch)?;
        let otherwise = self.number(otherwise)?;
        Ok(Expr::If(Box::new(condition), Box::new(then), Box::new(otherwise)))
    }

    fn method_call(&mut self, call: &syn::ExprMethodCall) -> Result<Expr> {
        if let Some(spelled) = self.spelled(call) {
            return spelled;
        }
        let function = self.known(&call.method, true)?;
        let args: Vec<&syn::Expr> = std::iter::once(&*call.receiver).chain(&call.args).collect();
        if args.len() != function.arity() {
            let message = takes(&format!("f32::{}", function.name()), function.arity() - 1, args.len() - 1);
            return Err(Error::new_spanned(call, message));
        }
        self.call(function, &args)
    }

    fn function_call(&mut self, call: &syn::ExprCall) -> Result<Expr> {
        if let Some(call) = as_method(call) {
            return self.method_call(&call);
        }
        let name = match &*call.func {
            syn::Expr::Path(path) => path.path.get_ident(),
            _ => None,
        };
        let unknown = || {
            format!(
                "this has no CUDA counterpart here; a function of your own is brought into scope by `use` and called by its \
                 name; a body calls {}",
                self.known_functions()
            )
        };
        let name = name.ok_or_else(|| Error::new_spanned(&call.func, unknown()))?;
        if let Some(lifted) = self.lifted(&name.to_string(), call) {
            return lifted;
        }
        if let Some(value) = self.own_function(name, call) {
            return value;
        }
        let function = self.known(name, false)?;
        let args: Vec<&syn::Expr> = call.args.iter().collect();
        if args.len() != function.arity() {
            return Err(Error::new_spanned(call, takes(function.name(), function.arity(), args.len())));
        }
        self.call(function, &args)
    }

    fn call(&mut self, function: Math, args: &[&syn::Expr]) -> Result<Expr> {
        let args = args.iter().map(|arg| self.number(arg)).collect::<Result<_>>()?;
        Ok(Expr::Call(function, args))
    }

    /// The function called `name`, written as it is called.
    fn known(&self, name: &syn::Ident, as_method: bool) -> Result<Math> {
        let message = match Math::from_name(&name.to_string()) {
            Some(function) if function.is_method() == as_method => return Ok(function),
            found
                if as_method && (found.is_some() || self.text != Text::Epilogue && is_intrinsic(&name.to_string())) =>
            {
                format!("`{name}` is no method of `f32`; write `{name}(x)`")
            }
            Some(_) => format!("`{name}` is a method of `f32`; write `x.{name}()`"),
            None if name == "t" => "`.t()` is of a factor of a product, `dot(x, w.t())`, and of what is beside one that lies transposed: `out.t() = dot(x, \
                                 w.t()) + skip.t();`"
                .to_owned(),
            None if as_method || self.text == Text::Epilogue => {
                let instead = instead_of(&name.to_string()).filter(|_| as_method);
                let remedy = instead.unwrap_or_else(|| format!("a body calls {}", self.known_functions()));
                format!("`{name}` has no CUDA counterpart here; {remedy}")
            }
            None => match instead_of_reduction(&name.to_string()) {
                Some(instead) => format!("`{name}` is no reduction of its own; {instead}"),
                None => format!(
                    "`{name}` has no CUDA counterpart here; mark a function of this crate `#[autokernel::function]` to call it; a \
                     body calls {}",
                    self.known_functions()
                ),
            },
        };
        Err(Error::new_spanned(name, message))
    }

    fn known_functions(&self) -> String {
        let (methods, functions): (Vec<Math>, Vec<Math>) = Math::ALL.iter().partition(|function| function.is_method());
        let names = |list: &[Math]| list.iter().map(|function| function.name()).collect::<Vec<_>>().join(", ");
        let spelled = "clamp, powi, and as conditions is_nan, is_finite, is_infinite";
        let known = format!(
            "these functions: {}, and these methods of `f32`: {}, {spelled}",
            names(&functions),
            names(&methods)
        );
        match self.text {
            Text::Epilogue => known,
            Text::Function | Text::Body => {
                let epilogues = Epilogue::all().iter().map(|it| it.name().to_owned()).collect::<Vec<_>>().join(", ");
                let reductions = Reduction::ALL.map(Reduction::name).join(", ");
                let own = format!("{known}; epilogues are {epilogues}");
                let [row, column] = Axis::ALL.map(Axis::call);
                let [rows, columns] = Axis::ALL.map(Axis::count_call);
                let folds = Reduction::ALL.map(Reduction::column_name).join(", ");
                let of_body = format!(
                    "along a row it reduces by {reductions}, along columns all of an output by {folds}; an element stands at {row}, \
                     {column} of {rows}, {columns}; elsewhere it reads by {ROTATE_HALF}, {ROTATE_PAIRS}, {REPEAT_COLUMNS}; matrices are multiplied by {DOT}"
                );
                if self.text == Text::Function { own } else { format!("{own}; {of_body}") }
            }
        }
    }

    fn condition(&mut self, expr: &syn::Expr) -> Result<Condition> {
        let spelled = match expr {
            syn::Expr::MethodCall(call) => self.spelled_condition(call),
            syn::Expr::Call(call) => as_method(call).and_then(|call| self.spelled_condition(&call)),
            _ => None,
        };
        if let Some(condition) = spelled {
            return condition;
        }
        match expr {
            syn::Expr::Paren(paren) => self.condition(&paren.expr),
            syn::Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Not(_)) => {
                Ok(Condition::Not(Box::new(self.condition(&unary.expr)?)))
            }
            syn::Expr::Binary(binary) => match &binary.op {
                syn::BinOp::And(_) => Ok(Condition::And(
                    Box::new(self.condition(&binary.left)?),
                    Box::new(self.condition(&binary.right)?),
                )),
                syn::BinOp::Or(_) => {
                    Ok(Condition::Or(Box::new(self.condition(&binary.left)?), Box::new(self.condition(&binary.right)?)))
                }
                op => {
                    let op = comparison(op)?;
                    Ok(Condition::Compare(op, self.number(&binary.left)?, self.number(&binary.right)?))
                }
            },
            other => Err(Error::new_spanned(other, "a condition in a body compares numbers: `x < 0.0`")),
        }
    }
}

/// `x.max(0.0)` of `f32::max(x, 0.0)`.
fn as_method(call: &syn::ExprCall) -> Option<syn::ExprMethodCall> {
    let syn::Expr::Path(path) = &*call.func else { return None };
    let segments: Vec<&syn::PathSegment> = path.path.segments.iter().collect();
    let [of, method] = segments[..] else { return None };
    let (receiver, others) = (call.args.first().filter(|_| of.ident == "f32")?, call.args.iter().skip(1));
    Some(syn::ExprMethodCall {
        attrs: Vec::new(),
        receiver: Box::new(receiver.clone()),
        dot_token: syn::Token![.](syn::spanned::Spanned::span(path)),
        method: method.ident.clone(),
        turbofish: None,
        paren_token: call.paren_token,
        args: others.cloned().collect(),
    })
}

/// The name that an expression is.
pub fn plain_name(expr: &syn::Expr) -> Option<&syn::Ident> {
    let syn::Expr::Path(path) = expr else { return None };
    path.path.get_ident()
}

fn number_literal(literal: &syn::Lit) -> Result<Expr> {
    match literal {
        syn::Lit::Float(float) if matches!(float.suffix(), "" | "f32") => Ok(Expr::Literal(float.base10_parse()?)),
        syn::Lit::Int(whole) if whole.suffix() == "f32" => Ok(Expr::Literal(whole.base10_parse()?)),
        other => {
            let number = match other {
                syn::Lit::Int(whole) => format!("{}.0", whole.base10_digits()),
                syn::Lit::Float(float) => float.base10_digits().to_owned(),
                _ => "1.0".to_owned(),
            };
            Err(Error::new_spanned(other, format!("bodies compute in `f32`; write the number as `{number}`")))
        }
    }
}

fn arithmetic(op: &syn::BinOp) -> Result<BinaryOp> {
    match op {
        syn::BinOp::Add(_) => Ok(BinaryOp::Add),
        syn::BinOp::Sub(_) => Ok(BinaryOp::Subtract),
        syn::BinOp::Mul(_) => Ok(BinaryOp::Multiply),
        syn::BinOp::Div(_) => Ok(BinaryOp::Divide),
        syn::BinOp::Rem(_) => Ok(BinaryOp::Remainder),
        other if is_truth(other) => Err(Error::new_spanned(other, NO_NUMBER)),
        other => Err(Error::new_spanned(other, "a body computes with `+`, `-`, `*`, `/` and `%`")),
    }
}

/// What is said of a condition where a number stands.
const NO_NUMBER: &str = "this is a condition, and a name or a result is a number: write `if … { 1.0 } else { 0.0 }`, or ask where it is needed, `if … \
                         { … } else { … }`";

fn is_truth(op: &syn::BinOp) -> bool {
    matches!(op, syn::BinOp::And(_) | syn::BinOp::Or(_)) || comparison(op).is_ok()
}

fn comparison(op: &syn::BinOp) -> Result<CompareOp> {
    match op {
        syn::BinOp::Lt(_) => Ok(CompareOp::Less),
        syn::BinOp::Le(_) => Ok(CompareOp::LessEqual),
        syn::BinOp::Gt(_) => Ok(CompareOp::Greater),
        syn::BinOp::Ge(_) => Ok(CompareOp::GreaterEqual),
        syn::BinOp::Eq(_) => Ok(CompareOp::Equal),
        syn::BinOp::Ne(_) => Ok(CompareOp::NotEqual),
        other => Err(Error::new_spanned(other, "a condition in a body compares numbers: `x < 0.0`")),
    }
}
