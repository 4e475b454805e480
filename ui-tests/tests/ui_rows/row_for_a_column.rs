use autokernel::{Device, Matrix, Row, bf16, builtin};

fn main() {
    let x: Matrix<bf16> = Matrix::zeros(&Device::cpu(), 2, 2).unwrap();
    let mut sums: Row<f32> = Row::zeros(&Device::cpu(), 2).unwrap();
    builtin::row_sum(&x, &mut sums).unwrap();
}
