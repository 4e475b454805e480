//! From a Rust function to its expression tree.
//!
//! Understood: a body of `let` and `const` of type `f32` and a final expression, built from literals, names,
//! `+ - * /`, unary minus, comparisons, `&& || !`, `if … else`, and the methods and functions of [`Math`]. All of it is
//! pure, so a `let` inside a branch may be computed outside it.

use syn::spanned::Spanned;
use syn::{Error, Result};

use autokernel_ops::expr::{BinaryOp, Binding, CompareOp, Condition, Expr, Function, Math};

/// Translates `function`, whose parameters after the first take the values `arguments`.
pub fn translate(function: &syn::ItemFn, arguments: &[f32]) -> Result<Function> {
    let parameters: Vec<String> = function.sig.inputs.iter().map(parameter_name).collect::<Result<_>>()?;
    let (parameter, rest) = parameters
        .split_first()
        .ok_or_else(|| Error::new(function.sig.span(), "an epilogue takes the accumulated element: `x: f32`"))?;

    let mut translator = Translator { bindings: Vec::new(), scope: vec![(parameter.clone(), parameter.clone())] };
    for (name, value) in rest.iter().zip(arguments) {
        translator.bind(name, Expr::Literal(*value));
    }
    let result = translator.block(&function.block)?;
    Ok(Function { parameter: parameter.clone(), bindings: translator.bindings, result })
}

fn parameter_name(argument: &syn::FnArg) -> Result<String> {
    let syn::FnArg::Typed(typed) = argument else {
        return Err(Error::new(argument.span(), "an epilogue is a free function; remove `self`"));
    };
    expect_f32(&typed.ty)?;
    binding_name(&typed.pat)
}

fn expect_f32(ty: &syn::Type) -> Result<()> {
    match ty {
        syn::Type::Path(path) if path.path.is_ident("f32") => Ok(()),
        other => Err(Error::new(other.span(), "epilogues compute in `f32`; write `f32` here")),
    }
}

fn binding_name(pattern: &syn::Pat) -> Result<String> {
    match pattern {
        syn::Pat::Ident(ident) if ident.by_ref.is_none() && ident.mutability.is_none() && ident.subpat.is_none() => {
            Ok(ident.ident.to_string())
        }
        syn::Pat::Type(typed) => {
            expect_f32(&typed.ty)?;
            binding_name(&typed.pat)
        }
        other => Err(Error::new(other.span(), "an epilogue binds plain, immutable names: `let y = …;`")),
    }
}

struct Translator {
    bindings: Vec<Binding>,
    /// Names as written, innermost last, and the unique names they stand for.
    scope: Vec<(String, String)>,
}

impl Translator {
    fn bind(&mut self, name: &str, value: Expr) {
        let mut unique = name.to_owned();
        while self.scope.iter().any(|(_, used)| *used == unique) || self.bindings.iter().any(|b| b.name == unique) {
            unique.push('_');
        }
        self.bindings.push(Binding { name: unique.clone(), value });
        self.scope.push((name.to_owned(), unique));
    }

    fn block(&mut self, block: &syn::Block) -> Result<Expr> {
        let outer_names = self.scope.len();
        let Some((last, statements)) = block.stmts.split_last() else {
            return Err(Error::new(block.span(), "an epilogue block ends with the value it returns"));
        };
        for statement in statements {
            self.statement(statement)?;
        }
        let syn::Stmt::Expr(value, None) = last else {
            return Err(Error::new(last.span(), "an epilogue block ends with the value it returns, without `;`"));
        };
        let value = self.number(value)?;
        self.scope.truncate(outer_names);
        Ok(value)
    }

    fn statement(&mut self, statement: &syn::Stmt) -> Result<()> {
        match statement {
            syn::Stmt::Local(local) => {
                let name = binding_name(&local.pat)?;
                let init = local.init.as_ref().filter(|init| init.diverge.is_none());
                let init = init.ok_or_else(|| Error::new(local.span(), "give the name its value: `let y = …;`"))?;
                let value = self.number(&init.expr)?;
                self.bind(&name, value);
                Ok(())
            }
            syn::Stmt::Item(syn::Item::Const(item)) => {
                expect_f32(&item.ty)?;
                let value = self.number(&item.expr)?;
                self.bind(&item.ident.to_string(), value);
                Ok(())
            }
            other => Err(Error::new(other.span(), "an epilogue may hold only `let` and `const` before its value")),
        }
    }

