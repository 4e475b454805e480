//! What can go wrong on a GPU: each mistake has its typed error, and nothing is written.

use std::borrow::Cow;

use autokernel::{
    Arch, CompiledKernel, Device, Dtype, Error, Features, Geometry, Image, Kernel, KernelDescriptor, Matrix,
    MatrixView, Shape, Variant, bf16, f16,
};
use gpu_tests::kernels::{bf16_nn, f32_out, known};
use gpu_tests::skip;

/// The GPU, if the kernels of these tests can run on it.
fn gpu(test: &str) -> Option<Device> {
    let device = skip::gpu(test)?;
    match &bf16_nn::relu::KERNEL.descriptor().not_compiled {
        Some(reason) => {
            skip::log(test, reason);
            None
        }
        None => Some(device),
    }
}

fn zeros<T: autokernel::Element>(device: &Device, rows: usize, columns: usize) -> Matrix<T> {
    Matrix::zeros(device, rows, columns).unwrap()
}

/// The PTX of the first variant, which is for sm_80 and loads on every GPU.
fn first_variant() -> &'static Variant {
    &bf16_nn::relu::KERNEL.descriptor().variants[0]
}

fn load(device: &Device, geometry: &Geometry, symbol: &str, image: Image<'_>) -> Result<CompiledKernel, Error> {
    let problem = &bf16_nn::relu::KERNEL.descriptor().problem;
    // SAFETY: the images of these tests are the descriptor's own, or are refused before anything is launched.
    unsafe { CompiledKernel::load(device, problem, geometry, symbol, image) }
}

#[test]
fn a_gpu_that_is_not_there_is_refused_with_the_number_there_are() {
    if gpu("gpu_errors::a_gpu_that_is_not_there_is_refused_with_the_number_there_are").is_none() {
        return;
    }
    let found = Device::gpu_count().unwrap();
    assert!(
        matches!(Device::new(found), Err(Error::NoDevice { ordinal, found: seen }) if ordinal == found && seen == found)
    );
}

#[test]
fn matrices_of_different_devices_are_refused() {
    let Some(device) = gpu("gpu_errors::matrices_of_different_devices_are_refused") else { return };
    let (a, b) = (zeros::<bf16>(&device, 4, 8), zeros::<bf16>(&Device::cpu(), 8, 4));
    let mut out = zeros::<bf16>(&device, 4, 4);
    assert!(matches!(bf16_nn::relu(&a, &b, &mut out), Err(Error::DeviceMismatch { .. })));
    let mut on_cpu = zeros::<bf16>(&Device::cpu(), 4, 4);
    let b = zeros::<bf16>(&device, 8, 4);
    assert!(matches!(bf16_nn::relu(&a, &b, &mut on_cpu), Err(Error::DeviceMismatch { .. })));
}

#[test]
fn shapes_that_do_not_fit_are_refused_and_nothing_is_written() {
    let Some(device) = gpu("gpu_errors::shapes_that_do_not_fit_are_refused_and_nothing_is_written") else { return };
    let ones = [bf16::ONE; 64];
    let a = Matrix::from_slice(&device, &ones[..32], 4, 8).unwrap();
    let b = Matrix::from_slice(&device, &ones[..28], 7, 4).unwrap();
    let mut out = zeros::<bf16>(&device, 4, 4);
    assert!(matches!(bf16_nn::relu(&a, &b, &mut out), Err(Error::ShapeMismatch { a: (4, 8), b: (7, 4), .. })));
    assert!(out.to_vec().unwrap().iter().all(|&value| value == bf16::ZERO));
}

