//! Bad input: each with its own error, and each error with its remedy.

mod common;

use autokernel_runtime::__private::matmul_on_cpu;
use autokernel_runtime::timing::{Cache, Timer};
use autokernel_runtime::{
    CompiledKernel, CpuFunction, Device, Dtype, Embedded, Error, Image, Kernel, LaunchPlan, Matrix, MatrixView,
    MatrixViewMut, Routes, bf16, dim, f16, i4x2, matmul,
};
use common::{cpu_only, identity, product};

const PLAIN: CpuFunction = |arguments| matmul_on_cpu(arguments, matmul::Layout::Nn, |_| ());

const CPU: Device = Device::cpu();

fn zeros<T: autokernel_runtime::Element>(rows: usize, columns: usize) -> Matrix<T> {
    Matrix::zeros(&CPU, rows, columns).unwrap()
}

#[test]
fn without_a_driver_a_gpu_is_refused_with_the_remedy_and_no_panic() {
    match Device::new(0) {
        Ok(_) => eprintln!("SKIPPED the case without a driver: this machine has a GPU"),
        Err(error) => {
            assert!(matches!(error, Error::NoDriver | Error::NoDevice { .. }), "{error:?}");
            assert!(error.to_string().contains("use `Device::cpu()`"), "{error}");
            assert!(Device::best().is_cpu());
        }
    }
}

#[test]
fn a_gpu_beyond_the_last_is_refused_with_how_many_there_are() {
    match Device::gpu_count() {
        Err(error) => assert!(matches!(error, Error::NoDriver), "{error:?}"),
        Ok(count) => {
            let error = Device::new(count + 3).unwrap_err();
            assert!(matches!(error, Error::NoDevice { found, .. } if found == count), "{error:?}");
        }
    }
}

#[test]
fn a_mismatched_k_shows_both_shapes() {
    let error = kernel!(f32, f32, matmul::Layout::Nn, identity)
        .launch(&zeros(2, 3), &zeros(4, 5), &mut zeros(2, 5))
        .unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::ShapeMismatch { .. }));
    assert!(text.contains("`a` (2x3)") && text.contains("`b` (4x5)") && text.contains("`k`"), "{text}");
}

#[test]
fn a_transposed_b_is_compared_by_its_columns() {
    let product = kernel!(f32, f32, matmul::Layout::Nt, identity);
    product.launch(&zeros(2, 3), &zeros(5, 3), &mut zeros(2, 5)).unwrap();
    let text = product.launch(&zeros(2, 3), &zeros(3, 5), &mut zeros(2, 5)).unwrap_err().to_string();
    assert!(text.contains("`k` is 3 by the columns of `a` (2x3) and 5 by the columns of `b` (3x5)"), "{text}");
}

#[test]
fn an_output_of_another_size_is_refused_and_left_alone() {
    for (rows, columns, what) in [(3, 5, "the rows of `out` (3x5)"), (2, 6, "the columns of `out` (2x6)")] {
        let mut c = Matrix::from_slice(&CPU, &vec![9.0f32; rows * columns], rows, columns).unwrap();
        let error =
            kernel!(f32, f32, matmul::Layout::Nn, identity).launch(&zeros(2, 3), &zeros(3, 5), &mut c).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
        assert!(c.to_vec().unwrap().iter().all(|&value| value == 9.0));
    }
}

#[test]
fn a_buffer_that_is_no_such_matrix_is_refused_with_both_sizes() {
    let data = [0.0f32; 11];
    let error = MatrixView::from_slice(&data, 3, 4).unwrap_err();
    assert!(matches!(error, Error::BufferSize { len: 11, rows: 3, columns: 4, .. }), "{error:?}");
    assert!(error.to_string().contains("needs 12"), "{error}");
    assert!(Matrix::from_slice(&CPU, &[0.0f32; 13], 3, 4).is_err());
    assert!(MatrixViewMut::from_slice_with_ld(&mut [0.0f32; 11], 3, 4, 4).is_err());
    assert!(MatrixView::from_slice_with_ld(&data, 3, 3, 4).is_ok());
    assert!(matches!(MatrixView::from_slice_with_ld(&data, 3, 4, 3), Err(Error::LeadingDimension { .. })));
}

