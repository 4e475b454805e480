//! Tiles that clusters share (stream K), on a GPU: exact, the same bits at every launch, and workspaces that nobody shares who
//! runs at the same time.

use std::ptr;
use std::sync::Arc;

use autokernel::cudarc::driver::sys::{
    self, CUgraphInstantiate_flags as GraphFlags, CUstreamCaptureMode as CaptureMode,
};
use autokernel::cudarc::driver::{CudaGraph, result};
use autokernel::matmul::extents;
use autokernel::{CompiledKernel, Device, Extents, Matrix, bf16};
use gpu_tests::bodies::TimedImage;
use gpu_tests::shared::{self, Product, SHARED, images};

/// A wave and a bit of some tiles, fewer tiles than multiprocessors, one tile that many clusters share, and ragged edges.
const SHAPES: [Extents; 4] =
    [extents(1280, 2048, 1024), extents(300, 1024, 2048), extents(40, 64, 8192), extents(523, 4104, 1000)];

/// The GPU, if these images run on it.
fn gpu(test: &str) -> Option<Device> {
    shared::gpu(test, SHARED)
}

fn loaded(device: &Device) -> Vec<(&'static TimedImage, CompiledKernel)> {
    images(SHARED).map(|image| (image, image.load(device).unwrap())).collect()
}

#[test]
fn shared_tiles_are_exact_at_each_of_many_launches_in_turn() {
    let Some(device) = gpu("gpu_shared_tiles::shared_tiles_are_exact_at_each_of_many_launches_in_turn") else { return };
    let kernels = loaded(&device);
    let products: Vec<Product> = (0..).zip(SHAPES).map(|(seed, shape)| Product::new(&device, shape, seed)).collect();
    // Kernels with slots of different sizes take turns in one workspace.
    for round in 0..8 {
        for product in &products {
            for (image, kernel) in &kernels {
                let mut out = product.output(&device);
                product.launch(kernel, &device, &mut out);
                product.check(&out, &format!("round {round}, {:?} by {}", product.sizes, image.schedule));
            }
        }
    }
}

#[test]
fn streams_that_run_at_once_have_workspaces_of_their_own() {
    let Some(first) = gpu("gpu_shared_tiles::streams_that_run_at_once_have_workspaces_of_their_own") else { return };
    let product = Product::new(&first, SHAPES[1], 7);
    for (image, kernel) in loaded(&first) {
        let devices: Vec<Device> = (0..4).map(|_| first.with_new_stream().unwrap()).collect();
        first.synchronize().unwrap();
        let mut outputs: Vec<Matrix<bf16>> = devices.iter().map(|device| product.output(device)).collect();
        for _ in 0..50 {
            for (device, out) in devices.iter().zip(&mut outputs) {
                product.launch(&kernel, device, out);
            }
        }
        for (number, out) in outputs.iter().enumerate() {
            product.check(out, &format!("stream {number}, {}", image.schedule));
        }
    }
}

