//! Kernels of the gradients of products, by the way of a user: a training step of a perceptron, beside its formulas in fp64; and
//! the row-wise kernels among them wherever their operands lie. The products among them are in `declared_bodies`, and that such
//! bodies are gradients the tests of `autokernel-codegen` tell.

use autokernel::{Arch, Device, Emulation, Matrix, Row, bf16};
use gpu_tests::bodies::derived::{derived_rows, down, up};
use gpu_tests::host::Values;
use gpu_tests::place::Place;
use gpu_tests::rows::check_launch;
use gpu_tests::rows::declared::Declared;
use gpu_tests::skip;
use rand::SeedableRng;
use rand::rngs::StdRng;

const TOKENS: usize = 37;
const WIDTH: usize = 24;
const HIDDEN: usize = 72;
/// What three roundings to bf16 on the way may take from a gradient, of the largest of its numbers.
const ROUNDED: f64 = 0.02;

/// A matrix of numbers that bf16 holds.
#[derive(Clone)]
struct Host {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

impl Host {
    fn new(rows: usize, columns: usize, salt: usize, scale: f64) -> Self {
        let value = |at: usize| ((at * 37 + salt * 101) % 61) as f64 / 32.0 - 0.9375;
        let rounded = |at: usize| f64::from(bf16::from_f64(value(at) * scale));
        Host { rows, columns, values: (0..rows * columns).map(rounded).collect() }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.columns + column]
    }

    fn made(rows: usize, columns: usize, value: impl Fn(usize, usize) -> f64) -> Self {
        Host { rows, columns, values: (0..rows * columns).map(|at| value(at / columns, at % columns)).collect() }
    }

    fn t(&self) -> Self {
        Host::made(self.columns, self.rows, |row, column| self.at(column, row))
    }

    fn dot(&self, other: &Self) -> Self {
        let sum = |row, column| (0..self.columns).map(|k| self.at(row, k) * other.at(k, column)).sum();
        Host::made(self.rows, other.columns, sum)
    }

    fn of(&self, function: impl Fn(f64) -> f64) -> Self {
        Host { values: self.values.iter().map(|&value| function(value)).collect(), ..self.clone() }
    }

    fn on(&self, device: &Device) -> Matrix<bf16> {
        let values: Vec<bf16> = self.values.iter().map(|&value| bf16::from_f64(value)).collect();
        Matrix::from_slice(device, &values, self.rows, self.columns).unwrap()
    }

    fn row_on(&self, device: &Device) -> Row<f32> {
        let values: Vec<f32> = self.values.iter().map(|&value| value as f32).collect();
        Row::from_slice(device, &values).unwrap()
    }

    /// Each element is this one's, but for roundings on the way.
    fn check(&self, name: &str, found: &[f64]) {
        let largest = self.values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        assert!(largest > 0.0 && found.len() == self.values.len(), "{name}: {largest}, {}", found.len());
        for (at, (expected, found)) in self.values.iter().zip(found).enumerate() {
            assert!((expected - found).abs() <= ROUNDED * largest, "{name}[{at}] is {found}, not {expected}");
        }
    }
}

fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
}