    fn number(&mut self, expr: &syn::Expr) -> Result<Expr> {
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
            syn::Expr::If(branch) => self.branch(branch),
            syn::Expr::MethodCall(call) => self.method_call(call),
            syn::Expr::Call(call) => self.function_call(call),
            other => Err(Error::new(
                other.span(),
                "this expression cannot be translated to CUDA; an epilogue uses `+ - * /`, `if … else`, comparisons, \
                 `let`, "
                    .to_owned()
                    + &known_functions(),
            )),
        }
    }

    fn variable(&self, path: &syn::ExprPath) -> Result<Expr> {
        let name = path.path.get_ident().map(ToString::to_string);
        let found = name.and_then(|name| self.scope.iter().rev().find(|(written, _)| *written == name));
        let (_, unique) = found.ok_or_else(|| {
            Error::new(path.span(), "an epilogue sees only its parameter and its own `let` and `const` names")
        })?;
        Ok(Expr::Variable(unique.clone()))
    }

    fn branch(&mut self, branch: &syn::ExprIf) -> Result<Expr> {
        let Some((_, otherwise)) = &branch.else_branch else {
            return Err(Error::new(branch.span(), "an `if` in an epilogue needs its `else`"));
        };
        let condition = self.condition(&branch.cond)?;
        let then = self.block(&branch.then_branch)?;
        let otherwise = self.number(otherwise)?;
        Ok(Expr::If(Box::new(condition), Box::new(then), Box::new(otherwise)))
    }

    fn method_call(&mut self, call: &syn::ExprMethodCall) -> Result<Expr> {
        let function = known(&call.method, true)?;
        let args: Vec<&syn::Expr> = std::iter::once(&*call.receiver).chain(&call.args).collect();
        if args.len() != function.arity() {
            let (name, expected) = (function.name(), function.arity() - 1);
            return Err(Error::new(call.span(), format!("`f32::{name}` takes {expected} arguments")));
        }
        self.call(function, &args)
    }

    fn function_call(&mut self, call: &syn::ExprCall) -> Result<Expr> {
        let name = match &*call.func {
            syn::Expr::Path(path) => path.path.get_ident(),
            _ => None,
        };
        let unknown = || format!("this has no CUDA counterpart here; an epilogue calls {}", known_functions());
        let function = known(name.ok_or_else(|| Error::new(call.func.span(), unknown()))?, false)?;
        let args: Vec<&syn::Expr> = call.args.iter().collect();
        if args.len() != function.arity() {
            let (name, expected) = (function.name(), function.arity());
            return Err(Error::new(call.span(), format!("`{name}` takes {expected} arguments")));
        }
        self.call(function, &args)
    }

    fn call(&mut self, function: Math, args: &[&syn::Expr]) -> Result<Expr> {
        let args = args.iter().map(|arg| self.number(arg)).collect::<Result<_>>()?;
        Ok(Expr::Call(function, args))
    }

    fn condition(&mut self, expr: &syn::Expr) -> Result<Condition> {
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
            other => Err(Error::new(other.span(), "a condition in an epilogue compares numbers: `x < 0.0`")),
        }
    }
}

/// The function called `name`, written as it is called.
fn known(name: &syn::Ident, as_method: bool) -> Result<Math> {
    let message = match Math::from_name(&name.to_string()) {
        Some(function) if function.is_method() == as_method => return Ok(function),
        Some(_) if as_method => format!("`{name}` is no method of `f32`; write `{name}(x)`"),
        Some(_) => format!("`{name}` is a method of `f32`; write `x.{name}()`"),
        None => format!("`{name}` has no CUDA counterpart here; an epilogue calls {}", known_functions()),
    };
    Err(Error::new(name.span(), message))
}

