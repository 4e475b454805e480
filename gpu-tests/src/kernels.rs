//! The declarations, as a user would write them, and the list of them.

use autokernel::{Kernel, KernelDescriptor};

use crate::check::Case;
use crate::compiled::Variants;
use crate::host::{Sample, Values};

/// bf16, both operands row-major.
pub mod bf16_nn {
    use autokernel::{Matrix, bf16};

    #[autokernel::matmul]
    pub fn identity(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

    #[autokernel::fused_matmul(relu)]
    pub fn relu(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

    #[autokernel::fused_matmul(leaky_relu)]
    pub fn leaky_relu(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

    #[autokernel::fused_matmul(gelu)]
    pub fn gelu(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

    #[autokernel::fused_matmul(silu)]
    pub fn silu(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

    #[autokernel::fused_matmul(tanh)]
    pub fn tanh(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

    #[autokernel::fused_matmul(sigmoid)]
    pub fn sigmoid(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);
}

/// bf16, transposed weight.
pub mod bf16_nt {
    use autokernel::{Matrix, bf16};

    #[autokernel::matmul(transpose_b)]
    pub fn identity(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

    #[autokernel::fused_matmul(relu, transpose_b)]
    pub fn relu(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

    #[autokernel::fused_matmul(leaky_relu, transpose_b)]
    pub fn leaky_relu(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

    #[autokernel::fused_matmul(gelu, transpose_b)]
    pub fn gelu(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

    #[autokernel::fused_matmul(silu, transpose_b)]
    pub fn silu(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

    #[autokernel::fused_matmul(tanh, transpose_b)]
    pub fn tanh(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

    #[autokernel::fused_matmul(sigmoid, transpose_b)]
    pub fn sigmoid(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);
}

/// f16, both operands row-major.
pub mod f16_nn {
    use autokernel::{Matrix, f16};

    #[autokernel::matmul]
    pub fn identity(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f16>);

    #[autokernel::fused_matmul(relu)]
    pub fn relu(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f16>);

    #[autokernel::fused_matmul(leaky_relu)]
    pub fn leaky_relu(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f16>);

    #[autokernel::fused_matmul(gelu)]
    pub fn gelu(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f16>);

    #[autokernel::fused_matmul(silu)]
    pub fn silu(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f16>);

    #[autokernel::fused_matmul(tanh)]
    pub fn tanh(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f16>);

    #[autokernel::fused_matmul(sigmoid)]
    pub fn sigmoid(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f16>);
}

/// f16, transposed weight.
pub mod f16_nt {
    use autokernel::{Matrix, f16};

    #[autokernel::matmul(transpose_b)]
    pub fn identity(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f16>);

    #[autokernel::fused_matmul(relu, transpose_b)]
    pub fn relu(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f16>);

    #[autokernel::fused_matmul(leaky_relu, transpose_b)]
    pub fn leaky_relu(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f16>);

    #[autokernel::fused_matmul(gelu, transpose_b)]
    pub fn gelu(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f16>);

    #[autokernel::fused_matmul(silu, transpose_b)]
    pub fn silu(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f16>);

    #[autokernel::fused_matmul(tanh, transpose_b)]
    pub fn tanh(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f16>);

    #[autokernel::fused_matmul(sigmoid, transpose_b)]
    pub fn sigmoid(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f16>);
}

/// Sums that leave the kernel as they are, in f32.
pub mod f32_out {
    use autokernel::{Matrix, bf16, f16};

    #[autokernel::matmul]
    pub fn bf16_nn(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<f32>);

    #[autokernel::fused_matmul(gelu, transpose_b)]
    pub fn bf16_nt_gelu(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<f32>);

    #[autokernel::fused_matmul(relu)]
    pub fn f16_nn_relu(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f32>);

    #[autokernel::matmul(transpose_b)]
    pub fn f16_nt(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f32>);
}

/// Dimensions that are compiled in, and an epilogue's parameter.
pub mod known {
    use autokernel::{Matrix, bf16, f16};

    #[autokernel::matmul(n = 520, k = 136)]
    pub fn n_and_k(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

    #[autokernel::fused_matmul(relu, transpose_b, k = 72)]
    pub fn k_alone(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f16>);

    #[autokernel::matmul(transpose_b, n = 33)]
    pub fn n_that_no_tile_divides(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<f32>);

    #[autokernel::fused_matmul(leaky_relu(0.25), n = 129)]
    pub fn leaky_relu_of_a_quarter(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f16>);

    #[autokernel::fused_matmul(leaky_relu(0.25), transpose_b)]
    pub fn leaky_relu_of_a_quarter_nt(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);
}

/// A declared kernel, whatever its element types are.
pub trait Declared: Sync {
    /// What the build knows of it.
    fn descriptor(&self) -> &KernelDescriptor;

    /// Runs the kernel itself and each of `variants` on `case`.
    ///
    /// # Errors
    /// A report of the first launch that failed, wrote where it must not, or is too far from the reference.
    fn check(&self, case: &Case<'_>, values: Values, variants: &Variants) -> Result<usize, String>;
}

impl<I: Sample, O: Sample> Declared for Kernel<I, O> {
    fn descriptor(&self) -> &KernelDescriptor {
        Kernel::descriptor(self)
    }

    fn check(&self, case: &Case<'_>, values: Values, variants: &Variants) -> Result<usize, String> {
        let mut launches = variants.launches();
        launches.push((
            format!("Kernel `{}`", self.descriptor().name),
            Box::new(|a, b, out| self.launch_on(case.device, a, b, out)),
        ));
        crate::check::check::<I, O>(case, values, &launches)
    }
}

/// Whether small integers come out of the kernel's epilogue exactly: it multiplies by powers of two at most.
pub fn is_exact_on_integers(kernel: &dyn Declared) -> bool {
    matches!(&*kernel.descriptor().problem.epilogue, "identity" | "relu" | "leaky_relu(0.25)")
}

/// Every kernel above.
pub fn catalogue() -> Vec<&'static dyn Declared> {
    vec![
        &bf16_nn::identity::KERNEL,
        &bf16_nn::relu::KERNEL,
        &bf16_nn::leaky_relu::KERNEL,
        &bf16_nn::gelu::KERNEL,
        &bf16_nn::silu::KERNEL,
        &bf16_nn::tanh::KERNEL,
        &bf16_nn::sigmoid::KERNEL,
        &bf16_nt::identity::KERNEL,
        &bf16_nt::relu::KERNEL,
        &bf16_nt::leaky_relu::KERNEL,
        &bf16_nt::gelu::KERNEL,
        &bf16_nt::silu::KERNEL,
        &bf16_nt::tanh::KERNEL,
        &bf16_nt::sigmoid::KERNEL,
        &f16_nn::identity::KERNEL,
        &f16_nn::relu::KERNEL,
        &f16_nn::leaky_relu::KERNEL,
        &f16_nn::gelu::KERNEL,
        &f16_nn::silu::KERNEL,
        &f16_nn::tanh::KERNEL,
        &f16_nn::sigmoid::KERNEL,
        &f16_nt::identity::KERNEL,
        &f16_nt::relu::KERNEL,
        &f16_nt::leaky_relu::KERNEL,
        &f16_nt::gelu::KERNEL,
        &f16_nt::silu::KERNEL,
        &f16_nt::tanh::KERNEL,
        &f16_nt::sigmoid::KERNEL,
        &f32_out::bf16_nn::KERNEL,
        &f32_out::bf16_nt_gelu::KERNEL,
        &f32_out::f16_nn_relu::KERNEL,
        &f32_out::f16_nt::KERNEL,
        &known::n_and_k::KERNEL,
        &known::k_alone::KERNEL,
        &known::n_that_no_tile_divides::KERNEL,
        &known::leaky_relu_of_a_quarter::KERNEL,
        &known::leaky_relu_of_a_quarter_nt::KERNEL,
    ]
}

/// The kernels that ship with autokernel, with every schedule that was tuned for them.
pub fn shipped() -> Vec<&'static dyn Declared> {
    use autokernel::builtin;

    vec![
        &builtin::matmul::KERNEL,
        &builtin::matmul_nt::KERNEL,
        &builtin::matmul_relu::KERNEL,
        &builtin::matmul_relu_nt::KERNEL,
        &builtin::matmul_leaky_relu::KERNEL,
        &builtin::matmul_leaky_relu_nt::KERNEL,
        &builtin::matmul_leaky_relu_f16::KERNEL,
    ]
}