/// A graph of a few launches.
fn captured(product: &Product, kernel: &CompiledKernel, device: &Device, out: &mut Matrix<bf16>) -> CudaGraph {
    let stream = device.stream().unwrap();
    device.synchronize().unwrap();
    stream.begin_capture(CaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
    for _ in 0..3 {
        product.launch(kernel, device, out);
    }
    let graph = stream.end_capture(GraphFlags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
    graph.unwrap().expect("the capture recorded launches")
}

#[test]
fn graphs_that_replay_at_once_beside_a_stream_have_workspaces_of_their_own() {
    let test = "gpu_shared_tiles::graphs_that_replay_at_once_beside_a_stream_have_workspaces_of_their_own";
    let Some(first) = gpu(test) else { return };
    let product = Product::new(&first, SHAPES[1], 9);
    for (image, kernel) in loaded(&first) {
        let devices: Vec<Device> = (0..3).map(|_| first.with_new_stream().unwrap()).collect();
        let mut outputs: Vec<Matrix<bf16>> = devices.iter().map(|device| product.output(device)).collect();
        let [on_stream, in_graphs @ ..] = &mut outputs[..] else { unreachable!("there are three") };
        let graphs: Vec<CudaGraph> =
            devices[1..].iter().zip(in_graphs).map(|(device, out)| captured(&product, &kernel, device, out)).collect();
        for _ in 0..30 {
            graphs.iter().for_each(|graph| graph.launch().unwrap());
            product.launch(&kernel, &devices[0], on_stream);
        }
        devices.iter().for_each(|device| device.synchronize().unwrap());
        for (number, out) in outputs.iter().enumerate() {
            product.check(out, &format!("output {number}, {}", image.schedule));
        }
    }
}

#[test]
fn a_captured_launch_is_one_node_and_its_graph_is_never_at_work_twice() {
    let test = "gpu_shared_tiles::a_captured_launch_is_one_node_and_its_graph_is_never_at_work_twice";
    let Some(first) = gpu(test) else { return };
    let product = Product::new(&first, SHAPES[1], 13);
    for (image, kernel) in loaded(&first) {
        let device = first.with_new_stream().unwrap();
        let mut out = product.output(&device);
        let graph = captured(&product, &kernel, &device, &mut out);
        let mut nodes = 0;
        // SAFETY: the graph is live, and no other thread uses it.
        unsafe { sys::cuGraphGetNodes(graph.cu_graph(), ptr::null_mut(), &mut nodes) }.result().unwrap();
        assert_eq!(nodes, 3 + 2, "three launches, and what keeps it from being copied: {}", image.schedule);
        // SAFETY: as above.
        let another = unsafe { result::graph::instantiate(graph.cu_graph(), GraphFlags(0)) };
        assert!(another.is_err(), "both would have one workspace: {}", image.schedule);
        let mut clone = ptr::null_mut();
        // SAFETY: as above.
        let cloned = unsafe { sys::cuGraphClone(&mut clone, graph.cu_graph()) }.result();
        assert!(cloned.is_err(), "and a clone too: {}", image.schedule);
        graph.launch().unwrap();
        product.check(&out, image.schedule);
    }
}

#[test]
fn memory_of_graphs_that_are_gone_serves_the_next_ones() {
    let Some(first) = gpu("gpu_shared_tiles::memory_of_graphs_that_are_gone_serves_the_next_ones") else { return };
    let product = Product::new(&first, SHAPES[0], 15);
    for (image, kernel) in loaded(&first) {
        let device = first.with_new_stream().unwrap();
        let mut out = product.output(&device);
        let context = device.stream().unwrap().context().clone();
        let mut free = Vec::new();
        for round in 0..60 {
            let graph = captured(&product, &kernel, &device, &mut out);
            graph.launch().unwrap();
            if round % 2 == 0 {
                product.check(&out, &format!("round {round}, {}", image.schedule));
            }
            drop(graph); // at times while it is at work
            free.push(context.mem_get_info().unwrap().0);
        }
        device.synchronize().unwrap();
        let lost = free[9].saturating_sub(free[59]);
        assert!(lost < 40 << 20, "fifty graphs later {lost} bytes are missing: {}", image.schedule);
    }
}

#[test]
fn a_stream_that_is_dropped_with_work_under_way_frees_its_workspace_behind_it() {
    let test = "gpu_shared_tiles::a_stream_that_is_dropped_with_work_under_way_frees_its_workspace_behind_it";
    let Some(first) = gpu(test) else { return };
    let product = Product::new(&first, SHAPES[0], 11);
    first.synchronize().unwrap();
    for (image, kernel) in loaded(&first) {
        for round in 0..20 {
            let device = first.with_new_stream().unwrap();
            let stream = Arc::downgrade(device.stream().unwrap());
            let mut out = product.output(&device);
            product.launch(&kernel, &device, &mut out);
            product.check(&out, &format!("round {round}, {}", image.schedule));
            drop((device, out));
            assert!(stream.strong_count() > 0, "its workspace holds it until another stream asks for one");
        }
    }
}
