//! Words of the language of bodies: what is called by a plain name, and how values are bound.

use autokernel_ops::body::Reduction;
use autokernel_ops::epilogue::Epilogue;
use autokernel_ops::expr::{Axis, Math};
use syn::{Error, Ident, Result};

/// The product of two matrices, in a body.
pub const DOT: &str = "dot";

/// The partner of an element in its head, half a head away, with the sign that a rotation gives it.
pub const ROTATE_HALF: &str = "rotate_half";
/// The same of a pair of neighbours.
pub const ROTATE_PAIRS: &str = "rotate_pairs";
/// An operand whose columns repeat along a row.
pub const REPEAT_COLUMNS: &str = "repeat_columns";

/// Whether a call of `name` means what the language says, whoever else has a function of that name.
pub fn is_intrinsic(name: &str) -> bool {
    let is_epilogue = || Epilogue::of_bodies().iter().any(|epilogue| epilogue.name() == name);
    let is_fetch = || [ROTATE_HALF, ROTATE_PAIRS, REPEAT_COLUMNS].contains(&name);
    let is_of_body = || {
        is_fetch()
            || name == DOT
            || Reduction::from_name(name).or_else(|| Reduction::from_column_name(name)).is_some()
            || Axis::from_name(name).is_some()
    };
    is_of_body() || Math::from_name(name).is_some() || is_epilogue()
}

/// A name of the language is no one else's.
///
/// # Errors
/// It is one; `what` would hide it.
pub fn refuse_intrinsic(name: &Ident, what: &str) -> Result<()> {
    if is_intrinsic(&name.to_string()) {
        let message = format!("{what} would hide `{name}` of the language of bodies; give it another name");
        return Err(Error::new(name.span(), message));
    }
    Ok(())
}

/// What counts rows or columns is called, so that an operand may have its name, and a function may not.
///
/// # Errors
/// It is such a name.
pub fn refuse_count(name: &Ident) -> Result<()> {
    if Axis::from_count(&name.to_string()).is_some() {
        let message =
            format!("a function of this name would hide `{name}()` of the language of bodies; give it another name");
        return Err(Error::new(name.span(), message));
    }
    Ok(())
}

/// A type of the language is `f32`.
///
/// # Errors
/// It is another one.
pub fn expect_f32(ty: &syn::Type) -> Result<()> {
    match ty {
        syn::Type::Path(path) if path.path.is_ident("f32") => Ok(()),
        syn::Type::Path(path) if path.path.is_ident("bool") => Err(Error::new_spanned(
            ty,
            "a name stands for a number: bind `let mask: f32 = if … { 1.0 } else { 0.0 };` and ask `if mask == 1.0`, or compare where it is \
             asked",
        )),
        other => Err(Error::new_spanned(other, "bodies compute in `f32`; write `f32` here")),
    }
}

/// The name that a `let` binds.
///
/// # Errors
/// It binds something else.
pub fn binding_name(pattern: &syn::Pat) -> Result<String> {
    match pattern {
        syn::Pat::Ident(ident) if ident.by_ref.is_none() && ident.mutability.is_none() && ident.subpat.is_none() => {
            Ok(ident.ident.to_string())
        }
        syn::Pat::Type(typed) => {
            expect_f32(&typed.ty)?;
            binding_name(&typed.pat)
        }
        other => Err(Error::new_spanned(other, "a body binds plain, immutable names: `let y = …;`")),
    }
}

/// What a call with another number of arguments is told.
pub fn takes(name: &str, expected: usize, given: usize) -> String {
    let arguments = if expected == 1 { "argument" } else { "arguments" };
    format!("`{name}` takes {expected} {arguments}, not {given}")
}
