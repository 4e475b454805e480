//! The one place where the operands of a launch are checked: against the signature, and so against each other.

pub(crate) mod checked;
mod extents;

use self::extents::{ARGUMENT_AXES, BATCH_AXES, countable, extents};

use crate::{Argument, Device, Dim, Error, Extents, Operand, Passed, Result, Role, Signature};

pub use extents::MAX_EXTENT;

/// The axes of a matrix.
const MATRIX_AXES: usize = 2;

/// Everything that a launch on `device` is checked for; gives the extents that its operands have together.
///
/// # Errors
/// As [`check`] and [`check_devices`], and for a checked launch [`Error::Number`].
pub(crate) fn launch(
    kernel: &str,
    signature: &Signature,
    arguments: &[Argument<'_>],
    device: &Device,
) -> Result<Extents> {
    let extents = check(kernel, signature, arguments)?;
    check_devices(kernel, signature, arguments, device)?;
    if checked::is_checked() {
        checked::numbers(kernel, signature, arguments, device)?;
    }
    Ok(extents)
}

/// The extents that operands have together, once everything about them has been checked except their device.
///
/// # Errors
/// Of [`Error`]: `Operands`, `DtypeMismatch`, `ShapeMismatch`, `TooLarge`, `KnownDimension`.
fn check(kernel: &str, signature: &Signature, arguments: &[Argument<'_>]) -> Result<Extents> {
    check_kinds(kernel, signature, arguments)?;
    let extents = extents(kernel, signature, arguments)?;
    check_known(kernel, signature, &extents)?;
    check_multiples(kernel, signature, &extents)?;
    Ok(extents)
}

/// Refuses another number of operands, one that is to be written and can only be read, and other element types.
fn check_kinds(kernel: &str, signature: &Signature, arguments: &[Argument<'_>]) -> Result<()> {
    let refused = |reason: String| Err(Error::Operands { kernel: kernel.to_owned(), reason });
    let operands = &signature.operands;
    if arguments.len() != operands.len() {
        let names: Vec<&str> = operands.iter().map(|operand| &*operand.name).collect();
        let (takes, names, given) = (operands.len(), names.join(", "), arguments.len());
        return refused(format!("it takes {takes} ({names}), not {given}; pass them in the order of its declaration"));
    }
    for (operand, argument) in operands.iter().zip(arguments) {
        let name = &operand.name;
        match (operand.role, argument.role()) {
            (Role::Output, Role::Input) => return refused(format!("`{name}` is written; pass it mutably")),
            (Role::Input, Role::Output) => return refused(format!("`{name}` is only read; pass it to read")),
            _ if (operand.passed == Passed::ByValue) != argument.scalar().is_some() => {
                let what = match (operand.passed, operand.axes.is_empty()) {
                    (Passed::Bounds, _) => "no number; pass an `Index`",
                    (Passed::ByValue, _) => "a number; pass an `f32`",
                    (Passed::ByAddress, true) => "a number in memory; pass a `Scalar`",
                    (Passed::ByAddress, false) => "no number; pass a tensor",
                };
                return refused(format!("`{name}` is {what}"));
            }
            _ if operand.axes.len() <= MATRIX_AXES && argument.layout().shape()[..2] != [1; 2] => {
                let [first, second, ..] = argument.layout().shape();
                return refused(format!(
                    "`{name}` has no axes of a batch and of heads; pass a matrix, a row or a column, or `Heads` whose first two sizes are 1, \
                     not {first} and {second}"
                ));
            }
            _ if operand.axes.len() == BATCH_AXES && argument.layout().shape()[0] != 1 => {
                let first = argument.layout().shape()[0];
                return refused(format!(
                    "`{name}` has three axes; pass a `Batch`, or packed `Heads`, whose first size is 1, not {first}"
                ));
            }
            _ if operand.axes.len() == ARGUMENT_AXES && !argument.layout().is_heads => {
                return refused(format!("`{name}` is a tensor of heads; pass `Heads`"));
            }
            _ if operand.axes.is_empty() && argument.layout().shape() != [1; 4] => {
                let [.., rows, columns] = argument.layout().shape();
                return refused(format!("`{name}` is one number; pass a `Scalar`, not {rows}x{columns} elements"));
            }
            _ if operand.axes.len() == 1 && argument.layout().rows != 1 => {
                let rows = argument.layout().rows;
                return refused(format!("`{name}` has one axis; pass a matrix of one row, not of {rows}"));
            }
            _ => {}
        }
        let (expected, given) = (operand.dtype, argument.dtype());
        if expected != given {
            let (kernel, operand) = (kernel.to_owned(), name.clone());
            return Err(Error::DtypeMismatch { kernel, operand, expected, given });
        }
    }
    Ok(())
}

/// Extents as somebody wrote them, in the signature's order.
///
/// # Errors
/// [`Error::Dimensions`] for other dimensions than the kernel's, [`Error::TooLarge`], [`Error::KnownDimension`].
pub(crate) fn check_extents(kernel: &str, signature: &Signature, given: &Extents) -> Result<Extents> {
    let sizes = signature.names().map_while(|dim| Some((dim, given.get(dim)?)));
    let count = given.iter().count();
    let ordered =
        Extents::collect(sizes).filter(|ordered| ordered.iter().count() == count && signature.names().count() == count);
    let ordered = ordered.ok_or_else(|| Error::Dimensions {
        kernel: kernel.to_owned(),
        expected: listed(signature.names()),
        given: listed(given.iter().map(|(dim, _)| dim)),
    })?;
    for (dim, size) in ordered.iter() {
        countable(kernel, size as usize, || format!("`{dim}`"))?;
    }
    check_known(kernel, signature, &ordered)?;
    check_multiples(kernel, signature, &ordered)?;
    check_whole(kernel, signature, &ordered)?;
    Ok(ordered)
}

/// `m, n, k`, or `none`.
fn listed(dims: impl Iterator<Item = Dim>) -> String {
    let names: Vec<String> = dims.map(|dim| dim.to_string()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Refuses another size of a dimension than the one that was compiled in.
fn check_known(kernel: &str, signature: &Signature, extents: &Extents) -> Result<()> {
    for (number, (dimension, given)) in signature.dims.iter().zip(extents.sizes()).enumerate() {
        if let Some(known) = dimension.known.filter(|&known| known != given) {
            let (kernel, dim) = (kernel.to_owned(), dimension.name.to_string());
            let setting = signature.setting(number).unwrap_or(&dim).to_owned();
            return Err(Error::KnownDimension { kernel, dim, known, given, setting });
        }
    }
    Ok(())
}

/// Refuses a size that does not divide into another as the signature says.
fn check_multiples(kernel: &str, signature: &Signature, extents: &Extents) -> Result<()> {
    let broken = signature.multiples.iter().find(|(dim, of)| {
        let (size, of) = (extents.size(*dim), extents.size(*of));
        size != 0 && !(of != 0 && size.is_multiple_of(of))
    });
    let Some(&(dim, of)) = broken else { return Ok(()) };
    let said = |number: u8| {
        extents.iter().nth(usize::from(number)).map_or(String::new(), |(dim, size)| format!("`{dim}` = {size}"))
    };
    let reason = format!("{} is no multiple of {}; share each among as many", said(dim), said(of));
    Err(Error::Operands { kernel: kernel.to_owned(), reason })
}

/// Refuses a size of which an operand has a part of an element.
fn check_whole(kernel: &str, signature: &Signature, extents: &Extents) -> Result<()> {
    let whole = signature.whole(extents);
    let broken = extents.iter().zip(whole.iter()).find(|((_, size), (_, whole))| size != whole);
    let Some(((dim, size), (_, whole))) = broken else { return Ok(()) };
    let reason =
        format!("`{dim}` = {size} ends within a group, or a unit of packed numbers; the next that does not is {whole}");
    Err(Error::Operands { kernel: kernel.to_owned(), reason })
}

/// Whether bounds have no parts between them: then a launch writes nothing.
pub(crate) fn has_no_parts(signature: &Signature, extents: &Extents) -> bool {
    let mut bounds = signature.operands.iter().filter(|operand| operand.passed == Passed::Bounds);
    bounds.any(|bounds| bounds.axes.iter().any(|dim| extents.size(*dim) == 0))
}

/// Refuses operands that are not all on `device`.
fn check_devices(kernel: &str, signature: &Signature, arguments: &[Argument<'_>], device: &Device) -> Result<()> {
    let mut operands = signature.operands.iter().zip(arguments);
    let Some((operand, argument)) = operands.find(|(_, argument)| !argument.is_on(device)) else { return Ok(()) };
    Err(elsewhere(kernel, operand, argument.device().to_string(), device.to_string()))
}

/// What is told of an operand on the device `left` and a launch on `right`.
fn elsewhere(kernel: &str, operand: &Operand, left: String, right: String) -> Error {
    Error::DeviceMismatch { what: format!("`{}` of kernel `{kernel}` and its launch", operand.name), left, right }
}

#[cfg(test)]
mod tests {
    use autokernel_core::{Coarse, Dimension};

    use super::*;
    use crate::{Dtype, Element, Heads, Index, Matrix, Scalar, dim};

    /// `out[m, n] = x[m, k] · w[n, k]ᵀ`.
    fn linear() -> Signature {
        let dims = ["m", "n", "k"].map(|name| Dimension { name: dim(name), known: None }).to_vec();
        let operand = |name: &str, role, axes: [u8; 2]| Operand {
            name: name.to_owned(),
            role,
            dtype: Dtype::F32,
            axes: axes.to_vec(),
            passed: Passed::ByAddress,
        };
        let operands = vec![
            operand("x", Role::Input, [0, 2]),
            operand("w", Role::Input, [1, 2]),
            operand("out", Role::Output, [0, 1]),
        ];
        Signature { dims, operands, ..Signature::default() }
    }

    fn zeros<T: Element>((rows, columns): (usize, usize)) -> Matrix<T> {
        Matrix::zeros(&Device::cpu(), rows, columns).unwrap()
    }

    fn checked(signature: &Signature, shapes: [(usize, usize); 3]) -> Result<Extents> {
        let [x, w, out] = shapes;
        let (x, w, mut out) = (zeros::<f32>(x), zeros::<f32>(w), zeros::<f32>(out));
        check("linear", signature, &[(&x).into(), (&w).into(), (&mut out).into()])
    }

    #[test]
    fn the_shapes_of_the_operands_are_the_extents() {
        let extents = checked(&linear(), [(2, 3), (5, 3), (2, 5)]).unwrap();
        assert_eq!(extents, Extents::new([(dim("m"), 2), (dim("n"), 5), (dim("k"), 3)]));
        assert_eq!(checked(&linear(), [(2, 0), (5, 0), (2, 5)]).unwrap().size(2), 0);
    }

    #[test]
    fn a_mismatch_names_the_kernel_both_parameters_their_axes_and_their_shapes() {
        for (shapes, parts) in [
            ([(2, 3), (5, 4), (2, 5)], ["`k`", "3 by the columns of `x` (2x3)", "4 by the columns of `w` (5x4)"]),
            ([(2, 3), (5, 3), (9, 5)], ["`m`", "2 by the rows of `x` (2x3)", "9 by the rows of `out` (9x5)"]),
            ([(2, 3), (5, 3), (2, 6)], ["`n`", "5 by the rows of `w` (5x3)", "6 by the columns of `out` (2x6)"]),
        ] {
            let error = checked(&linear(), shapes).unwrap_err();
            let text = error.to_string();
            assert!(matches!(error, Error::ShapeMismatch { .. }) && text.contains("`linear`"), "{text}");
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        }
    }

    #[test]
    fn a_size_that_was_compiled_in_is_the_only_one() {
        let mut signature = linear();
        signature.dims[2].known = Some(3);
        checked(&signature, [(2, 3), (5, 3), (2, 5)]).unwrap();
        let error = checked(&signature, [(2, 4), (5, 4), (2, 5)]).unwrap_err();
        assert!(error.to_string().contains("compiled for k = 3, not 4"), "{error}");
    }

    #[test]
    fn another_type_or_role_or_number_of_operands_is_refused_by_the_parameters_name() {
        let (x, w, mut out) = (zeros::<f32>((2, 3)), zeros::<f32>((5, 3)), zeros::<half::f16>((2, 5)));
        let error = check("linear", &linear(), &[(&x).into(), (&w).into(), (&mut out).into()]).unwrap_err();
        assert!(error.to_string().contains("takes f32 for `out`, not f16"), "{error}");
        let error = check("linear", &linear(), &[(&x).into(), (&w).into(), (&x).into()]).unwrap_err();
        assert!(error.to_string().contains("`out` is written"), "{error}");
        let error = check("linear", &linear(), &[(&x).into()]).unwrap_err();
        assert!(error.to_string().contains("3 (x, w, out), not 1"), "{error}");
    }

    #[test]
    fn an_operand_of_one_axis_is_a_matrix_of_one_row() {
        let mut signature = linear();
        signature.operands[1].axes = vec![2];
        let extents = checked(&signature, [(2, 3), (1, 3), (2, 5)]).unwrap();
        assert_eq!(extents, Extents::new([(dim("m"), 2), (dim("n"), 5), (dim("k"), 3)]));
        let text = checked(&signature, [(2, 3), (3, 1), (2, 5)]).unwrap_err().to_string();
        assert!(text.contains("a matrix of one row, not of 3"), "{text}");
        let text = checked(&signature, [(2, 3), (1, 4), (2, 5)]).unwrap_err().to_string();
        assert!(text.contains("4 by the length of `w`"), "{text}");
    }

    #[test]
    fn a_number_stands_for_an_operand_without_axes_and_for_no_other() {
        let mut signature = linear();
        signature.operands[1] = Operand { axes: Vec::new(), passed: Passed::ByValue, ..signature.operands[1].clone() };
        let (x, mut out) = (zeros::<f32>((2, 3)), zeros::<f32>((2, 5)));
        let extents = check("scale", &signature, &[(&x).into(), 0.5.into(), (&mut out).into()]).unwrap();
        assert_eq!(extents.sizes().collect::<Vec<_>>(), [2, 5, 3]);
        let error = check("scale", &signature, &[(&x).into(), (&x).into(), (&mut out).into()]).unwrap_err();
        assert!(error.to_string().contains("`w` is a number; pass an `f32`"), "{error}");
        let error = check("linear", &linear(), &[(&x).into(), 0.5.into(), (&mut out).into()]).unwrap_err();
        assert!(error.to_string().contains("`w` is no number; pass a tensor"), "{error}");
    }

    #[test]
    fn a_number_in_memory_is_one_element_and_not_passed_by_value() {
        let mut signature = linear();
        signature.operands[1].axes.clear();
        let (x, mut out) = (zeros::<f32>((2, 3)), zeros::<f32>((2, 5)));
        let scale = Scalar::new(&Device::cpu(), 0.5f32).unwrap();
        check("scale", &signature, &[(&x).into(), scale.view().into(), (&mut out).into()]).unwrap();
        let error = check("scale", &signature, &[(&x).into(), 0.5.into(), (&mut out).into()]).unwrap_err();
        assert!(error.to_string().contains("`w` is a number in memory; pass a `Scalar`"), "{error}");
        let error = check("scale", &signature, &[(&x).into(), (&x).into(), (&mut out).into()]).unwrap_err();
        assert!(error.to_string().contains("pass a `Scalar`, not 2x3 elements"), "{error}");
    }

    #[test]
    fn bounds_are_one_at_least() {
        let mut signature = linear();
        let bounds =
            Operand { dtype: Dtype::I32, axes: vec![1], passed: Passed::Bounds, ..signature.operands[0].clone() };
        signature.operands[1] = Operand { name: "offsets".to_owned(), ..bounds };
        let (x, mut out) = (zeros::<f32>((2, 3)), zeros::<f32>((2, 0)));
        let mut checked = |len| {
            let offsets = Index::zeros(&Device::cpu(), len).unwrap();
            check("groups", &signature, &[(&x).into(), offsets.view().into(), (&mut out).into()])
        };
        assert_eq!(checked(1).unwrap().sizes().collect::<Vec<_>>(), [2, 0, 3]);
        let text = checked(0).unwrap_err().to_string();
        assert!(
            text.ends_with("`offsets` is empty; bounds are one more than the parts between them, so pass one at least"),
            "{text}"
        );
    }

    #[test]
    fn extents_that_somebody_wrote_are_put_in_order_or_refused() {
        let of =
            |names: &[&str]| Extents::collect(names.iter().zip(1..).map(|(name, size)| (dim(name), size))).unwrap();
        let ordered = check_extents("linear", &linear(), &of(&["k", "m", "n"])).unwrap();
        assert_eq!(ordered.sizes().collect::<Vec<_>>(), [2, 3, 1]);
        for names in [&["m", "n"][..], &["m", "n", "k", "h"], &["rows", "n", "k"]] {
            let text = check_extents("linear", &linear(), &of(names)).unwrap_err().to_string();
            assert!(text.contains("m, n, k"), "{text}");
        }
        let text = check_extents("linear", &linear(), &of(&[])).unwrap_err().to_string();
        assert!(text.contains("and given were none."), "{text}");
        let large = Extents::new([(dim("m"), u32::MAX), (dim("n"), 1), (dim("k"), 1)]);
        assert!(matches!(check_extents("linear", &linear(), &large), Err(Error::TooLarge { .. })));
    }

    #[test]
    fn extents_that_end_within_what_an_element_stands_for_are_refused_with_the_next_that_do_not() {
        let coarse = vec![Coarse { operand: 1, axis: 1, indices: 2, together: 16, is_ragged: false }];
        let packed = Signature { coarse, ..linear() };
        let extents = |k| Extents::new([(dim("m"), 1), (dim("n"), 2), (dim("k"), k)]);
        assert_eq!(check_extents("linear", &packed, &extents(64)).unwrap(), extents(64));
        let text = check_extents("linear", &packed, &extents(65)).unwrap_err().to_string();
        assert!(text.contains("`k` = 65") && text.contains("96"), "{text}");
        assert!(check_extents("linear", &linear(), &extents(65)).is_ok());
    }

    #[test]
    fn heads_in_the_place_of_three_axes_are_told_by_all_four_and_the_first_is_one() {
        let mut signature = linear();
        signature.dims.push(Dimension { name: dim("batch"), known: None });
        signature.operands[0].axes.insert(0, 3);
        signature.operands[2].axes.insert(0, 3);
        let w = zeros::<f32>((5, 3));
        let checked = |x: [usize; 4], out: [usize; 4]| {
            let heads = |shape| Heads::<f32>::zeros(&Device::cpu(), shape).unwrap();
            let (x, mut out) = (heads(x), heads(out));
            check("scores", &signature, &[x.view().into(), (&w).into(), out.view_mut().into()])
        };
        checked([1, 4, 2, 3], [1, 4, 2, 5]).unwrap();
        let text = checked([2, 4, 2, 3], [1, 4, 2, 5]).unwrap_err().to_string();
        assert!(text.ends_with("pass a `Batch`, or packed `Heads`, whose first size is 1, not 2"), "{text}");
        let text = checked([1, 4, 2, 3], [1, 3, 2, 5]).unwrap_err().to_string();
        assert!(text.contains("4 by axis 1 of `x` (1x4x2x3) and 3 by axis 1 of `out` (1x3x2x5)"), "{text}");
    }

    #[test]
    fn heads_in_the_place_of_a_matrix_are_told_that_their_first_two_sizes_are_one() {
        // Of packed queries, the logarithms of sums: `log_sum_exp: &mut Heads<f32>`.
        let (x, w) = (zeros::<f32>((2, 3)), zeros::<f32>((5, 3)));
        let checked = |shape| {
            let mut out = Heads::<f32>::zeros(&Device::cpu(), shape).unwrap();
            check("scores", &linear(), &[(&x).into(), (&w).into(), out.view_mut().into()])
        };
        checked([1, 1, 2, 5]).unwrap();
        let text = checked([1, 2, 1, 5]).unwrap_err().to_string();
        assert!(
            text.contains("`out`") && text.ends_with("or `Heads` whose first two sizes are 1, not 1 and 2"),
            "{text}"
        );
    }

    #[test]
    fn operands_that_are_all_on_the_cpu_are_on_one_device() {
        let (x, w, mut out) = (zeros::<f32>((2, 3)), zeros::<f32>((5, 3)), zeros::<f32>((2, 5)));
        check_devices("linear", &linear(), &[(&x).into(), (&w).into(), (&mut out).into()], &Device::cpu()).unwrap();
    }

    #[test]
    fn an_operand_on_another_device_is_told_by_its_name_with_both_devices_and_the_remedy() {
        let text = elsewhere("linear", &linear().operands[1], "GPU 0".to_owned(), "the CPU".to_owned()).to_string();
        for part in ["`w` of kernel `linear`", "GPU 0", "the CPU", "Matrix::to_device"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
