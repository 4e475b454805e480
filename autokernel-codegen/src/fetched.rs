//! What a body reads elsewhere than where it writes: `table[ids]`, `rotate_half(x, 128)`.

use autokernel_ops::body::Columns;
use syn::{Error, Ident, Result};

use crate::words::{REPEAT_COLUMNS, ROTATE_HALF, ROTATE_PAIRS, takes};

/// An operand's element in another row or column, as it is written.
pub struct Fetched<'e> {
    /// The operand.
    pub of: &'e Ident,
    /// The index that picks its row.
    pub row: Option<&'e Ident>,
    /// Which columns.
    pub columns: Columns,
}

/// What an expression reads elsewhere; nothing where it is another one.
pub fn fetched(written: &syn::Expr) -> Option<Result<Fetched<'_>>> {
    match written {
        syn::Expr::Index(picked) => {
            let row = picked_row(picked);
            Some(row.map(|(of, row)| Fetched { of, row: Some(row), columns: Columns::Same }))
        }
        syn::Expr::Call(call) => {
            let name = plain_name(&call.func)?.to_string();
            let arguments: Vec<&syn::Expr> = call.args.iter().collect();
            let columns = match (name.as_str(), &arguments[..]) {
                (ROTATE_HALF, [_, head]) => columns_of_head(head).map(Columns::RotateHalf),
                (ROTATE_PAIRS, [_]) => Ok(Columns::RotatePairs),
                (REPEAT_COLUMNS, [_]) => Ok(Columns::Repeat),
                (ROTATE_HALF, _) => Err(Error::new_spanned(call, takes(&name, 2, arguments.len()))),
                (ROTATE_PAIRS | REPEAT_COLUMNS, _) => Err(Error::new_spanned(call, takes(&name, 1, arguments.len()))),
                _ => return None,
            };
            Some(columns.and_then(|columns| moved(&name, arguments[0], columns)))
        }
        _ => None,
    }
}

/// An operand, or its row that an index picks, whose columns are others.
fn moved<'e>(name: &str, of: &'e syn::Expr, columns: Columns) -> Result<Fetched<'e>> {
    match of {
        syn::Expr::Index(picked) => picked_row(picked).map(|(of, row)| Fetched { of, row: Some(row), columns }),
        of => {
            let message = format!(
                "`{name}` reads other elements of an operand, which it takes by its name: `x`, or `x[ids]`; what is computed \
                 has no others, but beside a product, where it is bound first: `let y = dot(…);`"
            );
            let of = plain_name(of).ok_or_else(|| Error::new_spanned(of, message))?;
            Ok(Fetched { of, row: None, columns })
        }
    }
}

/// The columns of a head.
fn columns_of_head(written: &syn::Expr) -> Result<u32> {
    let literal = match written {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(int), .. }) => int.base10_parse().ok(),
        _ => None,
    };
    // So many that no row has as many heads.
    let literal = literal.filter(|&columns: &u32| columns <= 1 << 24);
    literal.ok_or_else(|| Error::new_spanned(written, "write the columns of a head as a number: `rotate_half(x, 128)`"))
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
