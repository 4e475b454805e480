//! A kernel of gradients: what its declaration says.

use autokernel_ops::backward;
use autokernel_ops::backward::products::{self, Chained, Computes, Purpose};
use autokernel_ops::body::{Body, Operand};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::names::{OF_ROWS, PRODUCTS, ROWS, SETTING};
use crate::body_text;

/// A kernel of gradients.
pub struct Kernel {
    /// What its function is called.
    pub name: String,
    computes: Computes,
    /// What it is for, where it is one of a product's.
    purpose: Option<Purpose>,
}

impl Kernel {
    /// One of a row-wise body.
    pub fn of_rows(name: &str, body: Body) -> Self {
        Kernel { name: name.to_owned(), computes: Computes::Rows(body), purpose: None }
    }

    /// One of a product's body.
    pub fn of_product(products::Kernel { purpose, computes }: products::Kernel) -> Self {
        Kernel { name: purpose.name(), computes, purpose: Some(purpose) }
    }

    /// Its operands, and what it computes of them.
    pub fn body(&self) -> &Body {
        self.computes.body()
    }

    /// The attribute that declares it.
    pub fn attribute(&self) -> &'static str {
        match self.computes {
            Computes::Rows(_) => ROWS,
            Computes::Product(_) => PRODUCTS,
        }
    }

    /// The attribute's settings beside types.
    pub fn settings(&self) -> TokenStream {
        let Computes::Product(chained) = &self.computes else { return TokenStream::new() };
        let Chained { known_n, known_k, .. } = **chained;
        let [n, k] = [known_n, known_k].map(|known| known.map(Literal::u32_unsuffixed).into_iter());
        quote!(#(n = #n,)* #(k = #k,)*)
    }

    /// The function's statements.
    pub fn statements(&self) -> TokenStream {
        let statements = body_text::statements(self.body());
        let Computes::Product(chained) = &self.computes else { return statements };
        let product = body_text::product(&chained.written.product, chained.layout);
        quote!(#product #statements)
    }

    /// Its documentation, as one of the kernels of `function`, whose body is `of`.
    pub fn docs(&self, function: &str, of: &Body) -> String {
        let link = format!("[`{function}`](fn@super::{function})");
        let (given, written) = (names(self.body().inputs()), names(self.body().outputs()));
        match &self.purpose {
            None => of_rows(&link, &given, self.body(), of),
            Some(Purpose::Forward) => {
                let kept = names(self.body().outputs().filter(|output| of.operand(&output.name).is_none()));
                format!("What {link} computes, and {kept}, of which its gradients are computed.")
            }
            Some(Purpose::Backward | Purpose::Rows) => {
                format!("The gradients of {link}, computed of {given}: {written}.")
            }
            Some(Purpose::Fused { of }) => {
                let of = of.trim_start_matches("r#");
                let product = match &self.computes {
                    Computes::Product(chained) => {
                        body_text::product(&chained.written.product, chained.layout).to_string()
                    }
                    Computes::Rows(_) => String::new(),
                };
                format!(
                    "What [`{SETTING}`](fn@{SETTING}) writes, where `{of}` is itself the product of the next layer's gradient and \
                     weight, `{}`: computed of {given}: {written}.",
                    product.trim_end_matches(" ;")
                )
            }
            Some(Purpose::Factor(factor)) => {
                let factor = factor.trim_start_matches("r#");
                format!("The gradient of the factor `{factor}` of {link}, the product of {given}: {written}.")
            }
        }
    }
}

/// Their names, as a text lists them.
fn names<'o>(operands: impl Iterator<Item = &'o Operand>) -> String {
    let names: Vec<String> = operands.map(|operand| format!("`{}`", operand.name.trim_start_matches("r#"))).collect();
    names.join(", ")
}

fn of_rows(function: &str, given: &str, body: &Body, of: &Body) -> String {
    let is_gradient = |output: &&Operand| backward::source(of, &output.name).is_some();
    let gradients = names(body.outputs().filter(is_gradient));
    let others = names(body.outputs().filter(|output| !is_gradient(output)));
    let gradients = if gradients.is_empty() { "none here".to_owned() } else { gradients };
    let others = if others.is_empty() { others } else { format!("; and {others}, which `{OF_ROWS}` takes") };
    format!("The gradients of {function}, computed of {given}: {gradients}{others}.")
}