#[test]
fn sizes_beyond_memory_are_errors_and_not_aborts() {
    assert!(matches!(Matrix::<f32>::zeros(&CPU, usize::MAX, 2), Err(Error::OutOfMemory { .. })));
    let error = Matrix::<f32>::zeros(&CPU, 1 << 40, 1 << 20).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error:?}");
}

#[test]
fn an_extent_that_a_kernel_cannot_count_is_refused() {
    // Rows without elements cost nothing, so their number can be anything.
    let rows = u32::MAX as usize;
    let error = kernel!(f32, f32, matmul::Layout::Nn, identity)
        .launch(&zeros(rows, 0), &zeros(0, 0), &mut zeros(rows, 0))
        .unwrap_err();
    assert!(matches!(&error, Error::TooLarge { what, .. } if what.contains("`m`")), "{error:?}");
}

#[test]
fn another_n_or_k_than_the_compiled_one_is_refused_with_both() {
    let mut signature = product(Dtype::F32, Dtype::F32, matmul::Layout::Nn);
    (signature.dims[1].known, signature.dims[2].known) = (Some(8), Some(4));
    // SAFETY: there are no images.
    let known: Kernel<f32, f32> = unsafe { Kernel::from_descriptor(cpu_only(signature), PLAIN) };
    known.launch(&zeros(3, 4), &zeros(4, 8), &mut zeros(3, 8)).unwrap();
    let error = known.launch(&zeros(3, 4), &zeros(4, 7), &mut zeros(3, 7)).unwrap_err();
    assert!(matches!(&error, Error::KnownDimension { dim, known: 8, given: 7, .. } if dim == "n"), "{error:?}");
    let error = known.launch(&zeros(3, 5), &zeros(5, 8), &mut zeros(3, 8)).unwrap_err();
    let told = error.to_string();
    assert!(told.contains("compiled for k = 4, not 5") && told.contains("declare a kernel with `k = 5`"), "{told}");
    assert!(matches!(known.plan(&CPU, &matmul::extents(1, 8, 5)), Err(Error::KnownDimension { .. })));
    assert!(matches!(known.prepare(&CPU, &matmul::extents(1, 9, 4)), Err(Error::KnownDimension { .. })));
}

#[test]
fn a_dimension_that_the_attribute_calls_otherwise_is_refused_with_the_name_of_its_setting() {
    let mut signature = product(Dtype::F32, Dtype::F32, matmul::Layout::Nn);
    signature.dims[2].known = Some(64);
    signature.settings = vec![(2, "head_dim".to_owned())];
    // SAFETY: there are no images.
    let known: Kernel<f32, f32> = unsafe { Kernel::from_descriptor(cpu_only(signature), PLAIN) };
    let told = known.launch(&zeros(3, 80), &zeros(80, 8), &mut zeros(3, 8)).unwrap_err().to_string();
    assert!(
        told.contains("compiled for k = 64, not 80") && told.contains("with `head_dim = 80` in its attribute"),
        "{told}"
    );
}

#[test]
fn extents_of_other_dimensions_than_the_kernels_are_refused_with_its_own() {
    let rows = autokernel_runtime::Extents::new([(dim("rows"), 2), (dim("n"), 3), (dim("k"), 4)]);
    let error = kernel!(f32, f32, matmul::Layout::Nn, identity).plan(&CPU, &rows).unwrap_err();
    assert!(error.to_string().contains("m, n, k") && error.to_string().contains("rows, n, k"), "{error}");
}

#[test]
fn element_types_other_than_the_descriptors_are_refused() {
    let signature = product(Dtype::Bf16, Dtype::F32, matmul::Layout::Nn);
    // SAFETY: there are no images.
    let product: Kernel<f16, f32> = unsafe { Kernel::from_descriptor(cpu_only(signature), PLAIN) };
    let error = product.launch(&zeros(1, 1), &zeros(1, 1), &mut zeros(1, 1)).unwrap_err();
    assert!(error.to_string().contains("takes bf16 for `a`, not f16"), "{error}");
}

