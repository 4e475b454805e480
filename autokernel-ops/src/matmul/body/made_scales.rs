//! An output whose scales the kernel makes, one for each block of a row: `out * out_scales = value;`.

use autokernel_core::{Dtype, Role};

use super::written::Written;
use crate::body::check::Checker;
use crate::body::{FP8, Kind, MadeScales, Operand, Place, Step};
use crate::matmul::inputs::in_words;
use crate::weights::Weights;

/// Every mistake in what `written` says of such scales.
pub fn check<'b>(checker: &mut Checker<'b>, written: &'b Written) {
    let body = &written.body;
    let place_of = |name: &str| {
        let at = body.operands.iter().position(|operand| operand.name == name);
        at.map_or(Place::Function, Place::Operand)
    };
    for (number, MadeScales { output, scales, .. }) in body.made_scales.iter().enumerate() {
        let step = body.steps.iter().position(|step| matches!(step, Step::Store { output: it, .. } if it == output));
        let place = step.map_or(Place::Function, Place::Step);
        if number > 0 {
            checker.complain(place, "a kernel makes the scales of one output; write the other one in another kernel");
        }
        if let Some(operand @ Operand { dtype, .. }) = body.operand(output)
            && (operand.kind != Kind::Matrix || !FP8.contains(dtype))
        {
            let message = format!(
                "`{output}` is a `{}` of {dtype}, and scales are made of a `&mut Matrix` of {}; write `{output} = …;`",
                operand.container(),
                in_words(&FP8)
            );
            checker.complain(place_of(output), message);
        }
        let is_fit = |it: &Operand| {
            matches!(it.kind, Kind::Matrix | Kind::Column) && (it.role, it.dtype) == (Role::Output, Dtype::F32)
        };
        if !body.operand(scales).is_some_and(is_fit) {
            let message = format!(
                "scales are written to a matrix of f32, `[m, n / block]`: `{scales}: &mut Matrix<f32>`, or of whole rows to a `&mut \
                 Column<f32>`, which is all that may stand behind the `*`"
            );
            checker.complain(if body.operand(scales).is_some() { place_of(scales) } else { place }, message);
        }
        if step.is_some() {
            checker.write(place, scales);
        }
        if written.is_of_many() {
            let message = format!(
                "`{scales}` is of one product, and there are many here; divide by a scale that is given instead"
            );
            checker.complain(place, message);
        }
        let dtypes: Vec<Dtype> = written.factors().filter_map(|name| Some(body.operand(name)?.dtype)).collect();
        if dtypes.iter().skip(1).any(|second| Weights::beside(dtypes[0]).contains(second)) {
            let message =
                "blocks lie apart where a product's weights are whole numbers; divide by a scale that is given";
            checker.complain(place, message);
        }
        if written.partners().is_some() {
            let message = "scales are made of what sees no partners; rotate in a kernel of its own, or divide by a scale that is given";
            checker.complain(place, message);
        }
        if body.needed_steps().any(|step| matches!(step, Step::Reduce { .. })) {
            let message = "scales are made where no rows are reduced; reduce them in a kernel of its own";
            checker.complain(place, message);
        }
    }
}
