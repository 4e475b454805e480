//! A function whose body syn cannot read.

use autokernel_codegen::spec::Function;
use proc_macro2::{Delimiter, Group, TokenStream};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Error, Result, Signature, Visibility};

/// It as it stands. rustc read it before us: where it could not, it has said why, and says no more of a function whose body is the same
/// again. What it can read and syn cannot does not compile either, for a constant in it.
pub struct Unread {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    /// What stands before its body.
    pub signature: Signature,
    body: Group,
}

impl Unread {
    /// `item`, if it is a function and its body is what cannot be read of it.
    pub fn of(item: &TokenStream) -> Option<Self> {
        let is_read = syn::parse2::<Function>(item.clone()).is_ok();
        if is_read { None } else { syn::parse2(item.clone()).ok() }
    }
}

impl Parse for Unread {
    fn parse(input: ParseStream) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let (visibility, signature, body) = (input.parse()?, input.parse()?, input.parse::<Group>()?);
        if body.delimiter() != Delimiter::Brace {
            return Err(Error::new(body.span(), "expected a body"));
        }
        Ok(Unread { attributes, visibility, signature, body })
    }
}

impl ToTokens for Unread {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Unread { attributes, visibility, signature, body } = self;
        tokens.extend(quote! {
            #(#attributes)*
            #[allow(unused)]
            #visibility #signature {
                const { ::core::panic!("autokernel cannot read this function; write `let`, `const` and expressions that it knows") }
                #body;
                ::core::unreachable!()
            }
        });
    }
}
