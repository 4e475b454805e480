//! The element types that candle and autokernel have in common.

use autokernel::{bf16, e4m3, f16};
use candle_core::{CpuStorage, WithDType};

/// What elements are on candle's CUDA device.
#[cfg(feature = "cuda")]
pub trait OnCuda: candle_core::cuda_backend::CudaDType {}
#[cfg(feature = "cuda")]
impl<T: candle_core::cuda_backend::CudaDType> OnCuda for T {}

/// What elements are on candle's CUDA device: nothing without the feature `cuda`.
#[cfg(not(feature = "cuda"))]
pub trait OnCuda {}
#[cfg(not(feature = "cuda"))]
impl<T> OnCuda for T {}

/// An element type of candle's tensors and of kernels: `bf16`, `f16`, `f32`, or `e4m3`. Sealed, as
/// [`Element`](autokernel::Element) is.
pub trait TensorElement: autokernel::Element + WithDType + OnCuda {
    /// The elements of what holds this type.
    #[doc(hidden)]
    fn on_the_host(storage: &mut CpuStorage) -> Option<&mut [Self]>;
}

macro_rules! tensor_element {
    ($($ty:ident = $variant:ident),+) => {
        $(impl TensorElement for $ty {
            fn on_the_host(storage: &mut CpuStorage) -> Option<&mut [Self]> {
                match storage {
                    CpuStorage::$variant(data) => Some(data),
                    _ => None,
                }
            }
        })+
    };
}

tensor_element!(bf16 = BF16, f16 = F16, f32 = F32, e4m3 = F8E4M3);

/// `$body` with `$T` being the type among those listed whose elements `$dtype` names; an error that lists them for any other.
macro_rules! by_type {
    ($dtype:expr, $T:ident in [$($ty:ident = $variant:ident),+] => $body:expr) => {
        match $dtype {
            $(candle_core::DType::$variant => {
                type $T = autokernel::$ty;
                $body
            })+
            found => {
                let expected = [$(stringify!($ty)),+].join(" or ");
                Err($crate::Error::Type { found, expected })
            }
        }
    };
}

/// [`by_type`] of the types that are factors of products.
macro_rules! by_factor {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::element::by_type!($dtype, $T in [bf16 = BF16, f16 = F16] => $body)
    };
}

pub(crate) use {by_factor, by_type};