/// Of central differences, so that no formula of ours is in it.
fn gelu_derivative(x: f64) -> f64 {
    (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5
}

fn values(matrix: &Matrix<bf16>) -> Vec<f64> {
    matrix.to_vec().unwrap().into_iter().map(f64::from).collect()
}

fn row(row: &Row<f32>) -> Vec<f64> {
    row.to_vec().unwrap().into_iter().map(f64::from).collect()
}

/// `y = gelu(x · w1ᵀ + b1) · w2ᵀ + b2 + x`, and what it takes to train it.
fn training_step(device: &Device) {
    let (x, dy) = (Host::new(TOKENS, WIDTH, 1, 1.0), Host::new(TOKENS, WIDTH, 2, 1.0));
    let (w1, w2) = (Host::new(HIDDEN, WIDTH, 3, 0.5), Host::new(WIDTH, HIDDEN, 4, 0.25));
    let (b1, b2) = (Host::new(1, HIDDEN, 5, 1.0), Host::new(1, WIDTH, 6, 1.0));

    let product = x.dot(&w1.t());
    let z = Host::made(TOKENS, HIDDEN, |row, column| product.at(row, column) + b1.at(0, column));
    let h = z.of(gelu);
    let product = h.dot(&w2.t());
    let y = Host::made(TOKENS, WIDTH, |row, column| product.at(row, column) + b2.at(0, column) + x.at(row, column));
    let dh = dy.dot(&w2);
    let dz = Host::made(TOKENS, HIDDEN, |row, column| dh.at(row, column) * gelu_derivative(z.at(row, column)));
    let summed = |of: &Host| Host::made(1, of.columns, |_, column| (0..of.rows).map(|row| of.at(row, column)).sum());

    let [on_x, on_dy, on_w1, on_w2] = [&x, &dy, &w1, &w2].map(|host| host.on(device));
    let matrix = |rows, columns| Matrix::<bf16>::zeros(device, rows, columns).unwrap();
    let zeros = |columns| Row::<f32>::zeros(device, columns).unwrap();

    let (mut on_h, mut on_z, mut on_y) = (matrix(TOKENS, HIDDEN), matrix(TOKENS, HIDDEN), matrix(TOKENS, WIDTH));
    up::forward(&on_x, &on_w1, &b1.row_on(device), &mut on_h, &mut on_z).unwrap();
    down(&on_h, &on_w2, &b2.row_on(device), &on_x, &mut on_y).unwrap();

    let (mut dw2, mut db2) = (matrix(WIDTH, HIDDEN), zeros(WIDTH));
    down::backward_w(&on_h, &on_dy, &mut dw2).unwrap();
    down::backward_rows(&on_dy, &mut db2).unwrap();
    let (mut on_dz, mut dw1, mut db1, mut dx) =
        (matrix(TOKENS, HIDDEN), matrix(HIDDEN, WIDTH), zeros(HIDDEN), matrix(TOKENS, WIDTH));
    up::backward_fused(&on_z, &on_w2, &on_dy, &mut on_dz).unwrap();
    up::backward_w(&on_x, &on_dz, &mut dw1).unwrap();
    up::backward_rows(&on_dz, &mut db1).unwrap();
    up::backward_x(&on_w1, &on_dz, &mut dx).unwrap();

    h.check("h", &values(&on_h));
    z.check("z", &values(&on_z));
    y.check("y", &values(&on_y));
    dz.check("dz", &values(&on_dz));
    dy.t().dot(&h).check("dw2", &values(&dw2));
    summed(&dy).check("db2", &row(&db2));
    dz.t().dot(&x).check("dw1", &values(&dw1));
    summed(&dz).check("db1", &row(&db1));
    dz.dot(&w1).check("dx", &values(&dx));

    // The same in two kernels.
    let (mut on_dh, mut other) = (matrix(TOKENS, HIDDEN), matrix(TOKENS, HIDDEN));
    down::backward_h(&on_w2, &on_dy, &mut on_dh).unwrap();
    up::backward(&on_z, &on_dh, &mut other).unwrap();
    dh.check("dh", &values(&on_dh));
    dz.check("dz of two kernels", &values(&other));
}

fn rows(device: &Device) {
    for (name, kernel) in derived_rows() {
        let kernel = Declared { name, kernel };
        for (seed, (rows, columns)) in [(1, 1), (5, 77), (33, 130), (70, 24)].into_iter().enumerate() {
            let mut places = StdRng::seed_from_u64(seed as u64);
            let checked = check_launch(
                device,
                &kernel.problem(),
                |arguments| kernel.kernel.launch(device, arguments),
                (rows, columns),
                (Values::Uniform, seed as u64),
                |rows, columns| Place::random(&mut places, rows, columns),
            );
            checked.unwrap_or_else(|report| panic!("{name} on {device}: {report}"));
        }
    }
}

#[test]
fn a_training_step_of_a_perceptron_is_its_formulas_on_the_cpu() {
    training_step(&Device::cpu());
    rows(&Device::cpu());
}

#[test]
fn a_training_step_of_a_perceptron_is_its_formulas_on_an_emulated_gpu_of_each_arch() {
    if let Some(reason) = up::backward_fused::KERNEL.descriptor().unwrap().not_compiled.clone() {
        let test = "derived_bodies::a_training_step_of_a_perceptron_is_its_formulas_on_an_emulated_gpu_of_each_arch";
        return skip::log(test, &reason);
    }
    for arch in [Arch::SM_80, Arch::SM_90A] {
        let device = Device::emulated_with(Emulation::new(arch).seed(5)).unwrap();
        training_step(&device);
        rows(&device);
    }
}
