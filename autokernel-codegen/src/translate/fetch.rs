//! Elements of operands in other rows and columns.

use autokernel_ops::body::Columns;
use autokernel_ops::expr::Expr;
use quote::ToTokens;
use syn::{Error, Ident, Result};

use super::{Text, Translator, Value};
use crate::fetched::Fetched;

impl Translator<'_> {
    /// What is read elsewhere, which becomes a value of its own; the same one twice is one value.
    pub(super) fn fetch(&mut self, written: &syn::Expr, fetched: &Fetched<'_>) -> Result<Expr> {
        let Fetched { of, row, columns } = *fetched;
        if self.text == Text::Epilogue {
            let message = "an epilogue sees one element alone; leave this out";
            return Err(Error::new_spanned(written, message));
        }
        self.refuse_in_function(written, &written.to_token_stream().to_string())?;
        // A rotation may be of what is computed: which one its name says.
        let value = match (columns.are_partners(), row) {
            (true, None) => self.scope.iter().enumerate().rev().find(|(_, (known, _))| of == known),
            _ => None,
        };
        if value.is_some_and(|(at, _)| self.depth > 0 && at >= self.outermost) {
            let message =
                format!("`{of}` is bound in a block; bind what is rotated in a statement of the body: `let {of} = …;`");
            return Err(Error::new_spanned(of, message));
        }
        let value = value.map(|(_, (_, unique))| unique.clone());
        let named = if value.is_some() { None } else { Some(of) };
        for name in [named, row].into_iter().flatten() {
            self.refuse_hidden(name)?;
        }
        let (of, row) = (value.unwrap_or_else(|| of.to_string()), row.map(ToString::to_string));
        let at = row.as_ref().map_or(String::new(), |row| format!("_at_{row}"));
        let name = match columns {
            Columns::Same => format!("{of}{at}"),
            Columns::RotateHalf(_) | Columns::RotatePairs => format!("{of}{at}_rotated"),
            Columns::Repeat => format!("{of}{at}_repeated"),
        };
        Ok(self.lift(&name, &written, Value::Fetched { of, row, columns }))
    }

    /// What names an operand as a whole names the operand: no value of its name is bound before.
    pub(super) fn refuse_hidden(&self, name: &Ident) -> Result<()> {
        let written = name.to_string();
        let hidden = self.scope.iter().rev().find(|(known, _)| *known == written);
        if hidden.is_some_and(|(_, unique)| *unique != written) {
            let message = format!("`{name}` is a value here, which hides the operand; give the value another name");
            return Err(Error::new_spanned(name, message));
        }
        Ok(())
    }
}