fn known_functions() -> String {
    let (methods, functions): (Vec<Math>, Vec<Math>) = Math::ALL.iter().partition(|function| function.is_method());
    let names = |list: &[Math]| list.iter().map(|function| function.name()).collect::<Vec<_>>().join(", ");
    format!("these functions: {}, and these methods of `f32`: {}", names(&functions), names(&methods))
}

fn number_literal(literal: &syn::Lit) -> Result<Expr> {
    match literal {
        syn::Lit::Float(float) if matches!(float.suffix(), "" | "f32") => Ok(Expr::Literal(float.base10_parse()?)),
        other => Err(Error::new(other.span(), "epilogues compute in `f32`; write the number as `1.0`")),
    }
}

fn arithmetic(op: &syn::BinOp) -> Result<BinaryOp> {
    match op {
        syn::BinOp::Add(_) => Ok(BinaryOp::Add),
        syn::BinOp::Sub(_) => Ok(BinaryOp::Subtract),
        syn::BinOp::Mul(_) => Ok(BinaryOp::Multiply),
        syn::BinOp::Div(_) => Ok(BinaryOp::Divide),
        other => Err(Error::new(other.span(), "an epilogue computes with `+`, `-`, `*` and `/`")),
    }
}

fn comparison(op: &syn::BinOp) -> Result<CompareOp> {
    match op {
        syn::BinOp::Lt(_) => Ok(CompareOp::Less),
        syn::BinOp::Le(_) => Ok(CompareOp::LessEqual),
        syn::BinOp::Gt(_) => Ok(CompareOp::Greater),
        syn::BinOp::Ge(_) => Ok(CompareOp::GreaterEqual),
        syn::BinOp::Eq(_) => Ok(CompareOp::Equal),
        syn::BinOp::Ne(_) => Ok(CompareOp::NotEqual),
        other => Err(Error::new(other.span(), "a condition in an epilogue compares numbers: `x < 0.0`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(source: &str) -> Result<Function> {
        translate(&syn::parse_str(source).unwrap(), &[])
    }

    #[test]
    fn a_shadowed_name_means_the_value_in_scope() {
        let shadowed = function("fn f(x: f32) -> f32 { let x = x + 1.0; let x = x * x; x }").unwrap();
        assert_eq!(shadowed.eval(2.0), 9.0);
    }

    #[test]
    fn a_let_inside_a_branch_stays_inside_it() {
        let source = "fn f(x: f32) -> f32 { let y = 10.0; if x < 0.0 { let y = -x; y } else { y } }";
        let branched = function(source).unwrap();
        assert_eq!((branched.eval(-3.0), branched.eval(3.0)), (3.0, 10.0));
    }

    #[test]
    fn else_if_chains_and_conditions_evaluate_as_in_rust() {
        let source = "fn f(x: f32) -> f32 { if x < 0.0 || x > 9.0 { 0.0 } else if !(x == 1.0) { 1.0 } else { 2.0 } }";
        let chained = function(source).unwrap();
        assert_eq!([-1.0, 10.0, 5.0, 1.0].map(|x| chained.eval(x)), [0.0, 0.0, 1.0, 2.0]);
    }

    #[test]
    fn what_cannot_be_translated_is_refused_with_what_can() {
        for (body, expected) in [
            ("x.powf(2.0)", "and these methods of `f32`: abs, max"),
            ("erfc(x)", "these functions: erf, and"),
            ("f32::tanh(x)", "no CUDA counterpart"),
            ("x.erf()", "write `erf(x)`"),
            ("tanh(x)", "write `x.tanh()`"),
            ("erf(x, 1.0)", "takes 1 arguments"),
            ("x as f32", "cannot be translated"),
            ("y", "only its parameter"),
            ("x + 1", "write the number as `1.0`"),
            ("if x < 0.0 { 1.0 }", "needs its `else`"),
            ("let mut y = x; y", "immutable"),
            ("x % 2.0", "`+`, `-`, `*` and `/`"),
            ("x.max()", "takes 1 arguments"),
        ] {
            let message = function(&format!("fn f(x: f32) -> f32 {{ {body} }}")).unwrap_err().to_string();
            assert!(message.contains(expected), "{body}: {message}");
        }
    }
}
