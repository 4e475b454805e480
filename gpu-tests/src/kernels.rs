//! The declarations, as a user would write them, and the list of them.

use autokernel::{AnyKernel, Device, Error, KernelDescriptor, matmul};
use autokernel_codegen::matmul::problem::Problem;
use autokernel_codegen::problem;

use crate::check::Case;
use crate::compiled::Variants;
use crate::host::Values;
use crate::shapes;

/// A declared kernel by the path of its function.
#[macro_export]
macro_rules! declared {
    ($($segment:ident)::+) => {
        $crate::kernels::Declared { kernel: $($segment::)+KERNEL.erased(), epilogue: $($segment::)+epilogue }
    };
}

/// Modules of declarations, and the list of their kernels.
macro_rules! declare {
    ($(
        $(#[doc = $docs:literal])*
        pub mod $module:ident {
            use autokernel::{$($import:ident),*};
            $(#[$($attribute:tt)*] pub fn $name:ident $parameters:tt;)*
        }
    )*) => {
        $(
            $(#[doc = $docs])*
            pub mod $module {
                use autokernel::{$($import),*};
                $(#[$($attribute)*] pub fn $name $parameters;)*
            }
        )*

        /// Every kernel above.
        pub fn catalogue() -> Vec<Declared> {
            vec![$($(declared!($module::$name)),*),*]
        }
    };
}

declare! {
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

        #[autokernel::fused_matmul(gelu_tanh)]
        pub fn gelu_tanh(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

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

        #[autokernel::fused_matmul(gelu_tanh, transpose_b)]
        pub fn gelu_tanh(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

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

        #[autokernel::fused_matmul(gelu_tanh)]
        pub fn gelu_tanh(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f16>);

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

        #[autokernel::fused_matmul(gelu_tanh, transpose_b)]
        pub fn gelu_tanh(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f16>);

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

        #[autokernel::matmul(transpose_b, tf32)]
        pub fn tf32_nt(a: &Matrix<f32>, b: &Matrix<f32>, out: &mut Matrix<f32>);

        #[autokernel::fused_matmul(gelu, transpose_b, tf32, k = 72)]
        pub fn tf32_nt_gelu(a: &Matrix<f32>, b: &Matrix<f32>, out: &mut Matrix<f32>);
    }

    /// 8-bit floats, which lie along K.
    pub mod fp8 {
        use autokernel::{Matrix, bf16, e4m3, e5m2, f16};

        #[autokernel::matmul(transpose_b)]
        pub fn identity(a: &Matrix<e4m3>, b: &Matrix<e4m3>, out: &mut Matrix<bf16>);

        #[autokernel::fused_matmul(relu, transpose_b)]
        pub fn of_e5m2_in_f32(a: &Matrix<e5m2>, b: &Matrix<e5m2>, out: &mut Matrix<f32>);

        #[autokernel::fused_matmul(leaky_relu(0.25), transpose_b, n = 129, k = 200)]
        pub fn known(a: &Matrix<e4m3>, b: &Matrix<e4m3>, out: &mut Matrix<f16>);
    }

    /// Whole numbers of 8 bits, which lie along K.
    pub mod int8 {
        use autokernel::{Matrix, bf16};

        #[autokernel::matmul(transpose_b)]
        pub fn identity(a: &Matrix<i8>, b: &Matrix<i8>, out: &mut Matrix<f32>);

        #[autokernel::fused_matmul(relu, transpose_b)]
        pub fn in_bf16(a: &Matrix<i8>, b: &Matrix<i8>, out: &mut Matrix<bf16>);

        #[autokernel::fused_matmul(leaky_relu(0.25), transpose_b, n = 129, k = 1100)]
        pub fn known(a: &Matrix<i8>, b: &Matrix<i8>, out: &mut Matrix<f32>);
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
}

/// The kernels that ship with autokernel, with every schedule that was tuned for them.
pub fn shipped() -> Vec<Declared> {
    use autokernel::builtin;

    vec![
        declared!(builtin::matmul),
        declared!(builtin::matmul_nt),
        declared!(builtin::matmul_relu),
        declared!(builtin::matmul_relu_nt),
        declared!(builtin::matmul_leaky_relu),
        declared!(builtin::matmul_leaky_relu_nt),
        declared!(builtin::matmul_leaky_relu_f16),
    ]
}

/// A declared kernel, whatever its element types are.
#[derive(Clone, Copy, Debug)]
pub struct Declared {
    /// The kernel itself.
    pub kernel: &'static AnyKernel,
    /// Its epilogue in Rust.
    pub epilogue: fn(f32) -> f32,
}

impl Declared {
    /// What the build knows of it.
    ///
    /// # Panics
    /// The build embedded what cannot be read.
    pub fn descriptor(&self) -> &'static KernelDescriptor {
        self.kernel.descriptor().unwrap_or_else(|error| panic!("{error}"))
    }

    /// What it computes.
    ///
    /// # Panics
    /// The build embedded what cannot be read.
    pub fn problem(&self) -> Problem {
        let json = &self.descriptor().problem;
        let problem: problem::Problem = serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"));
        problem.as_product().unwrap_or_else(|| panic!("{json} is no product")).clone()
    }

    /// Whether it was compiled for what `device` is.
    pub fn serves(&self, device: &Device) -> bool {
        let shape = shapes::with_known(&matmul::extents(64, 64, 64), &self.problem());
        !matches!(self.kernel.plan(device, &shape), Err(Error::WrongArch { .. }))
    }

    /// Whether small integers come out of the epilogue exactly: it multiplies by powers of two at most.
    pub fn is_exact_on_integers(&self) -> bool {
        matches!(&*self.problem().epilogue.to_string(), "identity" | "relu" | "leaky_relu(0.25)")
    }

    /// Runs the kernel itself and each of `variants` on `case`.
    ///
    /// # Errors
    /// A report of the first launch that failed, wrote where it must not, or is too far from the reference.
    pub fn check(&self, case: &Case<'_>, values: Values, variants: &Variants) -> Result<usize, String> {
        let mut launches = variants.launches();
        let label = format!("Kernel `{}`", self.descriptor().name);
        launches.push((label, Box::new(|device, arguments| self.kernel.launch(device, arguments))));
        crate::check::check(case, values, &launches)
    }
}
