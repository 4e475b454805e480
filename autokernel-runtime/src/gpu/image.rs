//! From the bytes of an image to a function on the GPU.

use std::sync::Arc;

use cudarc::driver::sys::{CUfunction_attribute as Attribute, CUresult};
use cudarc::driver::{CudaContext, CudaFunction, CudaModule};
use cudarc::nvrtc::Ptx;

use crate::ptx::ptx_text;
use crate::{Error, Image, Result};

/// What every cubin begins with: it is an ELF file.
const ELF_MAGIC: &[u8] = b"\x7fELF";

/// The shared memory, static and dynamic together, that a block may use without asking for more.
const DEFAULT_SHARED_BYTES: i32 = 48 << 10;

/// Loads an image into a context.
///
/// # Safety
/// The bytes must be a complete image from nvcc: the driver takes no length and follows the offsets inside.
pub(super) unsafe fn load(context: &Arc<CudaContext>, symbol: &str, image: Image<'_>) -> Result<Arc<CudaModule>> {
    let unusable = |reason: &str| Error::Image { symbol: symbol.to_owned(), reason: reason.to_owned() };
    let ptx = match image {
        Image::Cubin(bytes) if bytes.starts_with(ELF_MAGIC) => Ptx::from_binary(bytes.to_vec()),
        Image::Cubin(_) => return Err(unusable("a cubin is an ELF file, and this is none")),
        Image::Ptx(bytes) => Ptx::from_src(ptx_text(bytes).map_err(unusable)?),
    };
    context.load_module(ptx).map_err(Error::cuda("loading a kernel's image"))
}

/// Whether an image names that symbol: PTX does in its text, a cubin in its table of names.
pub(super) fn names(image: Image<'_>, symbol: &str) -> bool {
    let (Image::Ptx(bytes) | Image::Cubin(bytes)) = image;
    bytes.windows(symbol.len()).any(|window| window == symbol.as_bytes())
}

/// A function of a module, allowed to use that much dynamic shared memory.
pub(super) fn function(module: &Arc<CudaModule>, symbol: &str, shared_bytes: u32) -> Result<CudaFunction> {
    let function = optional_function(module, symbol)?.ok_or_else(|| Error::Image {
        symbol: symbol.to_owned(),
        reason: "the image has no kernel of that name".to_owned(),
    })?;
    let dynamic = i32::try_from(shared_bytes).unwrap_or(i32::MAX);
    let fixed = function
        .get_attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
        .map_err(Error::cuda("reading how much shared memory a kernel declares"))?;
    if dynamic.saturating_add(fixed) > DEFAULT_SHARED_BYTES {
        function
            .set_attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic)
            .map_err(Error::cuda("reserving shared memory for a kernel"))?;
    }
    Ok(function)
}

/// A function that a module may lack.
pub(super) fn optional_function(module: &Arc<CudaModule>, symbol: &str) -> Result<Option<CudaFunction>> {
    if symbol.contains('\0') {
        return Ok(None);
    }
    match module.load_function(symbol) {
        Ok(function) => Ok(Some(function)),
        Err(error) if error.0 == CUresult::CUDA_ERROR_NOT_FOUND => Ok(None),
        Err(error) => Err(Error::cuda("finding a kernel in its image")(error)),
    }
}
