//! What measurements begin with: the GPU that their images are for, and operands of random numbers.

use autokernel::{Device, Matrix, Number, bf16};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::rows::GPU;
use crate::{settings, skip};

/// The GPU that `images` were compiled for, so many of them; none, logged, where there is none or no image.
///
/// # Panics
/// The driver cannot say what GPU it is.
pub fn gpu(test: &str, images: usize) -> Option<Device> {
    let device = skip::gpu_of_one_stream(test)?;
    let capability = device.info().expect("the driver says what GPU it is").compute_capability;
    if images == 0 || capability != GPU {
        skip::log(test, &format!("{images} images for {GPU}, on {capability}"));
        return None;
    }
    Some(device)
}

/// How many rows a shape may have.
pub type Rows = std::ops::RangeInclusive<u32>;

/// Shapes of products to time: those that `AUTOKERNEL_SHAPES` lists, or else `listed`, and behind them for each of `rows`
/// as many as `AUTOKERNEL_CASES` says (4) that `AUTOKERNEL_SEED` draws. Any number of rows, and columns as layers of models
/// have them: 64 times 16 to 128.
pub fn shapes(listed: &[(u32, u32, u32)], rows: &[Rows]) -> Vec<(u32, u32, u32)> {
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 14));
    let cases = settings::number("AUTOKERNEL_CASES", 4);
    let mut shapes = settings::shapes("AUTOKERNEL_SHAPES").unwrap_or_else(|| listed.to_vec());
    for rows in rows {
        let columns = |rng: &mut StdRng| 64 * rng.random_range(16..=128);
        shapes.extend((0..cases).map(|_| (rng.random_range(rows.clone()), columns(&mut rng), columns(&mut rng))));
    }
    shapes
}

/// The geometric mean and the least of what is above zero, in words.
pub fn mean_and_least(of: &[f64]) -> String {
    let mean = (of.iter().map(|ratio| ratio.ln()).sum::<f64>() / of.len() as f64).exp();
    let least = of.iter().copied().fold(f64::INFINITY, f64::min);
    format!("{mean:.3} in the geometric mean, {least:.3} at least, of {}", of.len())
}

/// Random numbers, with which matrices are filled over and over: seven more than a power of two, so that rows are not alike.
pub struct Drawn<T>(Vec<T>);

impl Drawn<bf16> {
    /// Uniform in [−1, 1).
    pub fn uniform(seed: u64) -> Self {
        Drawn::new(&mut StdRng::seed_from_u64(seed), |rng| bf16::from_f32(rng.random_range(-1.0..1.0)))
    }

    /// Normal, of variance 1.
    pub fn normal(seed: u64) -> Self {
        Drawn::new(&mut StdRng::seed_from_u64(seed), |rng| {
            let (radius, turn): (f32, f32) = (1.0 - rng.random::<f32>(), rng.random());
            bf16::from_f32((-2.0 * radius.ln()).sqrt() * (std::f32::consts::TAU * turn).cos())
        })
    }
}

impl<T: Number> Drawn<T> {
    /// Those that `draw` draws.
    pub fn new(rng: &mut StdRng, draw: impl Fn(&mut StdRng) -> T) -> Self {
        Drawn((0..(1 << 20) + 7).map(|_| draw(rng)).collect())
    }

    /// The same numbers, each as `other` makes it.
    pub fn each<U: Number>(&self, other: impl Fn(T) -> U) -> Drawn<U> {
        Drawn(self.0.iter().copied().map(other).collect())
    }

    /// The numbers.
    pub fn numbers(&self) -> &[T] {
        &self.0
    }

    /// A matrix on `device` of the numbers from that one on.
    ///
    /// # Panics
    /// There is no memory for it.
    pub fn matrix(&self, device: &Device, [rows, columns]: [usize; 2], start: usize) -> Matrix<T> {
        let values: Vec<T> = self.0.iter().copied().cycle().skip(start % self.0.len()).take(rows * columns).collect();
        Matrix::from_slice(device, &values, rows, columns).expect("there is memory for a measurement")
    }
}
