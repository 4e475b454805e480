//! Bad input: each with its own error, and each error with its remedy.

mod common;

use autokernel_runtime::timing::{Cache, Timer};
use autokernel_runtime::{
    CompiledKernel, Device, Dtype, Error, Family, Geometry, Image, Kernel, Matrix, MatrixView, MatrixViewMut, Raster,
    RasterOrder, Shape, bf16, f16,
};
use common::{cpu_only, identity, kernel};

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
    let error = kernel::<f32, f32>(false, identity).launch(&zeros(2, 3), &zeros(4, 5), &mut zeros(2, 5)).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::ShapeMismatch { .. }));
    assert!(text.contains("A is 2x3") && text.contains("B is 4x5") && text.contains("K"), "{text}");
}

#[test]
fn a_transposed_b_is_compared_by_its_columns() {
    let product = kernel::<f32, f32>(true, identity);
    product.launch(&zeros(2, 3), &zeros(5, 3), &mut zeros(2, 5)).unwrap();
    let text = product.launch(&zeros(2, 3), &zeros(3, 5), &mut zeros(2, 5)).unwrap_err().to_string();
    assert!(text.contains("B is 3x5 and used transposed"), "{text}");
}

#[test]
fn an_output_of_another_size_is_refused_and_left_alone() {
    for (rows, columns, what) in [(3, 5, "rows of A and of C"), (2, 6, "N of B and of C")] {
        let mut c = Matrix::from_slice(&CPU, &vec![9.0f32; rows * columns], rows, columns).unwrap();
        let error = kernel::<f32, f32>(false, identity).launch(&zeros(2, 3), &zeros(3, 5), &mut c).unwrap_err();
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
    let error =
        kernel::<f32, f32>(false, identity).launch(&zeros(rows, 0), &zeros(0, 0), &mut zeros(rows, 0)).unwrap_err();
    assert!(matches!(error, Error::TooLarge { what: "M", .. }), "{error:?}");
}

#[test]
fn another_n_or_k_than_the_compiled_one_is_refused_with_both() {
    let mut descriptor = cpu_only(Dtype::F32, Dtype::F32, false, identity);
    descriptor.problem.known_n = Some(8);
    descriptor.problem.known_k = Some(4);
    // SAFETY: there are no images.
    let known: Kernel<f32, f32> = unsafe { Kernel::new(descriptor) };
    known.launch(&zeros(3, 4), &zeros(4, 8), &mut zeros(3, 8)).unwrap();
    let error = known.launch(&zeros(3, 4), &zeros(4, 7), &mut zeros(3, 7)).unwrap_err();
    assert!(matches!(error, Error::KnownDimension { extent: "n", known: 8, given: 7, .. }), "{error:?}");
    let error = known.launch(&zeros(3, 5), &zeros(5, 8), &mut zeros(3, 8)).unwrap_err();
    assert!(error.to_string().contains("compiled for k = 4, not 5"), "{error}");
    assert!(matches!(known.plan(&CPU, Shape::new(1, 8, 5)), Err(Error::KnownDimension { .. })));
    assert!(matches!(known.prepare(&CPU, Shape::new(1, 9, 4)), Err(Error::KnownDimension { .. })));
}

#[test]
fn element_types_other_than_the_descriptors_are_refused() {
    // SAFETY: there are no images.
    let product: Kernel<f16, f32> = unsafe { Kernel::new(cpu_only(Dtype::Bf16, Dtype::F32, false, identity)) };
    let error = product.launch(&zeros(1, 1), &zeros(1, 1), &mut zeros(1, 1)).unwrap_err();
    assert!(error.to_string().contains("takes bf16 for the inputs, not f16"), "{error}");
}

#[test]
fn a_compiled_kernel_is_not_loaded_on_the_cpu() {
    let geometry = Geometry {
        family: Family::Sm80,
        tile_m: 64,
        tile_n: 64,
        tile_k: 32,
        cluster_m: 1,
        cluster_n: 1,
        swap_ab: false,
        split_k: 1,
        threads: 128,
        shared_bytes: 0,
        raster: Raster::new(RasterOrder::AlongM, 1),
    };
    let problem = cpu_only(Dtype::Bf16, Dtype::Bf16, false, identity).problem;
    // SAFETY: the CPU refuses before it looks at the image.
    let loaded = unsafe { CompiledKernel::load(&CPU, &problem, &geometry, "symbol", Image::Ptx(b"")) };
    assert!(matches!(loaded, Err(Error::NeedsGpu { .. })));
}

#[test]
fn a_launch_on_another_device_than_the_matrices_is_refused() {
    let Some(gpu) = common::gpu_or_skip("a_launch_on_another_device_than_the_matrices_is_refused") else { return };
    let product = kernel::<bf16, bf16>(false, identity);
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
    let error = kernel::<bf16, bf16>(false, identity).launch(&on_gpu, &on_gpu, &mut out).unwrap_err();
    assert!(matches!(error, Error::NotCompiled { .. }), "{error:?}");
    assert!(error.to_string().contains("set AUTOKERNEL_NVCC"), "{error}");
}

#[test]
fn timing_work_that_fails_returns_its_error() {
    let mut timer = Timer::new(&CPU, Cache::Warm).unwrap();
    let failed =
        timer.sample(3, || kernel::<f32, f32>(false, identity).launch(&zeros(2, 3), &zeros(4, 5), &mut zeros(2, 5)));
    assert!(matches!(failed, Err(Error::ShapeMismatch { .. })));
}
