//! Elements of operands in rows that an index picks.

use autokernel_ops::expr::Expr;
use syn::{Error, Ident, Result};

use super::{Text, Translator, Value};

impl Translator<'_> {
    /// `operand[index]`, which becomes a value of its own; the same one twice is one value.
    pub(super) fn fetch(&mut self, picked: &syn::ExprIndex) -> Result<Expr> {
        if self.text == Text::Epilogue {
            return Err(Error::new_spanned(picked, "an epilogue sees one element, and no index; leave it out"));
        }
        let (of, row) = picked_row(picked)?;
        self.refuse_in_function(picked, &format!("{of}[{row}]"))?;
        for name in [of, row] {
            let written = name.to_string();
            let hidden = self.scope.iter().rev().find(|(known, _)| *known == written);
            if hidden.is_some_and(|(_, unique)| *unique != written) {
                let message = format!("`{name}` is a value here, which hides the operand; give the value another name");
                return Err(Error::new_spanned(name, message));
            }
        }
        let [of, row] = [of, row].map(ToString::to_string);
        Ok(self.lift(&format!("{of}_at_{row}"), picked, Value::Fetched { of, row }))
    }
}

/// The operand and the index of `operand[index]`.
///
/// # Errors
/// One of them is no plain name.
pub fn picked_row(picked: &syn::ExprIndex) -> Result<(&Ident, &Ident)> {
    let message = "rows are picked of an operand by an operand, `table[ids]`, where `ids` is an `&Index`";
    let both = plain_name(&picked.expr).zip(plain_name(&picked.index));
    both.ok_or_else(|| Error::new_spanned(picked, message))
}

fn plain_name(expr: &syn::Expr) -> Option<&Ident> {
    match expr {
        syn::Expr::Path(path) => path.path.get_ident(),
        _ => None,
    }
}
