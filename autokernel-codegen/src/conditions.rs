//! Conditions of the build within a declaration, which no kernel can follow: what is declared is read before they are decided.

use syn::visit::{self, Visit};
use syn::{Attribute, Block, Error, Result, Signature};

use crate::mistakes::Mistakes;

/// Whatever is configured, a function is the one that is written.
///
/// # Errors
/// A parameter or a part of the body stands under `#[cfg(…)]` or `#[cfg_attr(…)]`.
pub fn refuse_conditions(signature: &Signature, body: Option<&Block>) -> Result<()> {
    let mut conditions = Conditions::default();
    conditions.visit_signature(signature);
    if let Some(body) = body {
        conditions.visit_block(body);
    }
    conditions.0.into_result()
}

#[derive(Default)]
struct Conditions(Mistakes);

impl<'ast> Visit<'ast> for Conditions {
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr") {
            let message = "a kernel is compiled of all that is written here, whatever is configured; write a function for each case, and the \
                           condition on these";
            self.0.push(Error::new_spanned(attribute, message));
        }
        visit::visit_attribute(self, attribute);
    }
}

#[cfg(test)]
mod tests {
    use super::refuse_conditions;

    #[test]
    fn a_condition_on_a_parameter_or_within_a_body_is_refused_at_its_place_and_no_other_attribute() {
        for (function, conditions) in [
            ("#[cfg(a)] fn f(#[allow(unused)] x: f32) -> f32 { #[allow(unused)] let y = x; y }", 0),
            ("fn f(x: f32, #[cfg(a)] y: f32) -> f32 { x }", 1),
            ("fn f(x: f32) -> f32 { let y = x; #[cfg(a)] let y = 2.0 * x; y }", 1),
            (
                "fn f(x: f32) -> f32 { if x > 0.0 { #[cfg(a)] const A: f32 = 1.0; x } else { #[cfg_attr(a, b)] let y = x; y } }",
                2,
            ),
            ("fn f(x: &Matrix<f32>, out: &mut Matrix<f32>) { #[cfg(a)] { out = x; } }", 1),
        ] {
            let read: syn::ItemFn = syn::parse_str(function).unwrap();
            let refused = refuse_conditions(&read.sig, Some(&read.block));
            assert_eq!(refused.map_or_else(|error| error.into_iter().count(), |()| 0), conditions, "{function}");
        }
    }
}
