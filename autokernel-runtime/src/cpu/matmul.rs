//! Matrix products on the CPU.
//!
//! Inputs are widened to `f32` block by block, summed in `f32`, given to the epilogue, and rounded once: the order of
//! operations of the GPU kernels. Blocks bound the extra memory to a few megabytes whatever the size of the product
//! (except along K). Whole numbers are summed exactly, by [`super::matmul_whole`].

use autokernel_ops::matmul::problem;

use super::blocked::{as_it_is, blocked_with};
use super::blocks::{Operand, sides};
use super::epilogue::RowEpilogue;
use super::{matmul_weights, matmul_whole};
use crate::operands::layout::Layout;
use crate::operands::view::StorageMut;
use crate::{AnyView, AnyViewMut, Argument, Device, Element, Error, MatrixView, MatrixViewMut, Result, e4m3, e5m2};

/// `out = epilogue(a · b)` of the operands `[a, b, out]` in host memory, with factors that lie as `factors` says: what a matrix
/// product's descriptor names for the CPU.
///
/// # Errors
/// [`Error::Operands`] for operands of no product, [`Error::DeviceMismatch`] for one that is on a GPU,
/// [`Error::OutOfMemory`].
pub fn matmul(arguments: &mut [Argument<'_>], factors: problem::Layout, epilogue: RowEpilogue) -> Result<()> {
    let refused = |reason: &str| Error::Operands { kernel: "matmul".to_owned(), reason: reason.to_owned() };
    let [Argument::Read(a), Argument::Read(b), Argument::Write(out)] = arguments else {
        return Err(refused("a product reads two matrices and writes one"));
    };
    match (&*a, &*b) {
        (AnyView::Bf16(a), AnyView::Bf16(b)) => into_any(a, b, out, factors, epilogue),
        (AnyView::F16(a), AnyView::F16(b)) => into_any(a, b, out, factors, epilogue),
        (AnyView::F32(a), AnyView::F32(b)) => into_any(a, b, out, factors, epilogue),
        (AnyView::E4m3(a), AnyView::E4m3(b)) => into_any(a, b, out, factors, epilogue),
        (AnyView::E5m2(a), AnyView::E5m2(b)) => into_any(a, b, out, factors, epilogue),
        (AnyView::E4m3(a), AnyView::E5m2(b)) => into_any(a, b, out, factors, epilogue),
        (AnyView::E5m2(a), AnyView::E4m3(b)) => into_any(a, b, out, factors, epilogue),
        (AnyView::I8(a), AnyView::I8(b)) => into_any(a, b, out, factors, epilogue),
        (a, b @ (AnyView::I8(_) | AnyView::I4x2(_))) => matmul_weights::multiply(a, b, None, out, factors, epilogue),
        _ => Err(refused("its inputs are of no types that are multiplied by each other")),
    }
}

fn into_any<A: Factor<B>, B: Element>(
    a: &MatrixView<'_, A>,
    b: &MatrixView<'_, B>,
    out: &mut AnyViewMut<'_>,
    factors: problem::Layout,
    epilogue: RowEpilogue,
) -> Result<()> {
    match out {
        AnyViewMut::Bf16(out) => typed(a, b, out, factors, epilogue),
        AnyViewMut::F16(out) => typed(a, b, out, factors, epilogue),
        AnyViewMut::F32(out) => typed(a, b, out, factors, epilogue),
        AnyViewMut::E4m3(out) => typed(a, b, out, factors, epilogue),
        AnyViewMut::E5m2(out) => typed(a, b, out, factors, epilogue),
        AnyViewMut::I8(out) => typed(a, b, out, factors, epilogue),
        AnyViewMut::I32(_) => {
            let reason = "its output is no index".to_owned();
            Err(Error::Operands { kernel: "matmul".to_owned(), reason })
        }
        AnyViewMut::I4x2(_) => Err(matmul_weights::refused("nothing is stored as i4x2")),
    }
}

fn typed<A: Factor<B>, B: Element, O: Element>(
    a: &MatrixView<'_, A>,
    b: &MatrixView<'_, B>,
    out: &mut MatrixViewMut<'_, O>,
    factors: problem::Layout,
    epilogue: RowEpilogue,
) -> Result<()> {
    let (a_m, a_k) = sides(a.layout, factors.transpose_a());
    let (b_k, b_n) = sides(b.layout, factors.transpose_b());
    if (a_m, b_n) != (out.nrows(), out.ncols()) || a_k != b_k {
        let reason = "their shapes are those of no product".to_owned();
        return Err(Error::Operands { kernel: "matmul".to_owned(), reason });
    }
    let on_gpu = |device: Device| Error::DeviceMismatch {
        what: "an operand and the launch".to_owned(),
        left: device.to_string(),
        right: Device::cpu().to_string(),
    };
    let Some(a_data) = a.storage.host() else { return Err(on_gpu(a.device())) };
    let Some(b_data) = b.storage.host() else { return Err(on_gpu(b.device())) };
    let (device, c_layout) = (out.device(), out.layout);
    let StorageMut::Host(c_data) = &mut out.storage else { return Err(on_gpu(device)) };
    let (a, b) = (Operand { data: a_data, layout: a.layout }, Operand { data: b_data, layout: b.layout });
    A::blocked(a, b, c_data, c_layout, factors, epilogue)
}

/// What is multiplied by elements of type `B`, by how their products are summed.
trait Factor<B: Element = Self>: Element {
    /// The product in blocks; the shapes fit.
    fn blocked<O: Element>(
        a: Operand<'_, Self>,
        b: Operand<'_, B>,
        c: &mut [O],
        c_layout: Layout,
        factors: problem::Layout,
        epilogue: RowEpilogue,
    ) -> Result<()> {
        blocked(a, b, c, c_layout, factors, epilogue)
    }
}

impl Factor for half::bf16 {}
impl Factor for half::f16 {}
impl Factor for f32 {}
impl Factor for e4m3 {}
impl Factor for e5m2 {}
impl Factor<e5m2> for e4m3 {}
impl Factor<e4m3> for e5m2 {}

impl Factor for i8 {
    fn blocked<O: Element>(
        a: Operand<'_, Self>,
        b: Operand<'_, Self>,
        c: &mut [O],
        c_layout: Layout,
        factors: problem::Layout,
        epilogue: RowEpilogue,
    ) -> Result<()> {
        matmul_whole::blocked(a, b, c, c_layout, factors, epilogue)
    }
}

/// The product of floats in blocks, summed in `f32`.
fn blocked<A: Element, B: Element, O: Element>(
    a: Operand<'_, A>,
    b: Operand<'_, B>,
    c: &mut [O],
    c_layout: Layout,
    factors: problem::Layout,
    epilogue: RowEpilogue,
) -> Result<()> {
    blocked_with(a.layout, [&as_it_is(a), &as_it_is(b)], c, c_layout, factors, epilogue)
}
