//! One image at every split of K that a launch may say, on a GPU: exact against fp64, and the same bits at every launch.

use autokernel::matmul::extents;
use autokernel::{CompiledKernel, Device, Extents, Matrix, bf16};
use gpu_tests::host::{HostMatrix, Values};
use gpu_tests::place::Place;
use gpu_tests::shared::{self, Product, SPLIT, images};

/// Few tiles of a long sum, more tiles than multiprocessors, ragged edges, fewer blocks of K than share them, and no K.
const SHAPES: [Extents; 5] = [
    extents(27, 1280, 5120),
    extents(300, 4104, 1000),
    extents(59, 1408, 6143),
    extents(9, 200, 72),
    extents(9, 200, 0),
];
const SPLITS: std::ops::RangeInclusive<i32> = 1..=8;

/// Has later launches of `kernel` split K into so many parts.
fn split_into(kernel: &mut CompiledKernel, parts: i32) {
    let mut plan = kernel.plan().clone();
    plan.set_knob("split_k", parts);
    assert_eq!(i64::from(plan.kernels[0].grid.cluster), i64::from(parts), "the launch has clusters of so many blocks");
    // SAFETY: the rules allow these images every split up to eight.
    unsafe { kernel.take_knobs(&plan) }.unwrap();
}

#[test]
fn one_image_is_exact_at_every_split_of_k() {
    let Some(device) = shared::gpu("gpu_split_k::one_image_is_exact_at_every_split_of_k", SPLIT) else { return };
    let products: Vec<Product> = (0..).zip(SHAPES).map(|(seed, shape)| Product::new(&device, shape, seed)).collect();
    for image in images(SPLIT) {
        let mut kernel = image.load(&device).unwrap();
        for parts in SPLITS {
            split_into(&mut kernel, parts);
            for product in &products {
                for launch in 0..2 {
                    let mut out = product.output(&device);
                    product.launch(&kernel, &device, &mut out);
                    product
                        .check(&out, &format!("{:?} by {} in {parts}, launch {launch}", product.sizes, image.schedule));
                }
            }
        }
    }
}

#[test]
fn every_split_of_k_gives_the_same_bits_at_every_launch() {
    let Some(device) = shared::gpu("gpu_split_k::every_split_of_k_gives_the_same_bits_at_every_launch", SPLIT) else {
        return;
    };
    let (m, n, k) = (59, 1408, 6144);
    let drawn = |rows, columns, seed| {
        let host = HostMatrix::<bf16>::filled(Place::dense(rows, columns), Values::Uniform, seed);
        let values: Vec<bf16> = host.elements().collect();
        Matrix::from_slice(&device, &values, rows, columns).unwrap()
    };
    let (x, w) = (drawn(m, k, 1), drawn(n, k, 2));
    for image in images(SPLIT) {
        let mut kernel = image.load(&device).unwrap();
        for parts in SPLITS {
            split_into(&mut kernel, parts);
            let result = |device: &Device| {
                let mut out = Matrix::<bf16>::zeros(device, m, n).unwrap();
                kernel.launch(device, &mut [(&x).into(), (&w).into(), (&mut out).into()]).unwrap();
                out.to_vec().unwrap()
            };
            let first = result(&device);
            assert!((0..20).all(|_| result(&device) == first), "{} in {parts}", image.schedule);
        }
    }
}