#[test]
fn what_was_embedded_and_cannot_be_read_is_an_error_at_the_first_use() {
    // SAFETY: there are no images.
    static BROKEN: Kernel<f32, f32> = unsafe { Kernel::new(Embedded { json: "{", images: &[], cpu: PLAIN }) };
    for _ in 0..2 {
        let error = BROKEN.launch(&zeros(1, 1), &zeros(1, 1), &mut zeros(1, 1)).unwrap_err();
        assert!(matches!(error, Error::Descriptor { .. }) && error.to_string().contains("Rebuild"), "{error}");
    }
}

#[test]
fn a_compiled_kernel_is_not_loaded_on_the_cpu() {
    let (signature, plan) = (
        product(Dtype::Bf16, Dtype::Bf16, matmul::Layout::Nn),
        LaunchPlan { alignments: Vec::new(), workspace: Vec::new(), kernels: Vec::new() },
    );
    // SAFETY: the CPU refuses before it looks at the image.
    let loaded = unsafe { CompiledKernel::load(&CPU, &signature, &plan, Image::Ptx(b"")) };
    assert!(matches!(loaded, Err(Error::NeedsGpu { .. })));
}

#[test]
fn a_launch_on_another_device_than_the_matrices_is_refused() {
    let Some(gpu) = common::gpu_or_skip("a_launch_on_another_device_than_the_matrices_is_refused") else { return };
    let product = kernel!(bf16, bf16, matmul::Layout::Nn, identity);
    let on_gpu = Matrix::<bf16>::zeros(&gpu, 4, 4).unwrap();
    let error = product.launch(&on_gpu, &zeros(4, 4), &mut zeros(4, 4)).unwrap_err();
    assert!(matches!(error, Error::DeviceMismatch { .. }), "{error:?}");
    assert!(error.to_string().contains("Matrix::to_device"), "{error}");
    let mut out = Matrix::<bf16>::zeros(&gpu, 4, 4).unwrap();
    assert!(matches!(product.launch_on(&CPU, &on_gpu, &on_gpu, &mut out), Err(Error::DeviceMismatch { .. })));
}

#[test]
fn a_gpu_launch_without_images_says_what_was_missing_when_it_was_built() {
    let Some(gpu) = common::gpu_or_skip("a_gpu_launch_without_images_says_what_was_missing") else { return };
    let on_gpu = Matrix::<bf16>::zeros(&gpu, 4, 4).unwrap();
    let mut out = Matrix::<bf16>::zeros(&gpu, 4, 4).unwrap();
    let error = kernel!(bf16, bf16, matmul::Layout::Nn, identity).launch(&on_gpu, &on_gpu, &mut out).unwrap_err();
    assert!(matches!(error, Error::NotCompiled { .. }), "{error:?}");
    assert!(error.to_string().contains("set AUTOKERNEL_NVCC"), "{error}");
}

#[test]
fn timing_work_that_fails_returns_its_error() {
    let mut timer = Timer::new(&CPU, Cache::Warm).unwrap();
    let failed = timer.sample(3, || {
        kernel!(f32, f32, matmul::Layout::Nn, identity).launch(&zeros(2, 3), &zeros(4, 5), &mut zeros(2, 5))
    });
    assert!(matches!(failed, Err(Error::ShapeMismatch { .. })));
}

#[test]
fn columns_of_packed_numbers_begin_where_a_unit_does() {
    let packed = [i4x2::default(); 64];
    let view = MatrixView::from_slice(&packed, 2, 32).unwrap();
    assert!(view.columns(8..24).unwrap_err().to_string().contains("element 8"));
    assert_eq!(view.columns(16..32).unwrap().ncols(), 16);
}

#[test]
fn more_choices_of_experts_than_rows_can_be_numbered_are_refused() {
    let refused = Routes::zeros(&CPU, 1 << 27, 64, 32).err().unwrap();
    assert!(matches!(refused, Error::TooLarge { given, .. } if given == 1 << 32), "{refused}");
}
