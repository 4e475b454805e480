//! Drawing a shape, and how it is used.

use std::fmt;

use autokernel_codegen::epilogue::Epilogue;
use autokernel_codegen::matmul::{extents, sizes};
use autokernel_codegen::problem::Layout;
use autokernel_core::Extents;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::layers::{ALIGNED, Layer, ODD};

/// M is drawn between 1 and this, its logarithm uniformly.
const MOST_ROWS: u32 = 8192;
/// One shape in so many has rows that do not begin at multiples of 16 bytes.
const ONE_ODD_IN: u32 = 5;
/// 16-bit elements of 16 bytes.
const ALIGNED_ELEMENTS: u32 = 8;

/// What follows the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Activation {
    /// Nothing.
    Plain,
    /// ReLU, which cuBLASLt fuses too.
    Relu,
    /// LeakyReLU, which it does not.
    LeakyRelu,
}

impl Activation {
    /// All of them.
    pub const ALL: [Activation; 3] = [Activation::Plain, Activation::Relu, Activation::LeakyRelu];

    /// The epilogue.
    pub fn epilogue(self) -> Epilogue {
        let text = match self {
            Activation::Plain => "identity",
            Activation::Relu => "relu",
            Activation::LeakyRelu => "leaky_relu(0.01)",
        };
        text.parse().expect("these are built in")
    }
}

impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Activation::Plain => "plain",
            Activation::Relu => "ReLU",
            Activation::LeakyRelu => "LeakyReLU",
        })
    }
}

/// A product that was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// M, N and K.
    pub extents: Extents,
    /// How the weight lies.
    pub layout: Layout,
    /// What follows.
    pub activation: Activation,
    /// Whose layer it is.
    pub model: &'static str,
}

impl Drawn {
    /// Whether each row of the three matrices begins at a multiple of 16 bytes.
    pub fn is_aligned(&self) -> bool {
        let [_, n, k] = sizes(&self.extents);
        n.is_multiple_of(ALIGNED_ELEMENTS) && k.is_multiple_of(ALIGNED_ELEMENTS)
    }
}

/// Draws without end; the same from the same seed. One shape in five has odd strides.
#[derive(Clone, Debug)]
pub struct Shapes(Pcg64);

impl Shapes {
    /// Those of `seed`.
    pub fn of_seed(seed: u64) -> Self {
        Shapes(Pcg64::seed_from_u64(seed))
    }
}

impl Iterator for Shapes {
    type Item = Drawn;

    fn next(&mut self) -> Option<Drawn> {
        let random = &mut self.0;
        let layers = if random.random_range(0..ONE_ODD_IN) == 0 { ODD } else { ALIGNED };
        let Layer { model, n, k } = layers[random.random_range(0..layers.len())];
        let log = random.random_range(0.0..f64::from(MOST_ROWS + 1).ln());
        let m = (log.exp() as u32).clamp(1, MOST_ROWS);
        let layout = Layout::OF_ROW_MAJOR_A[random.random_range(0..Layout::OF_ROW_MAJOR_A.len())];
        let activation = Activation::ALL[random.random_range(0..Activation::ALL.len())];
        Some(Drawn { extents: extents(m, n, k), layout, activation, model })
    }
}

/// The first `count` different extents of `seed` whose strides are aligned.
pub fn aligned(seed: u64, count: usize) -> Vec<Extents> {
    let mut found = Vec::new();
    for drawn in Shapes::of_seed(seed).filter(Drawn::is_aligned) {
        if found.len() == count {
            break;
        }
        if !found.contains(&drawn.extents) {
            found.push(drawn.extents);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_shapes_each_time_and_another_seed_others() {
        let of = |seed| Shapes::of_seed(seed).take(50).collect::<Vec<_>>();
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
    }

    #[test]
    fn the_lists_keep_aligned_and_odd_layers_apart() {
        let is_aligned = |layer: &Layer| layer.n.is_multiple_of(8) && layer.k.is_multiple_of(8);
        assert!(ALIGNED.iter().all(is_aligned));
        assert!(!ODD.iter().any(is_aligned));
    }

    #[test]
    fn one_in_five_is_odd_rows_are_log_uniform_and_each_layout_and_activation_is_drawn() {
        let drawn: Vec<Drawn> = Shapes::of_seed(3).take(2000).collect();
        let share = |wanted: &dyn Fn(&Drawn) -> bool| {
            drawn.iter().filter(|drawn| wanted(drawn)).count() as f64 / drawn.len() as f64
        };
        assert!((share(&|drawn| !drawn.is_aligned()) - 0.2).abs() < 0.03);
        let rows = |drawn: &Drawn| sizes(&drawn.extents)[0];
        assert!(drawn.iter().all(|drawn| (1..=MOST_ROWS).contains(&rows(drawn))));
        // Half of the logarithms lie below the square root.
        assert!((share(&|drawn| rows(drawn) <= 90) - 0.5).abs() < 0.04);
        assert!((share(&|drawn| drawn.layout == Layout::Nn) - 0.5).abs() < 0.04);
        for activation in Activation::ALL {
            assert!((share(&|drawn| drawn.activation == activation) - 1.0 / 3.0).abs() < 0.04);
        }
    }

    #[test]
    fn aligned_extents_are_as_many_as_asked_for_and_all_different() {
        let shapes = aligned(11, 60);
        assert_eq!(shapes.len(), 60);
        assert!(shapes.iter().enumerate().all(|(at, shape)| !shapes[..at].contains(shape)));
        assert_eq!(aligned(11, 20), shapes[..20]);
    }
}
