//! What can go wrong on a GPU: each mistake has its typed error, and nothing is written.

use autokernel::__private::matmul_on_cpu;
use autokernel::{
    Arch, CompiledKernel, CpuFunction, Device, Dtype, Error, Features, Image, Kernel, KernelDescriptor, KernelVariant,
    LaunchPlan, MAX_EXTENT, Matrix, MatrixView, bf16, f16, image_for, matmul, symbol,
};
use gpu_tests::kernels::{bf16_nn, f32_out, known};
use gpu_tests::skip;

/// The GPU, if the kernels of these tests can run on it.
fn gpu(test: &str) -> Option<Device> {
    let device = skip::gpu(test)?;
    match &built().not_compiled {
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

/// What was built of the kernel of these tests.
fn built() -> &'static KernelDescriptor {
    bf16_nn::relu::KERNEL.descriptor().unwrap()
}

const ON_CPU: CpuFunction = |arguments| {
    let relu = |sums: &mut [f32]| sums.iter_mut().for_each(|sum| *sum = bf16_nn::relu::epilogue(*sum));
    matmul_on_cpu(arguments, matmul::Layout::Nn, relu)
};

/// The plan and the PTX of the first variant, which is for sm_80 and loads on every GPU.
fn first_variant() -> (&'static LaunchPlan, &'static [u8]) {
    let variant = &built().variants[0];
    (&variant.plan, variant.image.unwrap().ptx)
}

fn load(device: &Device, plan: &LaunchPlan, image: Image<'_>) -> Result<CompiledKernel, Error> {
    // SAFETY: the images of these tests are the descriptor's own, or are refused before anything is launched.
    unsafe { CompiledKernel::load(device, &built().signature, plan, image) }
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
    assert!(matches!(bf16_nn::relu(&a, &b, &mut out), Err(Error::ShapeMismatch { sizes: (8, 7), .. })));
    assert!(out.to_vec().unwrap().iter().all(|&value| value == bf16::ZERO));
}

#[test]
fn another_dimension_than_the_compiled_one_is_refused() {
    let Some(device) = gpu("gpu_errors::another_dimension_than_the_compiled_one_is_refused") else { return };
    let (a, b) = (zeros::<bf16>(&device, 4, 136), zeros::<bf16>(&device, 136, 512));
    let refused = known::n_and_k(&a, &b, &mut zeros(&device, 4, 512));
    assert!(matches!(refused, Err(Error::KnownDimension { dim, known: 520, given: 512, .. }) if dim == "n"));
    let refused = known::n_and_k::KERNEL.prepare(&device, &matmul::extents(4, 520, 128));
    assert!(matches!(refused, Err(Error::KnownDimension { dim, known: 136, given: 128, .. }) if dim == "k"));
}

#[test]
fn more_rows_than_a_kernel_counts_are_refused() {
    let Some(device) = gpu("gpu_errors::more_rows_than_a_kernel_counts_are_refused") else { return };
    let rows = MAX_EXTENT as usize + 1;
    let (a, b) = (zeros::<bf16>(&device, rows, 0), zeros::<bf16>(&device, 0, 0));
    let refused = bf16_nn::relu(&a, &b, &mut zeros(&device, rows, 0));
    assert!(matches!(&refused, Err(Error::TooLarge { what, .. }) if what.contains("`m`")), "{refused:?}");
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
    let reason = Some("there was no nvcc; install the CUDA toolkit".to_owned());
    let without = KernelDescriptor { variants: Vec::new(), not_compiled: reason, ..built().clone() };
    // SAFETY: there are no images.
    let kernel = unsafe { Kernel::<bf16, bf16>::from_descriptor(without, ON_CPU) };
    let refused = kernel.launch(&zeros(&device, 2, 2), &zeros(&device, 2, 2), &mut zeros(&device, 2, 2));
    let error = refused.unwrap_err();
    assert!(matches!(error, Error::NotCompiled { .. }) && error.to_string().contains("install"), "{error}");
}

#[test]
fn a_kernel_for_another_gpu_names_what_it_was_compiled_for() {
    let Some(device) = gpu("gpu_errors::a_kernel_for_another_gpu_names_what_it_was_compiled_for") else { return };
    let elsewhere = KernelVariant { arch: Arch::new(8, 7, Features::Specific), ..built().variants[0].clone() };
    let descriptor = KernelDescriptor { variants: vec![elsewhere], ..built().clone() };
    // SAFETY: the image and its plan are the built kernel's own.
    let kernel = unsafe { Kernel::<bf16, bf16>::from_descriptor(descriptor, ON_CPU) };
    let refused = kernel.plan(&device, &matmul::extents(2, 2, 2));
    assert!(matches!(&refused, Err(Error::WrongArch { compiled_for, .. }) if compiled_for == "sm_87a"), "{refused:?}");
}

#[test]
fn images_that_are_none_are_refused() {
    let Some(device) = gpu("gpu_errors::images_that_are_none_are_refused") else { return };
    let (plan, ptx) = first_variant();
    let is_image_error = |refused: Result<CompiledKernel, Error>| matches!(refused, Err(Error::Image { .. }));
    assert!(is_image_error(load(&device, plan, Image::Cubin(b"not an ELF file"))));
    assert!(is_image_error(load(&device, plan, Image::Ptx(b""))));
    let mut renamed = plan.clone();
    renamed.kernels[0].symbol = "another_symbol".to_owned();
    assert!(is_image_error(load(&device, &renamed, Image::Ptx(ptx))));
    let garbage = load(&device, plan, Image::Ptx(b"this is no PTX"));
    assert!(matches!(garbage, Err(Error::Cuda { .. })), "{garbage:?}");
}

#[test]
fn plans_that_cannot_be_carried_out_are_refused() {
    let Some(device) = gpu("gpu_errors::plans_that_cannot_be_carried_out_are_refused") else { return };
    let (plan, ptx) = first_variant();
    let changes: [fn(&mut LaunchPlan); 3] = [
        |plan| plan.kernels[0].threads = 2048,
        |plan| plan.kernels[0].shared_bytes = 1 << 20,
        |plan| plan.kernels[0].grid.axes[1].step = 0,
    ];
    for change in changes {
        let mut broken = plan.clone();
        change(&mut broken);
        let refused = load(&device, &broken, Image::Ptx(ptx));
        assert!(matches!(refused, Err(Error::Plan { .. })), "{refused:?}");
    }
}

#[test]
fn knobs_of_another_kernel_are_refused() {
    let Some(device) = gpu("gpu_errors::knobs_of_another_kernel_are_refused") else { return };
    let (plan, ptx) = first_variant();
    let mut kernel = load(&device, plan, Image::Ptx(ptx)).unwrap();
    let mut other = plan.clone();
    other.set_knob("raster_group", 3);
    // SAFETY: every group of at least one tile is one that the kernel takes.
    unsafe { kernel.take_knobs(&other) }.unwrap();
    assert_eq!(kernel.plan(), &other);
    other.kernels[0].threads *= 2;
    // SAFETY: as above.
    assert!(matches!(unsafe { kernel.take_knobs(&other) }, Err(Error::Plan { .. })));
}

#[test]
fn a_compiled_kernel_is_refused_on_the_cpu_and_with_other_types() {
    let Some(device) = gpu("gpu_errors::a_compiled_kernel_is_refused_on_the_cpu_and_with_other_types") else { return };
    let (plan, ptx) = first_variant();
    assert!(matches!(load(&Device::cpu(), plan, Image::Ptx(ptx)), Err(Error::NeedsGpu { .. })));
    let kernel = load(&device, plan, Image::Ptx(ptx)).unwrap();
    let half = |rows, columns| zeros::<f16>(&device, rows, columns);
    let (a, mut out) = (half(4, 4), half(4, 4));
    let refused = kernel.launch(&device, &mut [(&a).into(), (&a).into(), (&mut out).into()]);
    assert!(
        matches!(refused, Err(Error::DtypeMismatch { expected: Dtype::Bf16, given: Dtype::F16, .. })),
        "{refused:?}"
    );
    let cpu = Device::cpu();
    let (a, mut out) = (zeros::<bf16>(&cpu, 4, 4), zeros::<bf16>(&cpu, 4, 4));
    let refused = kernel.launch(&cpu, &mut [(&a).into(), (&a).into(), (&mut out).into()]);
    assert!(matches!(refused, Err(Error::NeedsGpu { .. })), "{refused:?}");
}

#[test]
fn a_loaded_kernel_reports_no_local_memory() {
    let Some(device) = gpu("gpu_errors::a_loaded_kernel_reports_no_local_memory") else { return };
    let gpu = device.info().unwrap().compute_capability;
    for descriptor in [built(), f32_out::bf16_nn::KERNEL.descriptor().unwrap()] {
        for variant in &descriptor.variants {
            let Some(image) = image_for(variant, gpu) else { continue };
            // SAFETY: the image, its signature and its plan are of one descriptor.
            let kernel = unsafe { CompiledKernel::load(&device, &descriptor.signature, &variant.plan, image) };
            let resources = kernel.unwrap().resources().unwrap();
            assert_eq!(resources.local_bytes, 0, "{}: {resources:?}", symbol(&variant.plan));
            assert!(resources.blocks_per_sm > 0, "{}: {resources:?}", symbol(&variant.plan));
        }
    }
}
