//! Numbers of a text, with their type.

use syn::LitFloat;
use syn::visit_mut::VisitMut;

/// The block with `f32` behind each number that names no type: by itself rustc takes `0.1 + 0.2 < 0.3` for a comparison of
/// `f64`, and knows no method of `1.5`.
pub fn typed(block: &syn::Block) -> syn::Block {
    let mut block = block.clone();
    Typed.visit_block_mut(&mut block);
    block
}

struct Typed;

impl VisitMut for Typed {
    fn visit_lit_float_mut(&mut self, number: &mut LitFloat) {
        if number.suffix().is_empty() {
            let digits = number.to_string();
            let zero = if digits.ends_with('.') { "0" } else { "" };
            *number = LitFloat::new(&format!("{digits}{zero}f32"), number.span());
        }
    }
}

#[cfg(test)]
mod tests {
    use quote::ToTokens;
    use syn::parse_quote;

    use super::typed;

    #[test]
    fn every_number_of_a_text_gets_its_type_once() {
        let text = typed(&parse_quote! {{ let y = if 0.1 + 1. < 3e-1 { 2.0f32 } else { 1_000.5 }; }});
        let expected: syn::Block =
            parse_quote! {{ let y = if 0.1f32 + 1.0f32 < 3e-1f32 { 2.0f32 } else { 1_000.5f32 }; }};
        assert_eq!(text.to_token_stream().to_string(), expected.to_token_stream().to_string());
    }
}
