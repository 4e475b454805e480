//! The parameters of a declared function.

use autokernel_ops::body::Kind;
use autokernel_ops::declaration::{Parameter, ScalarParameter, TensorParameter};
use syn::Ident;

use super::nodes::Nodes;

/// What a parameter says, as far as it is a reference to a tensor or a number.
pub fn read(argument: &syn::FnArg, nodes: &mut Nodes) -> Parameter {
    let syn::FnArg::Typed(typed) = argument else {
        return Parameter::Other { node: nodes.add(argument) };
    };
    let Some(name) = name(argument) else { return Parameter::Other { node: nodes.add(&typed.pat) } };
    let (node, ty) = (nodes.add(typed), nodes.add(&typed.ty));
    if matches!(&*typed.ty, syn::Type::Path(path) if path.path.is_ident("f32")) {
        return Parameter::Scalar(ScalarParameter { name: name.to_string(), node, ty });
    }
    let syn::Type::Reference(reference) = &*typed.ty else { return Parameter::Other { node: ty } };
    if is_called(&reference.elem, Kind::Index.name()) {
        return Parameter::Index { name: name.to_string(), node, mutable: reference.mutability.is_some() };
    }
    if is_called(&reference.elem, "PageTable") && reference.mutability.is_none() {
        return Parameter::PageTable { name: name.to_string(), node };
    }
    if is_called(&reference.elem, "Routes") {
        return Parameter::Routes { node, mutable: reference.mutability.is_some() };
    }
    let Some((container, element)) = tensor(&reference.elem) else { return Parameter::Other { node: ty } };
    let last = |path: &syn::Path| path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
    Parameter::Tensor(TensorParameter {
        name: name.to_string(),
        node,
        mutable: reference.mutability.is_some(),
        container: container.to_string(),
        element: last(&element.path),
        ty,
        element_node: nodes.add(element),
    })
}

/// Its name, where it is a plain one.
pub fn name(argument: &syn::FnArg) -> Option<&Ident> {
    let syn::FnArg::Typed(typed) = argument else { return None };
    let syn::Pat::Ident(pattern) = &*typed.pat else { return None };
    let plain = pattern.by_ref.is_none() && pattern.mutability.is_none() && pattern.subpat.is_none();
    Some(&pattern.ident).filter(|_| plain)
}

/// The type of its elements, where it is a reference to a tensor.
pub fn element(argument: &syn::FnArg) -> Option<&syn::TypePath> {
    let syn::FnArg::Typed(typed) = argument else { return None };
    let syn::Type::Reference(reference) = &*typed.ty else { return None };
    tensor(&reference.elem).map(|(_, element)| element)
}

/// Whether it is a `&mut Matrix` or a `&mut Batch`.
pub fn is_written_matrix(argument: &syn::FnArg) -> bool {
    is_written(argument) && is_of_elements(argument)
}

/// Whether it is a `&mut`.
pub fn is_written(argument: &syn::FnArg) -> bool {
    reference(argument).is_some_and(|reference| reference.mutability.is_some())
}

/// Whether it has an element for each row and column: a `Matrix`, or a `Batch` of them.
pub fn is_of_elements(argument: &syn::FnArg) -> bool {
    let container = reference(argument).and_then(|reference| tensor(&reference.elem));
    container
        .and_then(|(container, _)| Kind::of_container(&container.to_string()))
        .is_some_and(|(kind, _)| kind == Kind::Matrix)
}

/// Whether it is an `&Index`.
pub fn is_index(argument: &syn::FnArg) -> bool {
    reference(argument).is_some_and(|reference| is_called(&reference.elem, Kind::Index.name()))
}

/// The name of the tensor's type, where it is a reference to one.
pub fn container_mut(argument: &mut syn::FnArg) -> Option<&mut Ident> {
    let syn::FnArg::Typed(typed) = argument else { return None };
    let syn::Type::Reference(reference) = &mut *typed.ty else { return None };
    tensor(&reference.elem)?;
    let syn::Type::Path(path) = &mut *reference.elem else { return None };
    path.path.segments.last_mut().map(|segment| &mut segment.ident)
}

fn reference(argument: &syn::FnArg) -> Option<&syn::TypeReference> {
    let syn::FnArg::Typed(typed) = argument else { return None };
    if let syn::Type::Reference(reference) = &*typed.ty { Some(reference) } else { None }
}

/// Whether it is the type of that name, whatever path leads to it.
fn is_called(ty: &syn::Type, name: &str) -> bool {
    let syn::Type::Path(path) = ty else { return false };
    let last = path.path.segments.last();
    last.is_some_and(|segment| segment.ident == name && segment.arguments.is_none())
}

/// `Matrix` and `T` of `Matrix<T>`, whatever path leads to it.
fn tensor(ty: &syn::Type) -> Option<(&Ident, &syn::TypePath)> {
    let syn::Type::Path(path) = ty else { return None };
    let segment = path.path.segments.last()?;
    let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    match (arguments.args.len(), arguments.args.first()?) {
        (1, syn::GenericArgument::Type(syn::Type::Path(element))) => Some((&segment.ident, element)),
        _ => None,
    }
}
