//! Routing on the CPU: a stable sort of each token's experts, then of the choices by expert.

use std::cmp::Ordering;

use super::elements::{Elements, host_mut};
use crate::operands::alloc;
use crate::operands::layout::Layout;
use crate::{AnyViewMut, Argument, Error, MatrixViewMut, Number, Result};

fn refused(reason: &str) -> Error {
    Error::Operands { kernel: "routing".to_owned(), reason: reason.to_owned() }
}

/// Computes the weights, the offsets, the order of tokens and the rows of choices, in the order of the signature. `over_all`: weights
/// are shares among all experts.
///
/// # Errors
/// [`Error::Operands`] for other operands, [`Error::DeviceMismatch`] for one that is on a GPU, [`Error::OutOfMemory`].
pub fn routing(arguments: &mut [Argument<'_>], over_all: bool) -> Result<()> {
    let [
        Argument::Read(scores),
        Argument::Write(AnyViewMut::F32(weights)),
        Argument::Write(AnyViewMut::I32(offsets)),
        Argument::Write(AnyViewMut::I32(order)),
        Argument::Write(AnyViewMut::I32(rows)),
    ] = arguments
    else {
        return Err(refused("it takes scores, weights, offsets, the order of tokens and the rows of choices"));
    };
    let (scores, Layout { rows: tokens, columns: experts, ld, .. }) = Elements::of(scores)?;
    let choices = rows.nrows();
    let of_choices = (choices, tokens);
    let shapes = [(weights.nrows(), weights.ncols()), (order.nrows(), order.ncols()), (rows.nrows(), rows.ncols())];
    if shapes != [of_choices; 3] || (offsets.nrows(), offsets.ncols()) != (1, experts + 1) || choices > experts {
        return Err(refused("their shapes are those of no routing"));
    }
    if i32::try_from(tokens.saturating_mul(choices)).is_err() {
        return Err(refused("all tokens have more choices than rows can be numbered"));
    }
    let (mut weights, mut offsets) = (Rows::of(weights)?, Rows::of(offsets)?);
    let (mut order, mut rows) = (Rows::of(order)?, Rows::of(rows)?);

    let mut chosen: Vec<(usize, usize, usize)> = alloc::host_empty(tokens * choices)?; // expert, token, choice
    let mut of_token = vec![0.0; experts];
    for token in 0..tokens {
        scores.widen(token * ld, &mut of_token);
        let mut ranked: Vec<usize> = (0..experts).collect();
        ranked.sort_by(|&left, &right| descending(of_token[left], of_token[right]));
        let exponential = |expert: usize| f64::from(of_token[expert] - of_token[ranked[0]]).exp();
        let among = if over_all { &ranked[..] } else { &ranked[..choices] };
        let sum: f64 = among.iter().map(|&expert| exponential(expert)).sum();
        for (choice, &expert) in ranked[..choices].iter().enumerate() {
            *weights.at(choice, token) = (exponential(expert) / sum) as f32;
            chosen.push((expert, token, choice));
        }
    }
    chosen.sort_unstable();
    for expert in 0..=experts {
        *offsets.at(0, expert) = number(chosen.partition_point(|&(of, ..)| of < expert));
    }
    for (row, &(_, token, choice)) in chosen.iter().enumerate() {
        *order.at(row / tokens, row % tokens) = number(token);
        *rows.at(choice, token) = number(row);
    }
    Ok(())
}

/// Greater scores first; what is no number is less than any.
fn descending(left: f32, right: f32) -> Ordering {
    right.partial_cmp(&left).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

/// As kernels count; what has more was refused.
fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// What is written, by row and column.
struct Rows<'a, T> {
    data: &'a mut [T],
    ld: usize,
}

impl<'a, T: Number> Rows<'a, T> {
    fn of(view: &'a mut MatrixViewMut<'_, T>) -> Result<Self> {
        Ok(Rows { data: host_mut(&mut view.storage)?, ld: view.layout.ld })
    }

    fn at(&mut self, row: usize, column: usize) -> &mut T {
        &mut self.data[row * self.ld + column]
    }
}
