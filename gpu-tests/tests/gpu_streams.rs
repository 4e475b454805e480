//! Launches beside other CUDA work: graphs, streams, threads, and slices that cudarc owns.

use autokernel::cudarc::driver::sys::{CUgraphInstantiate_flags as GraphFlags, CUstreamCaptureMode as CaptureMode};
use autokernel::cudarc::driver::{CudaSlice, DevicePtr};
use autokernel::matmul::{Layout, extents};
use autokernel::timing::{Cache, Timer};
use autokernel::{Device, Error, Extents, Heads, Index, Matrix, MatrixView, MatrixViewMut, Plan, Reason, Scalar, bf16};
use gpu_tests::attention::kernels::counted;
use gpu_tests::bodies::declared::band;
use gpu_tests::host::{HostMatrix, Values};
use gpu_tests::kernels::{bf16_nn, bf16_nt};
use gpu_tests::place::Place;
use gpu_tests::{reference, skip};

/// Dense integers and the exact product of two of them, through a bf16 rounding.
fn dense(rows: usize, columns: usize, seed: u64) -> Vec<bf16> {
    HostMatrix::filled(Place::dense(rows, columns), Values::Integers, seed).elements().collect()
}

fn product(shape: Extents, a: &[bf16], b: &[bf16]) -> Vec<bf16> {
    let wide = |values: &[bf16]| -> Vec<f64> { values.iter().map(|value| value.to_f64()).collect() };
    let sums = reference::product(&shape, Layout::Nn, &wide(a), &wide(b));
    sums.into_iter().map(|sum| bf16::from_f32(sum as f32)).collect()
}

/// A permutation P, so that chained products stay exact: row r of P·X is row (r + 1) of X.
fn rotation(size: usize) -> Vec<bf16> {
    (0..size * size).map(|at| bf16::from_f32(f32::from(at % size == (at / size + 1) % size))).collect()
}

/// The GPU, if these kernels can run on it.
fn gpu(test: &str) -> Option<Device> {
    let device = skip::gpu(test)?;
    match &bf16_nn::identity::KERNEL.descriptor().unwrap().not_compiled {
        Some(reason) => {
            skip::log(test, reason);
            None
        }
        None => Some(device),
    }
}

