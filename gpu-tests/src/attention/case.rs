//! Sizes that are drawn, and tensors that lie anywhere in guarded buffers.

use std::ops::Range;

use autokernel::{Device, HeadsView, HeadsViewMut, Matrix, MatrixViewMut, bf16, f16};
use autokernel_codegen::attention::oracle::Expected;
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

/// What queries are multiplied by: mostly nothing; or as much as makes one weight of almost 1, or scores of 10⁴.
pub fn amplitude(rng: &mut StdRng) -> f32 {
    [1.0, 1.0, 1.0, 1.0, 30.0, 1e4][rng.random_range(0..6)]
}

/// Which of queries, keys and values have an element that is no number: mostly none, perhaps one of them.
pub fn poisoned(rng: &mut StdRng) -> Option<usize> {
    rng.random_ratio(1, 4).then(|| rng.random_range(0..3))
}

/// The columns in which some value is no number that a query does not see. There a kernel may give none: the value's weight is zero,
/// which hides no NaN.
pub fn hidden_nonsense(seen: Range<u32>, values: &[Vec<f64>]) -> Vec<usize> {
    let is_hidden = |key: &usize| !seen.contains(&(*key as u32));
    let hidden = (0..values.len()).filter(is_hidden).filter(|key| values[*key].iter().any(|value| value.is_nan()));
    hidden.flat_map(|key| (0..values[key].len()).filter(move |column| values[key][*column].is_nan())).collect()
}

/// Whether a result is what is expected, where it may be no number in some columns.
pub fn agrees(expected: &Expected, got: &[f64], may_be_none: &[usize]) -> bool {
    let mut expected = expected.clone();
    for &column in may_be_none.iter().filter(|column| got[**column].is_nan()) {
        expected.out[column] = f64::NAN;
    }
    expected.is(got)
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

    /// Random elements; sometimes those of the first batch, or of the first head, are all others', too.
    pub fn random(rng: &mut StdRng, shape: [u32; 4], amplitude: f32) -> Self {
        let mut placed = Self::guarded(rng, shape);
        if rng.random_ratio(1, 6) {
            placed.strides[rng.random_range(0..2)] = 0;
        }
        for start in placed.starts() {
            let row = &mut placed.data[start..start + placed.shape[3]];
            row.iter_mut().for_each(|element| *element = T::from_f32(amplitude * rng.random_range(-1.7..1.7)));
        }
        placed
    }

    /// Makes an element of one row no number, anywhere.
    pub fn poison(&mut self, rng: &mut StdRng) {
        let starts = self.starts();
        if !starts.is_empty() {
            let start = starts[rng.random_range(0..starts.len())];
            self.data[start + rng.random_range(0..self.shape[3])] = T::from_f32(f32::NAN);
        }
    }

    fn starts(&self) -> Vec<usize> {
        let [batch, heads, rows, _] = self.shape.map(|size| size as u32);
        let heads = (0..batch).flat_map(|b| (0..heads).map(move |h| [b, h]));
        heads.flat_map(|[b, h]| (0..rows).map(move |row| [b, h, row])).map(|at| self.start(at)).collect()
    }

    /// Which of its rows one is.
    pub fn number(&self, [batch, head, row]: [u32; 3]) -> usize {
        (batch as usize * self.shape[1] + head as usize) * self.shape[2] + row as usize
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
