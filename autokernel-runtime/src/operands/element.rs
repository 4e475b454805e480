//! The element types of operands.

use crate::operands::any_view::{AnyView, AnyViewMut};
use crate::{MatrixView, MatrixViewMut, Number};

/// An element of an operand: [`half::bf16`], [`half::f16`] or [`f32`], or of the factors of a product [`i8`],
/// [`i4x2`](crate::i4x2), [`float8::F8E4M3`] or [`float8::F8E5M2`], which are `autokernel::e4m3` and `autokernel::e5m2`.
///
/// Sealed, as [`Number`] is.
pub trait Element: Number {
    /// The view without its type.
    #[doc(hidden)]
    fn erase(view: MatrixView<'_, Self>) -> AnyView<'_>;

    /// The view without its type.
    #[doc(hidden)]
    fn erase_mut(view: MatrixViewMut<'_, Self>) -> AnyViewMut<'_>;
}

/// [`Element`] for a type by its name among the [`Dtype`](crate::Dtype)s.
macro_rules! element {
    ($variant:ident: $type:ty) => {
        impl Element for $type {
            fn erase(view: MatrixView<'_, Self>) -> AnyView<'_> {
                AnyView::$variant(view)
            }

            fn erase_mut(view: MatrixViewMut<'_, Self>) -> AnyViewMut<'_> {
                AnyViewMut::$variant(view)
            }
        }
    };
}

element!(Bf16: half::bf16);
element!(F16: half::f16);
element!(F32: f32);
element!(E4m3: float8::F8E4M3);
element!(E5m2: float8::F8E5M2);
element!(I8: i8);
element!(I4x2: crate::i4x2);
