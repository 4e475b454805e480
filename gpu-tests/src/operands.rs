//! Operands of any signature on a device, and what a launch made of them.

use std::fmt;

use autokernel::__private::Before;
use autokernel::{Argument, Device, Dtype, Index, Result, Role, bf16, e4m3, e5m2, f16};
use autokernel_codegen::rows::oracle::{self, Ball};
use autokernel_codegen::rows::{InPlace, Kind, Operand};

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use crate::host::{Guarded, HostMatrix, Sample, Values};
use crate::place::Place;

/// An operand on a device, inside a guarded buffer.
enum Placed {
    Bf16(Guarded<bf16>),
    F16(Guarded<f16>),
    F32(Guarded<f32>),
    E4m3(Guarded<e4m3>),
    E5m2(Guarded<e5m2>),
    I8(Guarded<i8>),
    Index(Index),
}

/// What a buffer holds, read back.
struct Read {
    elements: Vec<f64>,
    bits: Vec<u32>,
    broken_guard: Option<String>,
}

/// `$value` of what is inside, whatever its type, but for an index.
macro_rules! of_placed {
    ($placed:expr, $inner:ident => $value:expr, $index:ident => $of_index:expr) => {
        match $placed {
            Placed::Index($index) => $of_index,
            Placed::Bf16($inner) => $value,
            Placed::F16($inner) => $value,
            Placed::F32($inner) => $value,
            Placed::E4m3($inner) => $value,
            Placed::E5m2($inner) => $value,
            Placed::I8($inner) => $value,
        }
    };
}

impl Placed {
    /// Filled by values and seed, poison without.
    fn new(
        device: &Device,
        operand: &Operand,
        placement: Place,
        seed: Option<(Values, u64)>,
    ) -> Result<(Self, Vec<f64>)> {
        fn typed<T: Sample>(device: &Device, at: Place, seed: Option<(Values, u64)>) -> Result<(Guarded<T>, Vec<f64>)> {
            let host = match seed {
                Some((values, seed)) => HostMatrix::<T>::filled(at, values, seed),
                None => HostMatrix::<T>::poison(at),
            };
            Ok((host.upload(device)?, host.to_f64()))
        }
        match operand.dtype {
            Dtype::Bf16 => typed(device, placement, seed).map(|(there, values)| (Placed::Bf16(there), values)),
            Dtype::F16 => typed(device, placement, seed).map(|(there, values)| (Placed::F16(there), values)),
            Dtype::F32 => typed(device, placement, seed).map(|(there, values)| (Placed::F32(there), values)),
            Dtype::E4m3 => typed(device, placement, seed).map(|(there, values)| (Placed::E4m3(there), values)),
            Dtype::E5m2 => typed(device, placement, seed).map(|(there, values)| (Placed::E5m2(there), values)),
            Dtype::I8 => typed(device, placement, seed).map(|(there, values)| (Placed::I8(there), values)),
            Dtype::I4x2 => {
                let kernel = operand.name.clone();
                Err(autokernel::Error::Operands { kernel, reason: "no numbers of 4 bits are drawn here".to_owned() })
            }
            Dtype::I32 => {
                let rows = picks(placement.columns, seed.map_or(0, |(_, seed)| seed));
                let there = Index::from_slice(device, &rows)?;
                Ok((Placed::Index(there), rows.into_iter().map(f64::from).collect()))
            }
        }
    }

    fn argument(&mut self, operand: &Operand) -> Result<Argument<'_>> {
        match operand.role {
            autokernel::Role::Input => of_placed!(self, it => Ok(it.view()?.into()), index => Ok(index.view().into())),
            autokernel::Role::Output => {
                of_placed!(self, it => Ok(it.view_mut()?.into()), index => Ok(index.view().into()))
            }
        }
    }

    fn read(&self) -> Result<Read> {
        fn typed<T: Sample>(there: &Guarded<T>) -> Result<Read> {
            let host = there.download()?;
            let bits = host.elements().map(Sample::bits).collect();
            Ok(Read { elements: host.to_f64(), bits, broken_guard: host.first_broken_guard() })
        }
        let no_floats = || Ok(Read { elements: Vec::new(), bits: Vec::new(), broken_guard: None });
        of_placed!(self, it => typed(it), _index => no_floats())
    }
}

