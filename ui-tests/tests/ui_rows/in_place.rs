use autokernel::{Device, Matrix, bf16, builtin};

fn main() {
    let mut x: Matrix<bf16> = Matrix::zeros(&Device::cpu(), 2, 2).unwrap();
    builtin::softmax(&x, &mut x).unwrap();
}