#[test]
fn another_dimension_than_the_compiled_one_is_refused() {
    let Some(device) = gpu("gpu_errors::another_dimension_than_the_compiled_one_is_refused") else { return };
    let (a, b) = (zeros::<bf16>(&device, 4, 136), zeros::<bf16>(&device, 136, 512));
    let refused = known::n_and_k(&a, &b, &mut zeros(&device, 4, 512));
    assert!(matches!(refused, Err(Error::KnownDimension { extent: "n", known: 520, given: 512, .. })));
    let refused = known::n_and_k::KERNEL.prepare(&device, Shape::new(4, 520, 128));
    assert!(matches!(refused, Err(Error::KnownDimension { extent: "k", known: 136, given: 128, .. })));
}

#[test]
fn more_rows_than_a_kernel_counts_are_refused() {
    let Some(device) = gpu("gpu_errors::more_rows_than_a_kernel_counts_are_refused") else { return };
    let rows = Shape::MAX_EXTENT as usize + 1;
    let (a, b) = (zeros::<bf16>(&device, rows, 0), zeros::<bf16>(&device, 0, 0));
    let refused = bf16_nn::relu(&a, &b, &mut zeros(&device, rows, 0));
    assert!(matches!(refused, Err(Error::TooLarge { what: "M", .. })), "{refused:?}");
}

#[test]
fn memory_that_the_gpu_does_not_have_is_refused_with_the_bytes() {
    let Some(device) = gpu("gpu_errors::memory_that_the_gpu_does_not_have_is_refused_with_the_bytes") else { return };
    let refused = Matrix::<f32>::zeros(&device, 1 << 22, 1 << 22);
    assert!(matches!(refused, Err(Error::OutOfMemory { bytes, .. }) if bytes == 1 << 46), "{refused:?}");
    // The device is still usable.
    zeros::<f32>(&device, 8, 8).to_vec().unwrap();
}

#[test]
fn views_outside_a_slice_are_refused() {
    let Some(device) = gpu("gpu_errors::views_outside_a_slice_are_refused") else { return };
    let slice = device.stream().unwrap().alloc_zeros::<bf16>(100).unwrap();
    let view = |rows, columns, ld| MatrixView::from_cudarc_with_ld(slice.as_view(), rows, columns, ld);
    assert!(view(10, 10, 10).is_ok());
    assert!(matches!(view(10, 10, 11), Err(Error::BufferSize { len: 100, .. })));
    assert!(matches!(view(10, 10, 9), Err(Error::LeadingDimension { columns: 10, ld: 9 })));
    assert!(matches!(view(10, 10, 10).unwrap().rows(8..11), Err(Error::OutOfRange { axis: "rows", .. })));
}

#[test]
fn a_kernel_without_images_says_how_to_get_them() {
    let Some(device) = gpu("gpu_errors::a_kernel_without_images_says_how_to_get_them") else { return };
    let built = bf16_nn::relu::KERNEL.descriptor();
    let reason = Some(Cow::Borrowed("there was no nvcc; install the CUDA toolkit"));
    let without = KernelDescriptor { variants: Cow::Borrowed(&[]), not_compiled: reason, ..built.clone() };
    // SAFETY: there are no images.
    let kernel = unsafe { Kernel::<bf16, bf16>::new(without) };
    let refused = kernel.launch(&zeros(&device, 2, 2), &zeros(&device, 2, 2), &mut zeros(&device, 2, 2));
    let error = refused.unwrap_err();
    assert!(matches!(error, Error::NotCompiled { .. }) && error.to_string().contains("install"), "{error}");
}

#[test]
fn a_kernel_for_another_gpu_names_what_it_was_compiled_for() {
    let Some(device) = gpu("gpu_errors::a_kernel_for_another_gpu_names_what_it_was_compiled_for") else { return };
    let built = bf16_nn::relu::KERNEL.descriptor();
    let elsewhere = Variant { arch: Arch::new(8, 7, Features::Specific), ..first_variant().clone() };
    let descriptor = KernelDescriptor { variants: Cow::Owned(vec![elsewhere]), ..built.clone() };
    // SAFETY: the image and its geometry are the built kernel's own.
    let kernel = unsafe { Kernel::<bf16, bf16>::new(descriptor) };
    let refused = kernel.plan(&device, Shape::new(2, 2, 2));
    assert!(matches!(&refused, Err(Error::WrongArch { compiled_for, .. }) if compiled_for == "sm_87a"), "{refused:?}");
}

