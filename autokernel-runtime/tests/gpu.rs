//! What needs a GPU but no compiled kernel. Each test says so when it is skipped.

mod common;

use std::sync::Arc;

use autokernel_runtime::cudarc::driver::CudaContext;
use autokernel_runtime::timing::{Cache, Timer};
use autokernel_runtime::{Device, Error, Matrix, MatrixView, MatrixViewMut, Scalar, ScalarView, bf16, f16};
use common::{gpu_or_skip, values};

#[test]
fn a_matrix_survives_the_way_to_the_gpu_and_back() {
    let Some(gpu) = gpu_or_skip("a_matrix_survives_the_way_to_the_gpu_and_back") else { return };
    let data = values::<bf16>(1, 33 * 17);
    let matrix = Matrix::from_slice(&gpu, &data, 33, 17).unwrap();
    assert_eq!(matrix.to_vec().unwrap(), data);
    assert_eq!(matrix.to_device(&Device::cpu()).unwrap().to_vec().unwrap(), data);
    assert_eq!(Matrix::<f16>::zeros(&gpu, 3, 5).unwrap().to_vec().unwrap(), [f16::ZERO; 15]);
}

#[test]
fn sub_views_on_the_gpu_are_those_on_the_host() {
    let Some(gpu) = gpu_or_skip("sub_views_on_the_gpu_are_those_on_the_host") else { return };
    let data = values::<f32>(2, 20 * 30);
    let on_gpu = Matrix::from_slice_with_ld(&gpu, &data, 20, 25, 30).unwrap();
    let on_host = MatrixView::from_slice_with_ld(&data, 20, 25, 30).unwrap();
    let part = |view: MatrixView<'_, f32>| view.rows(3..17).unwrap().columns(1..24).unwrap().to_vec().unwrap();
    assert_eq!(part(on_gpu.view()), part(on_host));
}

#[test]
fn matrices_without_elements_live_on_the_gpu_too() {
    let Some(gpu) = gpu_or_skip("matrices_without_elements_live_on_the_gpu_too") else { return };
    for (rows, columns) in [(0, 0), (0, 9), (9, 0)] {
        assert!(Matrix::<f32>::zeros(&gpu, rows, columns).unwrap().to_vec().unwrap().is_empty());
        assert!(Matrix::<f32>::from_slice(&gpu, &[], rows, columns).unwrap().to_vec().unwrap().is_empty());
    }
}

#[test]
fn cudarc_slices_go_in_and_out_with_no_copy() {
    let Some(gpu) = gpu_or_skip("cudarc_slices_go_in_and_out_with_no_copy") else { return };
    let stream: &Arc<_> = gpu.stream().unwrap();
    let mut slice = stream.clone_htod(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let view = MatrixView::from_cudarc(slice.slice(2..6), 2, 2).unwrap();
    assert_eq!(view.to_vec().unwrap(), [3.0, 4.0, 5.0, 6.0]);
    assert!(matches!(MatrixView::from_cudarc(slice.as_view(), 2, 2), Err(Error::BufferSize { len: 6, .. })));
    assert!(MatrixViewMut::from_cudarc_with_ld(slice.as_view_mut(), 2, 2, 5).is_err());
    let matrix = Matrix::from_cudarc(slice, 3, 2).unwrap();
    assert_eq!(matrix.into_cudarc().unwrap().len(), 6);
}

#[test]
fn a_scalar_is_set_in_the_order_of_its_stream_and_handed_over_with_no_copy() {
    let Some(device) = gpu_or_skip("a_scalar_is_set_in_the_order_of_its_stream_and_handed_over_with_no_copy") else {
        return;
    };
    let mut scale = Scalar::new(&device, 0.5f32).unwrap();
    scale.set(-2.0).unwrap();
    assert_eq!(scale.get().unwrap(), -2.0);
    let scale = Scalar::from_cudarc(scale.into_cudarc().unwrap()).unwrap();
    assert_eq!(scale.get().unwrap(), -2.0);
    let two = device.stream().unwrap().clone_htod(&[1.0f32, 2.0]).unwrap();
    assert_eq!(ScalarView::from_cudarc(two.slice(1..)).unwrap().get().unwrap(), 2.0);
    assert!(matches!(Scalar::from_cudarc(two), Err(Error::BufferSize { .. })));
}

#[test]
fn two_context_objects_of_one_gpu_are_one_device() {
    let Some(gpu) = gpu_or_skip("two_context_objects_of_one_gpu_are_one_device") else { return };
    let other = Device::from_cudarc(CudaContext::new(0).unwrap().default_stream());
    assert_eq!(gpu, other);
    assert_ne!(gpu, Device::cpu());
}

#[test]
fn more_than_the_gpus_memory_is_an_error_with_the_size() {
    let Some(gpu) = gpu_or_skip("more_than_the_gpus_memory_is_an_error_with_the_size") else { return };
    let error = Matrix::<f32>::zeros(&gpu, 1 << 30, 1 << 12).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { bytes, .. } if bytes == 1 << 44), "{error:?}");
    assert!(Matrix::<f32>::zeros(&gpu, 16, 16).is_ok(), "the context survives");
}

#[test]
fn the_driver_knows_the_gpu() {
    let Some(gpu) = gpu_or_skip("the_driver_knows_the_gpu") else { return };
    let info = gpu.info().unwrap();
    assert!(info.sm_count > 0 && info.l2_bytes > 0 && info.shared_bytes_per_block_optin >= 48 << 10, "{info:?}");
    eprintln!("{info:?}, {:.0} GB/s on paper", info.theoretical_bandwidth_gb_s());
}

#[test]
fn events_measure_what_a_copy_takes() {
    let Some(gpu) = gpu_or_skip("events_measure_what_a_copy_takes") else { return };
    let stream = gpu.stream().unwrap();
    let bytes = 512 << 20;
    let mut data = stream.alloc_zeros::<u8>(bytes).unwrap();
    for cache in [Cache::Cold, Cache::Warm] {
        let mut timer = Timer::new(&gpu, cache).unwrap();
        let timing = timer.sample(10, || stream.memset_zeros(&mut data).map_err(|_| Error::NoDriver)).unwrap();
        // Between 100 GB/s and 10 TB/s: the clock runs, and in milliseconds.
        let gb_s = bytes as f64 / (timing.median_ms * 1e6);
        assert!((100.0..10_000.0).contains(&gb_s), "{cache:?}: {timing}, {gb_s:.0} GB/s");
    }
}
