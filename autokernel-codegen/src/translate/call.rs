//! Calls of a crate's own functions, whose text is put in the place of the call.

use autokernel_ops::expr::Expr;
use syn::{Error, Ident, Result};

use super::{Text, Translator, Value};
use crate::function::{Function, Functions};
use crate::words::takes;

/// Reads the block of a function whose parameters are any numbers.
///
/// # Errors
/// What a function cannot hold, at its place.
pub fn check_function(function: &Function, functions: &Functions) -> Result<()> {
    let mut translator = Translator::new(Text::Function, functions);
    translator.inside.push(function.name().to_string());
    for parameter in function.parameters() {
        translator.declare(&parameter.to_string());
    }
    translator.block(function.block()).map(drop)
}

impl Translator<'_> {
    /// The value of a call of a function of the crate's own; none where it has none of that name.
    pub(super) fn own_function(&mut self, name: &Ident, call: &syn::ExprCall) -> Option<Result<Expr>> {
        if self.text == Text::Epilogue {
            return None;
        }
        if self.inside.iter().any(|around| name == around) {
            let around = self.inside.join("` calls `");
            let message =
                format!("`{around}` calls `{name}`: a function that calls itself has no end here; write it without");
            return Some(Err(Error::new_spanned(call, message)));
        }
        let functions = self.functions;
        Some(functions.find(name)?.and_then(|function| self.put_in(function, call)))
    }

    fn put_in(&mut self, function: &Function, call: &syn::ExprCall) -> Result<Expr> {
        let (name, parameters) = (function.name().to_string(), function.parameters());
        if call.args.len() != parameters.len() {
            return Err(Error::new_spanned(call, takes(&name, parameters.len(), call.args.len())));
        }
        let arguments = call.args.iter().map(|argument| self.number(argument)).collect::<Result<Vec<_>>>()?;
        let (names, text) = (self.scope.len(), self.text);
        for (parameter, argument) in parameters.iter().zip(arguments) {
            let unique = self.unique(&format!("{name}_{parameter}"));
            self.bind_as(&parameter.to_string(), unique, Value::Number(argument), call);
        }
        let outer = std::mem::replace(&mut self.seen_from, names);
        self.inside.push(name);
        self.text = Text::Function;
        let value = self.block(function.block());
        // What is wrong there is reported there: here its place is the call.
        let value = value.map_err(|error| Error::new_spanned(call, error));
        self.text = text;
        self.inside.pop();
        self.seen_from = outer;
        self.scope.truncate(names);
        value
    }
}