#[test]
fn images_that_are_none_are_refused() {
    let Some(device) = gpu("gpu_errors::images_that_are_none_are_refused") else { return };
    let Variant { geometry, symbol, ptx, .. } = first_variant();
    let is_image_error = |refused: Result<CompiledKernel, Error>| matches!(refused, Err(Error::Image { .. }));
    assert!(is_image_error(load(&device, geometry, symbol, Image::Cubin(b"not an ELF file"))));
    assert!(is_image_error(load(&device, geometry, symbol, Image::Ptx(b""))));
    assert!(is_image_error(load(&device, geometry, "another_symbol", Image::Ptx(ptx))));
    let garbage = load(&device, geometry, symbol, Image::Ptx(b"this is no PTX"));
    assert!(matches!(garbage, Err(Error::Cuda { .. })), "{garbage:?}");
}

#[test]
fn geometries_that_cannot_be_launched_are_refused() {
    let Some(device) = gpu("gpu_errors::geometries_that_cannot_be_launched_are_refused") else { return };
    let Variant { geometry, symbol, ptx, .. } = first_variant();
    for broken in [
        Geometry { threads: 2048, ..*geometry },
        Geometry { shared_bytes: 1 << 20, ..*geometry },
        Geometry { tile_n: 0, ..*geometry },
    ] {
        let refused = load(&device, &broken, symbol, Image::Ptx(ptx));
        assert!(matches!(refused, Err(Error::Geometry { .. })), "{refused:?}");
    }
}

#[test]
fn a_compiled_kernel_is_refused_on_the_cpu_and_with_other_types() {
    let Some(device) = gpu("gpu_errors::a_compiled_kernel_is_refused_on_the_cpu_and_with_other_types") else { return };
    let Variant { geometry, symbol, ptx, .. } = first_variant();
    assert!(matches!(load(&Device::cpu(), geometry, symbol, Image::Ptx(ptx)), Err(Error::NeedsGpu { .. })));
    let kernel = load(&device, geometry, symbol, Image::Ptx(ptx)).unwrap();
    let half = |rows, columns| zeros::<f16>(&device, rows, columns);
    let refused = kernel.launch(&half(4, 4), &half(4, 4), &mut half(4, 4));
    assert!(
        matches!(refused, Err(Error::DtypeMismatch { expected: Dtype::Bf16, given: Dtype::F16, .. })),
        "{refused:?}"
    );
    let cpu = Device::cpu();
    let (a, b) = (zeros::<bf16>(&cpu, 4, 4), zeros::<bf16>(&cpu, 4, 4));
    assert!(matches!(kernel.launch(&a, &b, &mut zeros::<bf16>(&cpu, 4, 4)), Err(Error::NeedsGpu { .. })));
}

#[test]
fn a_loaded_kernel_reports_no_local_memory() {
    let Some(device) = gpu("gpu_errors::a_loaded_kernel_reports_no_local_memory") else { return };
    let variants = [bf16_nn::relu::KERNEL.descriptor(), f32_out::bf16_nn::KERNEL.descriptor()];
    for descriptor in variants {
        for variant in descriptor.variants.iter() {
            let Some(image) = variant.image_for(device.info().unwrap().compute_capability) else { continue };
            let Variant { geometry, symbol, .. } = variant;
            // SAFETY: the image, its problem and its geometry are of one descriptor.
            let kernel = unsafe { CompiledKernel::load(&device, &descriptor.problem, geometry, symbol, image) };
            let resources = kernel.unwrap().resources().unwrap();
            assert_eq!(resources.local_bytes, 0, "{symbol}: {resources:?}");
            assert!(resources.blocks_per_sm > 0, "{symbol}: {resources:?}");
        }
    }
}
