//! How generated code names the kernels of a declaration and the types of their elements: where there are several kernels, by
//! the declaration's type parameters.

use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::spec::Spec;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::Ident;

/// The names of what a declaration generates.
pub struct Names<'s> {
    spec: &'s Spec,
    dtypes: Vec<Dtype>,
}

impl<'s> Names<'s> {
    /// Those of the declaration of which `spec` is a kernel.
    pub fn of(spec: &'s Spec) -> Self {
        let operands = spec.problem.signature().operands;
        Names { spec, dtypes: operands.iter().map(|operand| operand.dtype).collect() }
    }

    /// The type parameters, in order; none where there is one kernel.
    pub fn parameters(&self) -> Vec<&'s Ident> {
        self.spec.choices.iter().map(|choice| &choice.parameter).collect()
    }

    /// The type of the elements of parameter `number`.
    pub fn element(&self, number: usize) -> TokenStream {
        match self.spec.type_parameter(number) {
            Some(parameter) => quote!(#parameter),
            None => self.chosen(number),
        }
    }

    /// The same in the trait that finds kernels by their types, which the first parameter implements.
    pub fn element_in_trait(&self, number: usize) -> TokenStream {
        match self.spec.type_parameter(number) {
            Some(parameter) if self.parameters().first() == Some(&parameter) => quote!(Self),
            _ => self.element(number),
        }
    }

    /// The same of this kernel.
    pub fn chosen(&self, number: usize) -> TokenStream {
        element_type(self.dtypes[number])
    }

    /// The types that stand for the parameters in this kernel.
    pub fn choices(&self) -> Vec<TokenStream> {
        self.spec.choices.iter().map(|choice| element_type(choice.dtype())).collect()
    }

    /// The kernel, in its module.
    pub fn kernel(&self) -> TokenStream {
        let parameters = self.parameters();
        if parameters.is_empty() { quote!(KERNEL) } else { quote!(kernel::<#(#parameters),*>()) }
    }

    /// The generic parameters of a function on these types, each ended by a comma; none where there is one kernel. `module`
    /// leads to the trait that bounds them.
    pub fn generics(&self, module: &TokenStream) -> TokenStream {
        let parameters = self.parameters();
        let Some((first, others)) = parameters.split_first() else { return TokenStream::new() };
        let bound = with_arguments(&quote!(#module Types), others);
        quote!(#first: #bound, #(#others: ::autokernel::Element,)*)
    }
}

/// `path<arguments>`, or the path alone.
pub fn with_arguments(path: &TokenStream, arguments: &[impl ToTokens]) -> TokenStream {
    if arguments.is_empty() { path.clone() } else { quote!(#path<#(#arguments),*>) }
}

/// The element type in Rust.
pub fn element_type(dtype: Dtype) -> TokenStream {
    match dtype {
        Dtype::Bf16 => quote!(::autokernel::bf16),
        Dtype::F16 => quote!(::autokernel::f16),
        Dtype::F32 => quote!(f32),
        Dtype::E4m3 => quote!(::autokernel::e4m3),
        Dtype::E5m2 => quote!(::autokernel::e5m2),
        Dtype::I8 => quote!(i8),
        Dtype::I4x2 => quote!(::autokernel::i4x2),
        Dtype::I32 => quote!(i32),
    }
}

/// An item in the generated module that is as visible as the function beside it.
pub fn visible_from_inside(visibility: &syn::Visibility) -> TokenStream {
    match visibility {
        syn::Visibility::Inherited => quote!(pub(super)),
        _ => quote!(pub),
    }
}
