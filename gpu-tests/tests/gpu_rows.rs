//! Row-wise kernels on random shapes, wherever their operands lie.
//!
//! `AUTOKERNEL_CASES` sets how many shapes each kernel gets (12), `AUTOKERNEL_SEED` draws others, and `AUTOKERNEL_PROCESSES` processes
//! share them.

use autokernel_codegen::rows::Schedule;
use gpu_tests::place::Place;
use gpu_tests::rows::{self, GPU, IMAGES};
use gpu_tests::{settings, skip};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

/// Widths at which something changes: vectors, stretches, the lengths that transformers have.
const WIDTHS: [usize; 16] = [1, 3, 7, 8, 9, 255, 256, 257, 1000, 1024, 2047, 4096, 4099, 8192, 16_385, 65_537];

#[test]
fn every_body_type_and_schedule_is_right_wherever_its_operands_lie() {
    let test = "every_body_type_and_schedule_is_right_wherever_its_operands_lie";
    let Some(device) = skip::gpu(test) else { return };
    if IMAGES.is_empty() {
        return skip::log(
            test,
            "there was no nvcc when this was built, or it is a dev build from a machine without a GPU",
        );
    }
    let gpu = device.info().unwrap().compute_capability;
    if gpu != GPU {
        return skip::log(test, &format!("the images are for {GPU}, the GPU is {gpu}"));
    }
    let (cases, seed) = (settings::number("AUTOKERNEL_CASES", 12), settings::number("AUTOKERNEL_SEED", 1));
    let mut rng = StdRng::seed_from_u64(seed);
    let (mut drawn, mut checked) = (0, 0);
    for image in IMAGES {
        let kernel = image.load(&device).unwrap();
        assert_eq!(kernel.kernel.resources().unwrap().local_bytes, 0, "{} {}", image.name, kernel.schedule);
        for case in 0..cases {
            let columns = *WIDTHS.choose(&mut rng).unwrap();
            let rows = rng.random_range(1..=(100_000 / columns).clamp(1, 70));
            // Of blocks that stay on a whole GPU also so many short rows that each takes several.
            let is_ring = matches!(kernel.schedule, Schedule::Sm90(_)) && case % 4 == 0;
            let (rows, columns) =
                if is_ring { (rng.random_range(700..1500), 8 * (1 + columns % 8)) } else { (rows, columns) };
            let mut places = StdRng::seed_from_u64(seed ^ case);
            let place = |rows, columns| match case % 3 {
                0 => Place::dense(rows, columns),
                _ => Place::random(&mut places, rows, columns),
            };
            drawn += 1;
            if !settings::is_of_this_process(drawn) {
                continue;
            }
            let checking = rows::check(&device, &kernel, rows, columns, seed + case, place);
            checking.unwrap_or_else(|report| panic!("{} {} by {}: {report}", image.name, image.dtype, kernel.schedule));
            checked += 1;
        }
    }
    println!("{checked} problems of {} kernels are right", IMAGES.len());
}
