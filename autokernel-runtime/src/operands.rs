//! The one place where A, B and C are checked against each other and against the problem.

use cudarc::driver::DeviceSlice;

use crate::layout::Layout;
use crate::view::Storage;
use crate::{Device, Element, Error, MatrixView, MatrixViewMut, ProblemDescriptor, Result, Shape};

/// The product that three matrices describe, once everything about them has been checked except their device.
pub(crate) fn check<I: Element, O: Element>(
    kernel: &str,
    problem: &ProblemDescriptor,
    a: &MatrixView<'_, I>,
    b: &MatrixView<'_, I>,
    c: &MatrixViewMut<'_, O>,
) -> Result<Shape> {
    check_dtypes::<I, O>(kernel, problem)?;
    let shape = shape(problem, a.layout, b.layout, c.layout)?;
    check_known(kernel, problem, shape)?;
    Ok(shape)
}

fn check_dtypes<I: Element, O: Element>(kernel: &str, problem: &ProblemDescriptor) -> Result<()> {
    let pairs = [("the inputs", problem.input, I::DTYPE), ("the output", problem.output, O::DTYPE)];
    for (operand, expected, given) in pairs {
        if expected != given {
            return Err(Error::DtypeMismatch { kernel: kernel.to_owned(), operand, expected, given });
        }
    }
    Ok(())
}

fn shape(problem: &ProblemDescriptor, a: Layout, b: Layout, c: Layout) -> Result<Shape> {
    let (b_k, b_n) = if problem.transpose_b { (b.columns, b.rows) } else { (b.rows, b.columns) };
    let rules = [
        ("the extents K of A and of B", a.columns == b_k, "A's columns must equal B's K extent"),
        ("the extents N of B and of C", b_n == c.columns, "C's columns must equal B's N extent"),
        ("the rows of A and of C", a.rows == c.rows, "C must have as many rows as A"),
    ];
    for (what, holds, remedy) in rules {
        if !holds {
            return Err(Error::ShapeMismatch {
                what,
                a: (a.rows, a.columns),
                b: (b.rows, b.columns),
                c: (c.rows, c.columns),
                transpose_b: problem.transpose_b,
                remedy,
            });
        }
    }
    Ok(Shape::new(extent("M", c.rows)?, extent("N", c.columns)?, extent("K", a.columns)?))
}

fn extent(what: &'static str, given: usize) -> Result<u32> {
    let max = Shape::MAX_EXTENT;
    u32::try_from(given).ok().filter(|&extent| extent <= max).ok_or(Error::TooLarge {
        what,
        given: given as u128,
        max: u128::from(max),
    })
}

/// Refuses an N or K other than the one that was compiled in.
pub(crate) fn check_known(kernel: &str, problem: &ProblemDescriptor, shape: Shape) -> Result<()> {
    for (extent, known, given) in [("n", problem.known_n, shape.n), ("k", problem.known_k, shape.k)] {
        if let Some(known) = known.filter(|&known| known != given) {
            return Err(Error::KnownDimension { kernel: kernel.to_owned(), extent, known, given });
        }
    }
    Ok(())
}

/// Refuses matrices that are not all on `device`.
pub(crate) fn check_devices<I: Element, O: Element>(
    device: &Device,
    a: &MatrixView<'_, I>,
    b: &MatrixView<'_, I>,
    c: &MatrixViewMut<'_, O>,
) -> Result<()> {
    if is_on(a, device) && is_on(b, device) && is_on(&c.as_view(), device) {
        return Ok(());
    }
    let others = [("A and the launch", a.device()), ("B and the launch", b.device()), ("C and the launch", c.device())];
    let (what, other) =
        others.into_iter().find(|(_, other)| other != device).unwrap_or(("the matrices", device.clone()));
    Err(Error::DeviceMismatch { what, left: other.to_string(), right: device.to_string() })
}

/// Whether a matrix is on a device, without touching a reference count.
fn is_on<T>(matrix: &MatrixView<'_, T>, device: &Device) -> bool {
    match (&matrix.storage, device.stream()) {
        (Storage::Host(_), None) => true,
        (Storage::Cuda(view), Some(stream)) => view.stream().context().cu_ctx() == stream.context().cu_ctx(),
        _ => false,
    }
}