/// What an output held before it is written over.
enum Held<'a> {
    Bf16(Before<'a, bf16>),
    F16(Before<'a, f16>),
    F32(Before<'a, f32>),
    E4m3(Before<'a, e4m3>),
    E5m2(Before<'a, e5m2>),
}

impl Held<'_> {
    fn argument(&self) -> Argument<'_> {
        match self {
            Held::Bf16(before) => before.view().into(),
            Held::F16(before) => before.view().into(),
            Held::F32(before) => before.view().into(),
            Held::E4m3(before) => before.view().into(),
            Held::E5m2(before) => before.view().into(),
        }
    }
}

impl Placed {
    /// The output, and what it holds.
    fn written_over(&mut self) -> Result<(Held<'_>, Argument<'_>)> {
        macro_rules! held {
            ($there:expr, $held:ident) => {{
                let view = $there.view_mut()?;
                Ok((Held::$held(Before::of(&view)?), view.into()))
            }};
        }
        match self {
            Placed::Bf16(there) => held!(there, Bf16),
            Placed::F16(there) => held!(there, F16),
            Placed::F32(there) => held!(there, F32),
            Placed::E4m3(there) => held!(there, E4m3),
            Placed::E5m2(there) => held!(there, E5m2),
            Placed::I8(_) | Placed::Index(_) => Err(autokernel::Error::Operands {
                kernel: String::new(),
                reason: "nothing is written over it".to_owned(),
            }),
        }
    }
}

/// The numbers of each output that is written over what is read, and of what is read.
pub fn in_place(operands: &[Operand], of: &[InPlace]) -> Vec<(usize, usize)> {
    let number = |name: &str| operands.iter().position(|operand| operand.name == name);
    of.iter().filter_map(|InPlace { output, before }| number(output).zip(number(before))).collect()
}

/// Different numbers of rows, in any order, one of them below the first.
fn picks(count: usize, seed: u64) -> Vec<i32> {
    let mut numbers: Vec<i32> = (-1..).take(count + 2).collect();
    numbers.shuffle(&mut StdRng::seed_from_u64(seed));
    numbers.truncate(count);
    numbers
}

/// The operands of a launch: what they are, how large, and what those hold that are read.
pub struct Setup<'s> {
    /// In order.
    pub operands: &'s [Operand],
    /// Rows and columns of each.
    pub sizes: &'s [(usize, usize)],
    /// Each output that is written over what is read, and what is read.
    pub in_place: &'s [(usize, usize)],
    /// What inputs are drawn from.
    pub values: Values,
    /// Draws them.
    pub seed: u64,
}

/// What each operand held, row by row.
pub struct Ran {
    /// Before the launches: of use for inputs.
    pub values: Vec<Vec<f64>>,
    /// After them: of use for outputs.
    pub written: Vec<Vec<f64>>,
}

/// Launches twice on operands that lie as `place` says: guards must stay, and both runs give the same bits.
///
/// # Errors
/// A report of what is not so.
pub fn run_twice(
    device: &Device,
    setup: &Setup<'_>,
    mut place: impl FnMut(usize, usize) -> Place,
    launch: impl Fn(&mut [Argument<'_>]) -> Result<()>,
) -> std::result::Result<Ran, String> {
    let failed = |error: autokernel::Error| error.to_string();
    let Setup { operands, sizes, in_place, values: drawn, seed } = *setup;
    let before_of = |output: usize| in_place.iter().find(|(it, _)| *it == output).map(|(_, before)| *before);
    let output_of = |before: usize| in_place.iter().find(|(_, it)| *it == before).map(|(output, _)| *output);
    let seed_of = |at: usize| {
        let read = if operands[at].role == Role::Input { Some(at) } else { before_of(at) };
        read.map(|at| (drawn, seed.wrapping_mul(31) + at as u64))
    };
    let (mut placed, mut values, mut placements) = (Vec::new(), Vec::new(), Vec::new());
    for (at, (operand, &(rows, columns))) in operands.iter().zip(sizes).enumerate() {
        let placement = match output_of(at) {
            // It has no memory of its own, and its numbers lie as the output does.
            Some(output) => placements.get(output).copied().unwrap_or(Place::dense(rows, columns)),
            None if operand.kind == Kind::Scalar => Place::dense(1, 1),
            None => place(rows, columns),
        };
        let (there, host) = Placed::new(device, operand, placement, seed_of(at)).map_err(failed)?;
        placements.push(placement);
        placed.push(there);
        values.push(host);
    }
    let mut runs = Vec::new();
    for _ in 0..2 {
        for &(output, _) in in_place {
            let filled = Placed::new(device, &operands[output], placements[output], seed_of(output));
            placed[output] = filled.map_err(failed)?.0;
        }
        let mut held: Vec<(usize, Held<'_>)> = Vec::new();
        let mut arguments: Vec<Option<Argument<'_>>> = Vec::new();
        for (at, (placed, operand)) in placed.iter_mut().zip(operands).enumerate() {
            arguments.push(match (operand.kind, before_of(at), output_of(at)) {
                (Kind::Scalar, ..) => Some(Argument::Scalar(values[at][0] as f32)),
                (_, Some(before), _) => {
                    let (it, argument) = placed.written_over().map_err(failed)?;
                    held.push((before, it));
                    Some(argument)
                }
                (_, _, Some(_)) => None,
                _ => Some(placed.argument(operand).map_err(failed)?),
            });
        }
        let read = |at: usize| held.iter().find(|(before, _)| *before == at).map(|(_, held)| held.argument());
        let arguments = arguments.into_iter().enumerate();
        let mut arguments: Vec<Argument<'_>> =
            arguments.filter_map(|(at, argument)| argument.or_else(|| read(at))).collect();
        launch(&mut arguments).map_err(failed)?;
        drop(arguments);
        drop(held);
        runs.push(placed.iter().map(Placed::read).collect::<Result<Vec<_>>>().map_err(failed)?);
    }
    for ((first, second), operand) in runs[0].iter().zip(&runs[1]).zip(operands) {
        if let Some(broken) = first.broken_guard.as_ref().or(second.broken_guard.as_ref()) {
            return Err(format!("`{}`: written outside: {broken}", operand.name));
        }
        if first.bits != second.bits {
            return Err(format!("`{}`: two runs gave different bits", operand.name));
        }
    }
    Ok(Ran { values, written: runs.swap_remove(0).into_iter().map(|read| read.elements).collect() })
}

/// How many elements were compared, and of how many of them the reference says next to nothing: an interval that is wide, or
/// anything at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// All that were compared.
    pub elements: usize,
    /// Those that may be anything, or nearly.
    pub untold: usize,
}

impl Told {
    /// Of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Told { elements: self.elements + other.elements, untold: self.untold + other.untold }
    }

    /// One more element.
    pub fn count(&mut self, ball: Ball) {
        let is_told = ball.error <= ball.value.abs() / 8.0 || ball.error <= 1e-3 || ball.is_special();
        self.elements += 1;
        self.untold += usize::from(!is_told);
    }

    /// The untold among all.
    pub fn untold_share(&self) -> f64 {
        self.untold as f64 / self.elements.max(1) as f64
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Told { elements, untold } = self;
        write!(f, "{elements} elements, {untold} of which may be anything ({:.1} %)", 100.0 * self.untold_share())
    }
}

/// Whether `got` is some number of the ball, rounded to `dtype`.
pub fn is_right(dtype: Dtype, ball: Ball, got: f64) -> bool {
    let rounded = |value: f64| match dtype {
        Dtype::Bf16 => bf16::from_f32(oracle::to_odd(value)).to_f64(),
        Dtype::F16 => f16::from_f32(oracle::to_odd(value)).to_f64(),
        Dtype::F32 => f64::from(value as f32),
        Dtype::E4m3 => e4m3::from_f64(value).to_f64(),
        Dtype::E5m2 => e5m2::from_f64(value).to_f64(),
        Dtype::I8 => f64::from(value.round_ties_even() as i8),
        Dtype::I4x2 | Dtype::I32 => value.trunc(),
    };
    let Ball { value, error } = ball;
    if ball.is_special() {
        // 8-bit floats hold their largest number for an infinity.
        return got == rounded(value) || (got.is_nan() && value.is_nan());
    }
    error.is_infinite() || (rounded(value - error)..=rounded(value + error)).contains(&got)
}
