//! What scales within a product ask for, of groups of its second factors and of blocks of all factors.

use autokernel_core::{Dtype, Role};

use super::class::BodyClass;
use super::written::Written;
use crate::body::check::Checker;
use crate::body::{Kind, Operand, Place};
use crate::matmul::block_scales::SCALED;
use crate::matmul::inputs::in_words;
use crate::matmul::many::Many;
use crate::weights::{SCALES, Weights};

/// What scales ask for: of groups a matrix of their own beside whole numbers, of blocks one for each factor.
pub fn check<'b>(checker: &mut Checker<'b>, written: &'b Written) {
    let operands = &written.body.operands;
    if written.product.a_scales.is_some() {
        return of_blocks(checker, written);
    }
    let second = written.second.as_ref().map(|second| (&second.b, &second.scales));
    let products = [(&written.product.b, &written.product.scales)].into_iter().chain(second);
    let dtype_of = |name: &str| operands.iter().find(|operand| operand.name == name).map(|operand| operand.dtype);
    let input = dtype_of(&written.product.a);
    let number_of_scaled = products.clone().filter(|(_, scales)| scales.is_some()).count();
    if number_of_scaled == 1 && written.second.is_some() {
        checker.complain(Place::Function, "the second factors of both products have scales of groups, or neither has");
    }
    let of_scales: Vec<Dtype> = written.scales().filter_map(dtype_of).collect();
    if let [left, right] = of_scales[..]
        && left != right
    {
        checker.complain(
            Place::Function,
            format!("scales of the two products hold {left} and {right}; give both the same type"),
        );
    }
    if of_scales.len() > 1 {
        one_kind_of_second(checker, written);
    }
    for (b, scales) in products {
        let (Some(name), Some(input), Some(dtype)) = (scales, input, dtype_of(b)) else { continue };
        let found = operands.iter().enumerate().find(|(_, operand)| operand.name == *name);
        let Some((at, Operand { kind: Kind::Matrix, role: Role::Input, dtype: of_scale, .. })) = found else {
            let place = found.map_or(Place::Function, |(at, _)| Place::Operand(at));
            checker.complain(
                place,
                format!("scales of groups are a matrix that is read, `[k / group, n]`: `{name}: &Matrix<f16>`"),
            );
            continue;
        };
        as_many_as_factor(checker, written, (name, at), b);
        if !SCALES.contains(of_scale) {
            checker.complain(Place::Operand(at), format!("scales of groups are {}", in_words(&SCALES)));
        }
        if !Weights::beside(input).contains(&dtype) {
            let message = format!(
                "`{b}` holds {dtype} beside {input}: scales of groups are of {}; of blocks of {} both factors have \
                 them, `dot(x * x_scales, ({b} * {name}).t())`",
                in_words(Weights::beside(Dtype::Bf16)),
                in_words(&SCALED)
            );
            checker.complain(Place::Operand(at), message);
        }
        if written.factors().any(|factor| factor == name) || written.scales().filter(|other| other == name).count() > 1
        {
            checker.complain(
                Place::Operand(at),
                format!("`{name}` has one place in a kernel; pass it twice, under two names"),
            );
        }
    }
}

/// Of two second factors whose scales a kernel finds alike each product has its own, or all share them.
fn one_kind_of_second(checker: &mut Checker<'_>, written: &Written) {
    let operands = || written.body.operands.iter().enumerate();
    let second = written.factors().skip(1).map(|factor| operands().find(|(_, operand)| operand.name == factor));
    if let [(_, left), (at, right)] = second.flatten().collect::<Vec<_>>()[..]
        && left.batched != right.batched
    {
        let message = format!(
            "of `{}` and `{}` one is a `Batch` and the other is not; where they have scales both are, or neither",
            left.name, right.name
        );
        checker.complain(Place::Operand(at), message);
    }
}

/// Both factors of a product have scales of blocks, f32 matrices of their own.
fn of_blocks<'b>(checker: &mut Checker<'b>, written: &'b Written) {
    let operands = &written.body.operands;
    let found = |name: &str| operands.iter().enumerate().find(|(_, operand)| operand.name == name);
    if let Some((at, operand)) = found(&written.product.a).filter(|(_, operand)| !SCALED.contains(&operand.dtype)) {
        let message = format!(
            "`{}` holds {}, and scales within `dot` are of blocks of {}; scale the product behind it",
            operand.name,
            operand.dtype,
            in_words(&SCALED)
        );
        return checker.complain(Place::Operand(at), message);
    }
    let names: Vec<&str> = written.all_scales().collect();
    if names.len() != written.factors().count() {
        let message = "each factor has scales of blocks, or none has: `dot(x * x_scales, (w * w_scales).t())`";
        checker.complain(Place::Function, message);
    }
    if BodyClass::of(written).many() == Many::GroupsAlongK {
        let message =
            "scales of blocks lie along K, and so do the groups here, which are of bf16 or f16; convert both factors";
        return checker.complain(found(names[0]).map_or(Place::Function, |(at, _)| Place::Operand(at)), message);
    }
    one_kind_of_second(checker, written);
    let factors: Vec<&str> = written.factors().collect();
    for (number, name) in names.iter().enumerate() {
        let shape = if number == 0 { "[m, k / block]" } else { "[n / block, k / block]" };
        let found = found(name);
        let Some((at, Operand { kind: Kind::Matrix, role: Role::Input, dtype: Dtype::F32, .. })) = found else {
            let place = found.map_or(Place::Function, |(at, _)| Place::Operand(at));
            checker.complain(
                place,
                format!("scales of blocks are a matrix of f32 that is read, `{shape}`: `{name}: &Matrix<f32>`"),
            );
            continue;
        };
        if let Some(factor) = factors.get(number) {
            as_many_as_factor(checker, written, (name, at), factor);
        }
        let is_twice = written.factors().any(|factor| factor == *name) || names[..number].contains(name);
        if is_twice {
            let message = format!("`{name}` has one place in a kernel; pass it twice, under two names");
            checker.complain(Place::Operand(at), message);
        }
    }
}

/// Scales and zero points lie as the factor does that they are of: each product has its own, or all share them.
pub(super) fn as_many_as_factor(checker: &mut Checker<'_>, written: &Written, (name, at): (&str, usize), factor: &str) {
    let operand = |name: &str| written.body.operand(name);
    let (Some(table), Some(Operand { batched, .. })) = (operand(name), operand(factor)) else { return };
    let many = BodyClass::of(written).many();
    let message = match (batched, table.batched) {
        (true, false) => format!(
            "`{factor}` is a `Batch`, so `{name}` is one too: write `{name}: &Batch<{}>`, of a matrix for each product",
            table.dtype
        ),
        // Of groups it is said that a second factor is a `Batch`.
        (false, true) if matches!(many, Many::Batch | Many::Masked) || factor == written.product.a => format!(
            "`{factor}` is one matrix for all products, so `{name}` is one too: write `{name}: &Matrix<{}>`",
            table.dtype
        ),
        _ => return,
    };
    checker.complain(Place::Operand(at), message);
}
