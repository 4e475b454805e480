//! What measurements begin with: the GPU that their images are for, and operands of random numbers.

use autokernel::{Device, Matrix, Number, bf16};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::rows::GPU;
use crate::skip;

/// The GPU that `images` were compiled for, so many of them; none, logged, where there is none or no image.
///
/// # Panics
/// The driver cannot say what GPU it is.
pub fn gpu(test: &str, images: usize) -> Option<Device> {
    let device = skip::gpu(test)?;
    let capability = device.info().expect("the driver says what GPU it is").compute_capability;
    if images == 0 || capability != GPU {
        skip::log(test, &format!("{images} images for {GPU}, on {capability}"));
        return None;
    }
    Some(device)
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
