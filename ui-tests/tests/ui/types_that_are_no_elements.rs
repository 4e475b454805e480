use autokernel::Matrix;

#[autokernel::rows(T = [f32, f64])]
fn double<T>(x: &Matrix<T>, out: &mut Matrix<T>) {
    out = 2.0 * x;
}

fn main() {}