#[test]
fn a_captured_graph_computes_anew_at_each_replay() {
    let Some(device) = gpu("gpu_streams::a_captured_graph_computes_anew_at_each_replay") else { return };
    let stream = device.stream().unwrap();
    // Aligned rows, and rows that must be realigned through scratch memory within the graph.
    for (m, n, k) in [(256, 192, 128), (100, 77, 53)] {
        let shape = extents(m, n, k);
        let (m, n, k) = (m as usize, n as usize, k as usize);
        let mut a = stream.clone_htod(&dense(m, k, 1)).unwrap();
        let b = Matrix::from_slice(&device, &dense(k, n, 2), k, n).unwrap();
        let mut out = Matrix::<bf16>::zeros(&device, m, n).unwrap();
        bf16_nn::identity::KERNEL.prepare(&device, &shape).unwrap();
        device.synchronize().unwrap();

        stream.begin_capture(CaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
        let launched = MatrixView::from_cudarc(a.as_view(), m, k)
            .and_then(|a| bf16_nn::identity::KERNEL.launch_on(&device, a, &b, &mut out));
        let graph = stream.end_capture(GraphFlags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
        launched.unwrap();
        let graph = graph.unwrap().expect("the capture recorded a launch");

        for seed in 10..13 {
            let values = dense(m, k, seed);
            stream.memcpy_htod(&values, &mut a).unwrap();
            graph.launch().unwrap();
            assert_eq!(out.to_vec().unwrap(), product(shape, &values, &dense(k, n, 2)), "{shape}, seed {seed}");
        }
    }
}

#[test]
fn a_captured_graph_reads_what_a_scalar_holds_when_it_runs() {
    let Some(device) = gpu("gpu_streams::a_captured_graph_reads_what_a_scalar_holds_when_it_runs") else { return };
    let stream = device.stream().unwrap();
    let (size, ones) = (64, [bf16::ONE; 64 * 64]);
    let [a, b] = [(); 2].map(|()| Matrix::from_slice(&device, &ones, size, size).unwrap());
    let mut width = Scalar::new(&device, 0.0f32).unwrap();
    let mut out = Matrix::<f32>::zeros(&device, size, size).unwrap();
    band::KERNEL.prepare(&device, &extents(64, 64, 64)).unwrap();
    device.synchronize().unwrap();

    stream.begin_capture(CaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
    let launched = band::launch(&a, &b, &width, &mut out);
    let graph = stream.end_capture(GraphFlags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
    launched.unwrap();
    let graph = graph.unwrap().expect("the capture recorded a launch");

    for wide in [3usize, 0, 40] {
        width.set(wide as f32).unwrap();
        graph.launch().unwrap();
        let expected = |at: usize| {
            let (row, column) = (at / size, at % size);
            if row.abs_diff(column) <= wide { size as f32 } else { (1000 * row + column) as f32 }
        };
        assert_eq!(out.to_vec().unwrap(), (0..size * size).map(expected).collect::<Vec<_>>(), "a width of {wide}");
    }
}

#[test]
fn a_captured_graph_attends_to_as_many_keys_as_there_are_when_it_runs() {
    let Some(device) = skip::gpu("gpu_streams::a_captured_graph_attends_to_as_many_keys_as_there_are_when_it_runs")
    else {
        return;
    };
    let (stream, dim, capacity) = (device.stream().unwrap(), 128, 2000);
    let q = Heads::<bf16>::zeros(&device, [2, 4, 1, dim]).unwrap();
    let k = Heads::<bf16>::zeros(&device, [2, 1, capacity, dim]).unwrap();
    // Equal weights of zeros and ones in turn: of an even number of keys the mean is one half.
    let values: Vec<bf16> = (0..2 * capacity * dim).map(|at| bf16::from_f32((at / dim % 2) as f32)).collect();
    let v = Heads::from_slice(&device, &values, [2, 1, capacity, dim]).unwrap();
    let mut lengths = Index::from_slice(&device, &[0, 0]).unwrap();
    let mut out = Heads::<bf16>::zeros(&device, [2, 4, 1, dim]).unwrap();
    counted::launch(&q, &k, &v, &lengths, &mut out).unwrap();
    device.synchronize().unwrap();

    stream.begin_capture(CaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
    let launched = counted::launch(&q, &k, &v, &lengths, &mut out);
    let graph = stream.end_capture(GraphFlags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
    launched.unwrap();
    let graph = graph.unwrap().expect("the capture recorded a launch");

    for counts in [[0, 1], [1, 2], [1000, 0], [2000, 64], [130, 2000]] {
        stream.memcpy_htod(&counts, lengths.as_cudarc_mut().unwrap()).unwrap();
        graph.launch().unwrap();
        let got = out.to_vec().unwrap();
        let of_sequence = got.chunks_exact(4 * dim).zip(counts);
        assert!(
            of_sequence.into_iter().all(|(got, count)| {
                let expected = if count < 2 { 0.0 } else { 0.5 };
                got.iter().all(|value| value.to_f32() == expected)
            }),
            "{counts:?}"
        );
    }
}

#[test]
fn a_scalar_that_is_set_inside_of_a_capture_is_set_at_each_replay() {
    let Some(device) = skip::gpu("gpu_streams::a_scalar_that_is_set_inside_of_a_capture_is_set_at_each_replay") else {
        return;
    };
    let stream = device.stream().unwrap();
    let mut number = Scalar::new(&device, bf16::from_f32(1.0)).unwrap();
    device.synchronize().unwrap();
    stream.begin_capture(CaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
    let set = number.set(bf16::from_f32(2.0));
    let graph = stream.end_capture(GraphFlags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
    set.unwrap();
    assert_eq!(number.get().unwrap().to_f32(), 1.0);
    graph.unwrap().expect("the capture recorded a write").launch().unwrap();
    assert_eq!(number.get().unwrap().to_f32(), 2.0);
    number.set(bf16::from_f32(3.0)).unwrap();
    assert_eq!(number.get().unwrap().to_f32(), 3.0);
}

#[test]
fn a_captured_stream_is_not_timed() {
    let Some(device) = gpu("gpu_streams::a_captured_stream_is_not_timed") else { return };
    let stream = device.stream().unwrap();
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    stream.begin_capture(CaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
    let mut launched = 0;
    let timed = timer.time_batch(2, |_| {
        launched += 1;
        Ok(())
    });
    stream.end_capture(GraphFlags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH).unwrap();
    assert!(matches!(timed, Err(Error::Captured { .. })) && launched == 0, "{timed:?}");
    timer.time_batch(2, |_| Ok(())).unwrap();
}

#[test]
fn launches_and_clears_of_one_stream_run_in_order() {
    const STEPS: usize = 50;
    let Some(device) = gpu("gpu_streams::launches_and_clears_of_one_stream_run_in_order") else { return };
    let stream = device.stream().unwrap();
    // Aligned rows, and rows that a kernel of their own realigns before each product.
    for size in [1024, 1027] {
        let values = dense(size, size, 7);
        let p = Matrix::from_slice(&device, &rotation(size), size, size).unwrap();
        let mut from = Matrix::from_slice(&device, &values, size, size).unwrap();
        let mut to = Matrix::zeros(&device, size, size).unwrap();
        for _ in 0..STEPS {
            bf16_nn::identity::KERNEL.launch(&p, &from, &mut to).unwrap();
            stream.memset_zeros(from.as_cudarc_mut().unwrap()).unwrap();
            std::mem::swap(&mut from, &mut to);
        }
        let (first, rest) = values.split_at(STEPS * size);
        assert!(from.to_vec().unwrap() == [rest, first].concat(), "{size}: something ran before what it waits for");
    }
}

#[test]
fn a_stream_waits_for_the_one_that_writes_its_operand() {
    let Some(first) = gpu("gpu_streams::a_stream_waits_for_the_one_that_writes_its_operand") else { return };
    let second = first.with_new_stream().unwrap();
    let size = 1536;
    let shape = extents(size as u32, size as u32, size as u32);
    let a = dense(size, size, 3);
    let rotation = rotation(size);
    let rotated = product(shape, &rotation, &a);

    let (there, p) = (
        Matrix::from_slice(&first, &a, size, size).unwrap(),
        Matrix::from_slice(&first, &rotation, size, size).unwrap(),
    );
    let twice = product(shape, &rotation, &rotated);
    for round in 0..10 {
        let mut between = Matrix::zeros(&first, size, size).unwrap();
        let mut last = Matrix::zeros(&second, size, size).unwrap();
        bf16_nn::identity::KERNEL.launch_on(&first, &p, &there, &mut between).unwrap();
        bf16_nn::identity::KERNEL.launch_on(&second, &p, &between, &mut last).unwrap();
        assert!(last.to_vec().unwrap() == twice, "round {round}: the second stream read too early");
    }
}

#[test]
fn threads_share_a_kernel_that_none_of_them_has_loaded() {
    let Some(device) = gpu("gpu_streams::threads_share_a_kernel_that_none_of_them_has_loaded") else { return };
    std::thread::scope(|scope| {
        for thread in 0..8u32 {
            let device = &device;
            scope.spawn(move || {
                let device = device.with_new_stream().unwrap();
                for round in 0..20 {
                    let (m, n, k) = (33 + 16 * thread, 40 + 8 * round, 72);
                    let shape = extents(m, n, k);
                    let (m, n, k) = (m as usize, n as usize, k as usize);
                    let seed = u64::from(thread * 100 + round);
                    let (a, b) = (dense(m, k, seed), dense(k, n, !seed));
                    let there = |values: &[bf16], rows, columns| Matrix::from_slice(&device, values, rows, columns);
                    let (a_there, b_there) = (there(&a, m, k).unwrap(), there(&b, k, n).unwrap());
                    let mut out = Matrix::zeros(&device, m, n).unwrap();
                    bf16_nn::relu::KERNEL.launch(&a_there, &b_there, &mut out).unwrap();
                    let expected: Vec<bf16> = product(shape, &a, &b)
                        .into_iter()
                        .map(|v| if v < bf16::ZERO { bf16::ZERO } else { v })
                        .collect();
                    assert_eq!(out.to_vec().unwrap(), expected, "thread {thread}, {shape}");
                }
            });
        }
    });
}

#[test]
fn cudarc_slices_go_in_and_come_out_with_no_copy() {
    let Some(device) = gpu("gpu_streams::cudarc_slices_go_in_and_come_out_with_no_copy") else { return };
    let stream = device.stream().unwrap();
    let address = |slice: &CudaSlice<bf16>| slice.device_ptr(stream).0;
    let (a, b) = (dense(48, 32, 4), dense(32, 64, 5));
    let slice = stream.clone_htod(&a).unwrap();
    let before = address(&slice);
    let a_there = Matrix::from_cudarc(slice, 48, 32).unwrap();
    let b_there = stream.clone_htod(&b).unwrap();
    let mut out = stream.alloc_zeros::<bf16>(48 * 64 + 16).unwrap();

    let b_view = MatrixView::from_cudarc(b_there.as_view(), 32, 64).unwrap();
    let out_view = MatrixViewMut::from_cudarc(out.slice_mut(16..), 48, 64).unwrap();
    bf16_nn::identity::KERNEL.launch(&a_there, b_view, out_view).unwrap();

    assert_eq!(stream.clone_dtoh(&out.slice(16..)).unwrap(), product(extents(48, 64, 32), &a, &b));
    assert_eq!(stream.clone_dtoh(&out.slice(..16)).unwrap(), vec![bf16::ZERO; 16]);
    assert_eq!(address(&a_there.into_cudarc().unwrap()), before);
}

#[test]
fn sub_views_of_a_larger_matrix_are_read_and_written_in_place() {
    let Some(device) = gpu("gpu_streams::sub_views_of_a_larger_matrix_are_read_and_written_in_place") else { return };
    let whole = dense(70, 90, 6);
    let a = Matrix::from_slice(&device, &whole, 70, 90).unwrap();
    let mut out = Matrix::<bf16>::zeros(&device, 40, 50).unwrap();
    let x = a.view().rows(3..23).unwrap().columns(5..38).unwrap();
    let w = a.view().rows(40..57).unwrap().columns(11..44).unwrap();
    let mut target = out.view_mut();
    let mut target = target.rows(7..27).unwrap();
    bf16_nt::identity::KERNEL.launch(&x, &w, target.columns(9..26).unwrap()).unwrap();

    let result = out.to_vec().unwrap();
    for (at, value) in result.iter().enumerate() {
        let (row, column) = (at / 50, at % 50);
        let inside = (7..27).contains(&row) && (9..26).contains(&column);
        let sum: f32 = if inside {
            let (x_at, w_at) = ((row - 7 + 3) * 90 + 5, (column - 9 + 40) * 90 + 11);
            (0..33).map(|k| whole[x_at + k].to_f32() * whole[w_at + k].to_f32()).sum()
        } else {
            0.0
        };
        assert_eq!(*value, bf16::from_f32(sum), "({row}, {column})");
    }
}

#[test]
fn an_autotuned_launch_gives_the_product_and_measures_what_is_carried_once() {
    let test = "gpu_streams::an_autotuned_launch_gives_the_product_and_measures_what_is_carried_once";
    let Some(device) = gpu(test) else { return };
    let shape = extents(100, 192, 128);
    let (a, b) = (dense(100, 128, 1), dense(128, 192, 2));
    let on_gpu = |values: &[bf16], rows, columns| Matrix::from_slice(&device, values, rows, columns).unwrap();
    let (left, right) = (on_gpu(&a, 100, 128), on_gpu(&b, 128, 192));
    let mut out = Matrix::<bf16>::zeros(&device, 100, 192).unwrap();
    let kernel = &bf16_nn::identity::KERNEL;
    let told = [(); 2].map(|()| kernel.autotune(&left, &right, &mut out).unwrap().to_string());
    assert_eq!(out.to_vec().unwrap(), product(shape, &a, &b));
    assert_eq!(told[0], told[1], "times would differ if they were measured again");
    assert_eq!(kernel.plan(&device, &shape).unwrap().to_string(), told[0]);
    let ahead = kernel.plan(&device, &extents(101, 192, 128)).unwrap();
    assert!(!matches!(ahead, Plan::Gpu { reason: Reason::Measured { .. }, .. }), "{ahead}");
}

#[test]
fn autotuning_within_a_capture_is_refused_before_anything_is_launched() {
    let test = "gpu_streams::autotuning_within_a_capture_is_refused_before_anything_is_launched";
    let Some(device) = gpu(test) else { return };
    let stream = device.stream().unwrap();
    let matrix = |value: f32| Matrix::from_slice(&device, &[bf16::from_f32(value); 64 * 64], 64, 64).unwrap();
    let (a, b, mut out) = (matrix(1.0), matrix(1.0), matrix(7.0));
    bf16_nn::identity::KERNEL.prepare_all(&device).unwrap();
    device.synchronize().unwrap();
    stream.begin_capture(CaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
    let refused = bf16_nn::identity::KERNEL.autotune(&a, &b, &mut out).map(|plan| plan.to_string());
    drop(stream.end_capture(GraphFlags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    assert!(matches!(refused, Err(Error::Captured { .. })), "{refused:?}");
    assert!(out.to_vec().unwrap().iter().all(|element| element.to_f32() == 7.0));
}
