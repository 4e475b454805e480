//! Names that the module beside a kernel holds, and that nothing which a declaration binds can have there.

use syn::ext::IdentExt;
use syn::visit::Visit;
use syn::{Block, Error, Ident, Result, Signature};

use crate::mistakes::Mistakes;

/// The kernel itself, a static: no pattern binds its name.
const KERNEL: &str = "KERNEL";
/// The trait by which types find their kernel.
const TYPES: &str = "Types";

/// A parameter, a type parameter or a value of a kernel has a name of its own.
///
/// # Errors
/// One has a name that the module holds, at its place.
pub fn refuse_names(signature: &Signature, body: Option<&Block>) -> Result<()> {
    let mut bound = Bound::default();
    bound.visit_signature(signature);
    if let Some(body) = body {
        bound.visit_block(body);
    }
    bound.0.into_result()
}

#[derive(Default)]
struct Bound(Mistakes);

impl Bound {
    fn refuse(&mut self, name: &Ident, held: &str, what: &str) {
        if name.unraw() == held {
            let message =
                format!("`{held}` is {what} in the module that comes with the function; give this another name");
            self.0.push(Error::new(name.span(), message));
        }
    }
}

impl<'ast> Visit<'ast> for Bound {
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        self.refuse(&pattern.ident, KERNEL, "the kernel itself");
    }

    fn visit_type_param(&mut self, parameter: &'ast syn::TypeParam) {
        self.refuse(&parameter.ident, TYPES, "the trait of its types");
    }
}
