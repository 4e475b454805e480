//! What measurements of many schedules begin with: kernels that are compiled when they run, and random numbers.

use autokernel::{CompiledKernel, Device, Image, bf16};
use autokernel_codegen::matmul::emit;
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::schedule::Schedule;
use autokernel_codegen::product::Problem;
use gpu_tests::settings;
use gpu_tests::timed::Drawn;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::compiler::compiler;
use crate::images;

/// A schedule with its launch plan and cubin.
pub type Compiled = images::Compiled<Schedule>;

/// `problem` by each of `schedules` that compiles. Images are kept in `AUTOKERNEL_CACHE_DIR`, or in `folder`.
pub fn compile(problem: &Problem, schedules: Vec<Schedule>, folder: &str) -> Vec<Compiled> {
    images::compile(&compiler(folder).unwrap(), schedules, |schedule| emit::kernel(problem, schedule))
}

/// The kernels of `problem` that were compiled, on `device`.
pub fn load(device: &Device, problem: &Problem, compiled: &[Compiled]) -> Vec<(Schedule, CompiledKernel)> {
    compiled.iter().map(|image| (image.0, images::load(device, &signature(problem), image))).collect()
}

/// The kernel of `problem` by `schedule` on `device`, from the one of `images` that differs in knobs of a launch alone; none where there is
/// none, as builds leave out what spills.
pub fn load_as(device: &Device, problem: &Problem, images: &[Compiled], schedule: &Schedule) -> Option<CompiledKernel> {
    let plain = |schedule: &Schedule| autokernel_codegen::schedule::Schedule::from(*schedule).image();
    let (_, _, cubin) = images.iter().find(|(image, ..)| plain(image) == plain(schedule))?;
    let (_, plan) = emit::kernel(problem, schedule);
    // SAFETY: the image was compiled from the source that is emitted with this plan, which knobs of a launch do not change.
    Some(unsafe { CompiledKernel::load(device, &signature(problem), &plan, Image::Cubin(cubin)) }.unwrap())
}

/// Uniform numbers from -1 to 1, with which operands are filled over and over.
pub fn drawn() -> Vec<bf16> {
    Drawn::uniform(5).numbers().to_vec()
}

/// Where groups begin, and where the last one ends, by `AUTOKERNEL_SEED`. Drawn ones are as the loads of experts are: a few are large, and some are empty.
pub fn offsets(groups: usize, mean: usize, is_drawn: bool) -> Vec<i32> {
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 9));
    let mut sizes = vec![mean; groups];
    if is_drawn {
        let weights: Vec<f64> = (0..groups).map(|rank| 1.0 / (1.0 + rank as f64)).collect();
        let total: f64 = weights.iter().sum();
        sizes = weights.iter().map(|weight| (weight / total * (groups * mean) as f64) as usize).collect();
        for at in (1..groups).rev() {
            sizes.swap(at, rng.random_range(0..=at));
        }
        (0..groups / 8).for_each(|_| sizes[rng.random_range(0..groups)] = 0);
    }
    let mut begin = 0;
    let ends = sizes.into_iter().map(|size| {
        begin += size as i32;
        begin
    });
    [0].into_iter().chain(ends).collect()
}
