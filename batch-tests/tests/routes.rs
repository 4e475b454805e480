//! Routing by the way of a user, on the CPU and on emulated GPUs. `AUTOKERNEL_SEED` draws other scores.

use autokernel::{Arch, Device, Emulation, Matrix, bf16};
use batch_tests::routes::{all_of_3, brought_back, catalogue, six_of_64};
use gpu_tests::{settings, skip};

fn check(device: &Device, tokens: &[usize]) {
    let seed = settings::number("AUTOKERNEL_SEED", 3);
    for routing in catalogue() {
        for (number, &tokens) in (seed..).zip(tokens) {
            (routing.check)(device, tokens, number)
                .unwrap_or_else(|reason| panic!("{}, {tokens} tokens, {device}: {reason}", routing.name));
        }
    }
}

#[test]
fn every_routing_is_computed_on_the_cpu() {
    check(&Device::cpu(), &[0, 1, 31, 33, 500]);
}

#[test]
fn every_routing_is_computed_on_an_emulated_gpu_of_each_arch() {
    if let Some(reason) = &catalogue()[0].kernel.descriptor().unwrap().not_compiled {
        return skip::log("routes::every_routing_is_computed_on_an_emulated_gpu_of_each_arch", reason);
    }
    for arch in [Arch::SM_80, Arch::SM_90A] {
        // Fewer blocks than tiles, as many, and more.
        for sm_count in [2, 7] {
            let emulation = Emulation::new(arch).seed(5).multiprocessors(sm_count);
            check(&Device::emulated_with(emulation).unwrap(), &[0, 1, 32, 75, 170]);
        }
    }
}

#[test]
fn rows_that_experts_made_come_back_to_their_tokens() {
    let mut devices = vec![Device::cpu()];
    match &catalogue()[0].kernel.descriptor().unwrap().not_compiled {
        Some(reason) => eprintln!("skipped on emulated GPUs: {reason}"),
        None => devices.extend([Arch::SM_80, Arch::SM_90A].map(|arch| Device::emulated(arch).unwrap())),
    }
    let (tokens, columns) = (37, 21);
    for device in devices {
        let scores: Vec<f32> = (0..tokens * 3).map(|at| (at * 7 % 11) as f32).collect();
        let scores = Matrix::from_slice(&device, &scores, tokens, 3).unwrap();
        let mut routes = all_of_3::routes(&device, tokens).unwrap();
        all_of_3::launch_on(&device, &scores, &mut routes).unwrap();
        // An expert hands on each token's own elements, so that all weights together give them once more.
        let of_token = |token: usize, column: usize| ((token * 5 + column * 3) % 16) as f32;
        let by_token = |tokens: &mut dyn Iterator<Item = usize>| -> Vec<f32> {
            tokens.flat_map(|token| (0..columns).map(move |column| of_token(token, column))).collect()
        };
        let x = Matrix::from_slice(&device, &by_token(&mut (0..tokens)), tokens, columns).unwrap();
        let order = routes.tokens().to_vec().unwrap();
        let made: Vec<bf16> =
            by_token(&mut order.iter().map(|&token| token as usize)).into_iter().map(bf16::from_f32).collect();
        let made = Matrix::from_slice(&device, &made, 3 * tokens, columns).unwrap();
        let mut out = Matrix::zeros(&device, tokens, columns).unwrap();
        let [row0, row1, row2] = [0, 1, 2].map(|choice| routes.rows(choice).unwrap());
        let [weight0, weight1, weight2] = [0, 1, 2].map(|choice| routes.weights(choice).unwrap());
        brought_back::launch_on(&device, &x, &made, row0, weight0, row1, weight1, row2, weight2, &mut out).unwrap();
        for (x, out) in x.to_vec().unwrap().iter().zip(out.to_vec().unwrap()) {
            assert!((out - 2.0 * x).abs() < 1e-4, "{out}, not twice {x}, on {device}");
        }
    }
}

#[test]
fn routes_of_other_sizes_than_a_routing_are_refused_by_what_differs() {
    let device = Device::cpu();
    let scores = Matrix::<f32>::zeros(&device, 5, 64).unwrap();
    let text = |tokens, experts, top_k| {
        let mut routes = autokernel::Routes::zeros(&device, tokens, experts, top_k).unwrap();
        six_of_64(&scores, &mut routes).unwrap_err().to_string()
    };
    assert!(text(4, 64, 6).contains("`tokens`"), "{}", text(4, 64, 6));
    assert!(text(5, 63, 6).contains("`experts`"), "{}", text(5, 63, 6));
    assert!(text(5, 64, 5).contains("top_k = 6, not 5"), "{}", text(5, 64, 5));
}
