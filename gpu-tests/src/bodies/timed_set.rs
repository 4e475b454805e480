//! The operands of a product with a body that is timed.

use autokernel::{Argument, Column, Device, Matrix, Row, bf16};

use crate::timed::Drawn;

/// The operands of every candidate, of normal random numbers.
pub struct TimedSet {
    /// The first factor.
    pub x: Matrix<bf16>,
    /// The second factor, transposed.
    pub w: Matrix<bf16>,
    /// What is added to rows.
    pub bias: Row<bf16>,
    /// What is added to elements.
    pub skip: Matrix<bf16>,
    /// What rows are multiplied by.
    pub scale: Column<f32>,
    /// What cuBLASLt writes where a kernel follows it.
    pub product: Matrix<bf16>,
    /// What is written.
    pub out: Matrix<bf16>,
}

impl TimedSet {
    /// Of a product of `m` rows, `n` columns and sums of `k`.
    ///
    /// # Panics
    /// There is no memory for it.
    pub fn random(device: &Device, [m, n, k]: [usize; 3], seed: u64) -> Self {
        let drawn = Drawn::normal(seed);
        let matrix = |rows: usize, columns: usize| drawn.matrix(device, [rows, columns], 0);
        let scale: Vec<f32> = drawn.numbers()[..m].iter().map(|number| number.to_f32()).collect();
        let there = "there is memory for a measurement";
        let zeros = || Matrix::zeros(device, m, n).expect(there);
        TimedSet {
            x: matrix(m, k),
            w: matrix(n, k),
            bias: Row::from_slice(device, &drawn.numbers()[..n]).expect(there),
            skip: matrix(m, n),
            scale: Column::from_slice(device, &scale).expect(there),
            product: zeros(),
            out: zeros(),
        }
    }

    /// The arguments of a kernel whose operands have these names.
    ///
    /// # Panics
    /// Two operands are written.
    pub fn arguments(&mut self, names: &[String]) -> Vec<Argument<'_>> {
        let TimedSet { x, w, bias, skip, scale, product, out } = self;
        let mut out = Some(out);
        let argument = |name: &String| match name.as_str() {
            "a" | "x" => (&*x).into(),
            "b" | "w" => (&*w).into(),
            "bias" => bias.view().into(),
            "skip" => (&*skip).into(),
            "scale" => scale.view().into(),
            "product" => (&*product).into(),
            _ => out.take().expect("one operand is written").into(),
        };
        names.iter().map(argument).collect()
    }
}
