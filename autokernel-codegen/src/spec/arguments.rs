//! What stands in an attribute's parentheses.

use autokernel_ops::declaration::{Given, Setting, Value, ValueKind};
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Error, Ident, Result, Token};

use super::nodes::Nodes;

/// The settings, in order.
pub fn parse(tokens: TokenStream, nodes: &mut Nodes) -> Result<Vec<Setting>> {
    let written = Punctuated::<Written, Token![,]>::parse_terminated.parse2(tokens)?;
    Ok(written.into_iter().map(|written| written.read(nodes)).collect())
}

/// A setting as tokens.
struct Written {
    name: Ident,
    given: WrittenGiven,
}

enum WrittenGiven {
    Nothing,
    Value(Box<syn::Expr>),
    Arguments(Punctuated<syn::Expr, Token![,]>),
}

impl Parse for Written {
    fn parse(input: ParseStream) -> Result<Self> {
        let name = input.parse().map_err(|_| no_name(input))?;
        if input.parse::<Option<Token![=]>>()?.is_some() {
            return Ok(Written { name, given: WrittenGiven::Value(input.parse()?) });
        }
        if !input.peek(syn::token::Paren) {
            return Ok(Written { name, given: WrittenGiven::Nothing });
        }
        let content;
        syn::parenthesized!(content in input);
        let arguments = content.parse_terminated(syn::Expr::parse, Token![,])?;
        if let Some(syn::Expr::Assign(named)) = arguments.iter().find(|given| matches!(given, syn::Expr::Assign(_))) {
            let value = named.right.to_token_stream();
            return Err(Error::new_spanned(named, format!("values have no names here; write `{name}({value})`")));
        }
        Ok(Written { name, given: WrittenGiven::Arguments(arguments) })
    }
}

/// What stands where the name of a setting should.
fn no_name(input: ParseStream) -> Error {
    if let Ok(text) = input.fork().parse::<syn::LitStr>() {
        return input.error(format!("a setting has no quotes; write `{}`", text.value()));
    }
    if input.peek(Token![|]) || input.peek(Token![move]) {
        let message = "a closure is no epilogue; write a body, `{ out = f(dot(a, b)); }`, whose functions are marked \
                       `#[autokernel::function]`";
        return input.error(message);
    }
    input.error("a setting is `name`, `name = value` or `name(value)`")
}

impl Written {
    fn read(self, nodes: &mut Nodes) -> Setting {
        let node = nodes.add(&self.name);
        let given = match &self.given {
            WrittenGiven::Nothing => Given::Nothing,
            WrittenGiven::Value(expression) => Given::Value(value(expression, nodes)),
            WrittenGiven::Arguments(expressions) => {
                Given::Arguments(expressions.iter().map(|expression| value(expression, nodes)).collect())
            }
        };
        Setting { name: self.name.to_string(), node, given }
    }
}

fn value(expression: &syn::Expr, nodes: &mut Nodes) -> Value {
    Value { kind: kind(expression).unwrap_or(ValueKind::Other), node: nodes.add(expression) }
}

fn kind(expression: &syn::Expr) -> Option<ValueKind> {
    match expression {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(int), .. }) => {
            let typed = !int.suffix().is_empty();
            match int.base10_parse() {
                Ok(value) => Some(ValueKind::Integer { value, typed }),
                Err(_) if typed => None,
                Err(_) => int.base10_parse().ok().map(ValueKind::Number),
            }
        }
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Float(float), .. }) => {
            let is_f32 = matches!(float.suffix(), "" | "f32");
            float.base10_parse().ok().filter(|_| is_f32).map(ValueKind::Number)
        }
        syn::Expr::Unary(syn::ExprUnary { op: syn::UnOp::Neg(_), expr, .. }) => match kind(expr)? {
            ValueKind::Integer { value, typed: false } => Some(ValueKind::Number(-(value as f32))),
            ValueKind::Number(value) => Some(ValueKind::Number(-value)),
            ValueKind::Integer { .. } | ValueKind::Other => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<ValueKind> {
        let mut nodes = Nodes::default();
        let settings = parse(text.parse().unwrap(), &mut nodes).unwrap();
        let Given::Arguments(values) = &settings[0].given else { panic!("{settings:?}") };
        values.iter().map(|value| value.kind).collect()
    }

    #[test]
    fn numbers_are_told_from_what_only_looks_like_one() {
        use ValueKind::{Integer, Number, Other};
        let whole = |value, typed| Integer { value, typed };
        assert_eq!(kinds("f(4_096, 0x10, 8u32)"), [whole(4096, false), whole(16, false), whole(8, true)]);
        assert_eq!(kinds("f(0.2, -1.5, -3, 2.0f32)"), [0.2, -1.5, -3.0, 2.0].map(Number));
        assert_eq!(kinds("f(0.2f64, x, -8u32, \"1\", 1 + 1)"), [Other; 5]);
        assert_eq!(kinds("f(1e40)"), [Number(f32::INFINITY)], "the room refuses it with its reason");
    }
}
