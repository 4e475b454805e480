//! Packing by the way of a user, on the GPU: `AUTOKERNEL_CASES` problems of each kernel (200).

use autokernel::cudarc::driver::sys::{CUgraphInstantiate_flags as GraphFlags, CUstreamCaptureMode as CaptureMode};
use autokernel::packing::extents;
use autokernel::{Matrix, MatrixView, bf16, f16, i4x2, quantise};
use gpu_tests::packing::{self, nibbles_in_groups};
use gpu_tests::{settings, skip};

#[test]
fn weights_are_packed_on_a_gpu_with_the_bits_of_the_hosts_functions() {
    let Some(device) = skip::gpu("gpu_packing::weights_are_packed_on_a_gpu_with_the_bits_of_the_hosts_functions")
    else {
        return;
    };
    packing::check(&device, settings::number("AUTOKERNEL_CASES", 200)).unwrap();
    packing::check_what_no_scale_holds(&device).unwrap();
}

/// A few, for compute-sanitizer.
#[test]
fn sanitize_packing() {
    let Some(device) = skip::gpu("gpu_packing::sanitize_packing") else { return };
    packing::check(&device, settings::number("AUTOKERNEL_SANITIZED", 4)).unwrap();
}

#[test]
fn a_captured_graph_packs_the_weights_that_there_are_when_it_runs() {
    let test = "gpu_packing::a_captured_graph_packs_the_weights_that_there_are_when_it_runs";
    let Some(device) = skip::gpu(test) else { return };
    let (stream, n, k) = (device.stream().unwrap(), 300, 1152);
    let mut w = stream.alloc_zeros::<bf16>(n * k).unwrap();
    let mut packed = Matrix::<i4x2>::zeros(&device, n, k / 2).unwrap();
    let mut scales = Matrix::<f16>::zeros(&device, k / 128, n).unwrap();
    nibbles_in_groups::KERNEL.prepare(&device, &extents(n as u32, k as u32)).unwrap();
    device.synchronize().unwrap();

    stream.begin_capture(CaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
    let launched = MatrixView::from_cudarc(w.as_view(), n, k)
        .and_then(|w| nibbles_in_groups::launch_on(&device, w, &mut packed, &mut scales));
    let graph = stream.end_capture(GraphFlags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
    launched.unwrap();
    let graph = graph.unwrap().expect("the capture recorded a launch");

    for step in 1..4usize {
        let weights: Vec<bf16> = (0..n * k).map(|at| bf16::from_f32((at * step % 1013) as f32 - 400.0)).collect();
        stream.memcpy_htod(&weights, &mut w).unwrap();
        graph.launch().unwrap();
        let wide: Vec<f32> = weights.iter().map(|weight| weight.to_f32()).collect();
        let (numbers, of_groups) = quantise(&wide, k, 128).unwrap();
        let of_groups: Vec<f16> = of_groups.iter().map(|scale| f16::from_f32(*scale)).collect();
        assert_eq!((packed.to_vec().unwrap(), scales.to_vec().unwrap()), (numbers, of_groups), "step {step}");
    }
}
