//! Sizes that are drawn, and tensors that lie anywhere in guarded buffers.

use autokernel::{Device, HeadsView, HeadsViewMut, Matrix, MatrixViewMut, bf16, f16};
use autokernel_codegen::attention::plan::Sizes;
use rand::RngExt;
use rand::rngs::StdRng;

/// A 16-bit float.
pub trait Precise: autokernel::Element {
    /// Its bits.
    fn bits(self) -> u16;
}

impl Precise for bf16 {
    fn bits(self) -> u16 {
        self.to_bits()
    }
}

impl Precise for f16 {
    fn bits(self) -> u16 {
        self.to_bits()
    }
}

/// Sizes up to some length.
pub struct Lengths {
    pub longest: u32,
}

impl Lengths {
    /// As many queries as keys, more or fewer, or one.
    pub fn draw(&self, rng: &mut StdRng) -> Sizes {
        let mut length = || if rng.random_ratio(1, 8) { 1 } else { rng.random_range(1..=self.longest) };
        let (queries, keys) = (length(), length());
        let keys = if rng.random_ratio(1, 3) { queries } else { keys };
        let groups = rng.random_range(1..=3);
        Sizes { batch: rng.random_range(1..=2), heads: groups * rng.random_range(1..=4), groups, queries, keys }
    }
}

/// Elements of a guard zone on either side.
const GUARD: usize = 64;
/// What lies in guard zones and gaps.
const UNTOUCHED: f32 = 7.0;

/// A tensor inside a buffer, whose rows and heads lie in either order, perhaps apart, perhaps where TMA cannot address them.
pub struct Placed<T> {
    data: Vec<T>,
    first: usize,
    shape: [usize; 4],
    strides: [usize; 3],
}

impl<T: Precise> Placed<T> {
    /// Nothing but what is to be left alone, or written.
    pub fn guarded(rng: &mut StdRng, shape: [u32; 4]) -> Self {
        let shape = shape.map(|size| size as usize);
        let [batch, heads, rows, dim] = shape;
        let pitch = dim + [0, 0, 8, 24, 3][rng.random_range(0..5)];
        let strides = if rng.random() {
            [rows * heads * pitch, pitch, heads * pitch]
        } else {
            [heads * rows * pitch, rows * pitch, pitch]
        };
        let first = GUARD + [0, 0, 8, 5][rng.random_range(0..4)];
        let data = vec![T::from_f32(UNTOUCHED); first + batch * heads * rows * pitch + GUARD];
        Placed { data, first, shape, strides }
    }

    /// Random elements.
    pub fn random(rng: &mut StdRng, shape: [u32; 4], amplitude: f32) -> Self {
        let mut placed = Self::guarded(rng, shape);
        for start in placed.starts() {
            let row = &mut placed.data[start..start + placed.shape[3]];
            row.iter_mut().for_each(|element| *element = T::from_f32(amplitude * rng.random_range(-1.7..1.7)));
        }
        placed
    }

    /// Makes the last element no number.
    pub fn poison_last(&mut self) {
        if let Some(start) = self.starts().last() {
            self.data[start + self.shape[3] - 1] = T::from_f32(f32::NAN);
        }
    }

    fn starts(&self) -> Vec<usize> {
        let [batch, heads, rows, _] = self.shape.map(|size| size as u32);
        let heads = (0..batch).flat_map(|b| (0..heads).map(move |h| [b, h]));
        heads.flat_map(|[b, h]| (0..rows).map(move |row| [b, h, row])).map(|at| self.start(at)).collect()
    }

    fn start(&self, at: [u32; 3]) -> usize {
        self.first + at.iter().zip(self.strides).map(|(at, stride)| *at as usize * stride).sum::<usize>()
    }

    /// A row in fp64.
    pub fn wide(&self, at: [u32; 3]) -> Vec<f64> {
        self.row(&self.data, at)
    }

    /// The same of another buffer of this layout.
    pub fn row(&self, data: &[T], at: [u32; 3]) -> Vec<f64> {
        let start = self.start(at);
        data[start..start + self.shape[3]].iter().map(|element| f64::from(element.to_f32())).collect()
    }

    /// The buffer on a device.
    pub fn upload(&self, device: &Device) -> Matrix<T> {
        Matrix::from_slice(device, &self.data, 1, self.data.len()).unwrap()
    }

    /// The tensor in that buffer, to read.
    pub fn view<'b>(&self, buffer: &'b Matrix<T>) -> HeadsView<'b, T> {
        let elements = buffer.view().columns(self.first..).unwrap();
        HeadsView::from_row(elements, self.shape, self.strides).unwrap()
    }

    /// The tensor in that buffer, to write.
    pub fn view_mut<'b>(&self, buffer: &'b mut MatrixViewMut<'_, T>) -> HeadsViewMut<'b, T> {
        HeadsViewMut::from_row(buffer.columns(self.first..).unwrap(), self.shape, self.strides).unwrap()
    }

    /// Whether nothing was written but the tensor.
    ///
    /// # Panics
    /// Something was.
    pub fn expect_guards(&self, got: &[T], what: &str) {
        let mut rest = got.to_vec();
        for start in self.starts() {
            rest[start..start + self.shape[3]].fill(T::from_f32(UNTOUCHED));
        }
        assert!(rest.iter().all(|element| element.to_f32() == UNTOUCHED), "{what}: written outside of its place");
    }
}
