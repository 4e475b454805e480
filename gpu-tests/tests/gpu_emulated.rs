//! The same PTX on the same inputs, on the GPU and emulated: every compiled variant of every declared kernel.
//!
//! `AUTOKERNEL_EMULATED_ROUNDS` sets how often (2), `AUTOKERNEL_SEED` draws other shapes.

use autokernel::{
    CompiledKernel, Device, EmulatedKernel, Emulation, KernelDescriptor, KernelVariant, image_for, matmul,
};
use gpu_tests::agreement::{Agreement, compare};
use gpu_tests::check::{Case, Launch};
use gpu_tests::host::Values;
use gpu_tests::kernels::{Declared, catalogue, shipped};
use gpu_tests::place::Place;
use gpu_tests::{settings, shapes, skip};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// One variant, loaded on both.
struct Twins {
    real: CompiledKernel,
    emulated: EmulatedKernel,
    emulation: Emulation,
}

/// Every variant of a kernel that runs on `device`; none without images.
fn twins(device: &Device, descriptor: &KernelDescriptor) -> Vec<Twins> {
    let gpu = device.info().unwrap().compute_capability;
    let load = |variant: &KernelVariant| {
        let image = image_for(variant, gpu)?;
        let (signature, plan) = (&descriptor.signature, &variant.plan);
        // SAFETY: the descriptor was emitted by autokernel's build together with its images.
        let real = unsafe { CompiledKernel::load(device, signature, plan, image) }.unwrap();
        let emulation = Emulation::new(variant.arch);
        let ptx = variant.image.unwrap().ptx;
        let emulated = EmulatedKernel::load(&emulation, signature, plan, ptx).unwrap();
        Some(Twins { real, emulated, emulation })
    };
    descriptor.variants.iter().filter_map(load).collect()
}

#[test]
fn integers_come_out_with_the_same_bits_and_anything_else_within_the_rounding_of_its_sums() {
    let test = "gpu_emulated::integers_come_out_with_the_same_bits_and_anything_else_within_the_rounding_of_its_sums";
    let Some(device) = skip::gpu(test) else { return };
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 41));
    let (mut problems, mut integers, mut uniform) = (0, Agreement::default(), Agreement::default());
    for _ in 0..settings::number("AUTOKERNEL_EMULATED_ROUNDS", 2) {
        for kernel in catalogue().into_iter().chain(shipped()) {
            for twins in twins(&device, kernel.descriptor()) {
                let values = if kernel.is_exact_on_integers() { Values::Integers } else { Values::Uniform };
                let agreement = run(&device, &kernel, &twins, values, &mut rng);
                let sum = if values == Values::Integers { &mut integers } else { &mut uniform };
                (*sum, problems) = (sum.and(agreement), problems + 1);
            }
        }
    }
    println!("{test}: {problems} problems; integers {integers:?}, random data {uniform:?}");
    assert_eq!(integers.elements, integers.same);
}

fn run(device: &Device, kernel: &Declared, twins: &Twins, values: Values, rng: &mut StdRng) -> Agreement {
    let problem = &kernel.problem();
    let extents = matmul::extents(rng.random_range(1..=150), rng.random_range(1..=150), rng.random_range(0..=200));
    let shape = shapes::with_known(&extents, problem);
    let placements = shapes::placements(&shape, problem, |rows, columns| Place::random(rng, rows, columns));
    let case = Case { device, problem, epilogue: &kernel.epilogue, shape, placements, seed: rng.random() };
    let real: Launch<'_> = Box::new(|device, arguments| twins.real.launch(device, arguments));
    let emulated: Launch<'_> = Box::new(|_, arguments| twins.emulated.launch(arguments).map(drop));
    let there = Device::emulated_with(twins.emulation.clone()).unwrap();
    compare(&case, &there, values, [&real, &emulated])
        .unwrap_or_else(|report| panic!("{}: {report}", autokernel::symbol(twins.real.plan())))
}
