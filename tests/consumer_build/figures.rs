//! What README promises of a crate's builds, measured on packed crates: `cargo test -p autokernel-cuda --test consumer_build figures --
//! --ignored --nocapture --test-threads 1`, on a machine that does nothing else. What is downloaded is there already.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::consumer::{Consumer, Toolkit};
use crate::packed::{block, on_packages, page, readmes_crate};

const COLD_WITHOUT_NVCC: Duration = Duration::from_secs(40);
const COLD_WITH_NVCC: Duration = Duration::from_secs(60);
const CHECK_AFTER_A_TOUCH: Duration = Duration::from_secs(1);
/// Of a dev build's times over a release build's.
const DEV_OVER_RELEASE: f64 = 2.0;
/// Pairs of runs of both builds, which take turns.
const PAIRS: usize = 7;

#[test]
#[ignore = "a measurement, of a machine that does nothing else"]
fn a_cold_build_without_nvcc_takes_at_most_40_seconds() {
    let Some(toolkit) = Toolkit::none("a_cold_build_without_nvcc") else { return };
    let took = cold("without nvcc", &readmes_crate("cold").alone(), &toolkit);
    assert!(took <= COLD_WITHOUT_NVCC, "{took:?}");
}

#[test]
#[ignore = "a measurement, of a machine that does nothing else"]
fn a_cold_build_of_one_kernel_takes_at_most_60_seconds_and_an_editors_checks_a_second_and_no_nvcc() {
    let Some(toolkit) = Toolkit::counting("a_cold_build_of_one_kernel") else { return };
    let consumer = readmes_crate("cold-with-nvcc").alone();
    let took = cold("with nvcc and one kernel", &consumer, &toolkit);
    println!("{} runs of nvcc", toolkit.runs());
    assert!(took <= COLD_WITH_NVCC, "{took:?}");

    let compiled = toolkit.runs();
    let skipped = [(autokernel_codegen::build::SKIP_NVCC_ENV, "1")];
    let editor = readmes_crate("in-an-editor").alone();
    editor.check(&toolkit, &skipped);
    let program = block(&page("README.md"), "rust", "fn main() -> ");
    let times = (0..PAIRS).map(|touch| {
        editor.write("src/main.rs", &format!("// touched {touch} times\n{program}"));
        let started = Instant::now();
        editor.check(&toolkit, &skipped);
        started.elapsed()
    });
    let slowest = times.max().unwrap();
    println!("a check after a touch, the slowest of {PAIRS}: {:.2} s", slowest.as_secs_f64());
    println!("runs of nvcc with an editor's setting: {}", toolkit.runs() - compiled);
    assert_eq!(toolkit.runs(), compiled);
    assert!(slowest <= CHECK_AFTER_A_TOUCH, "{slowest:?}");
}

/// The seconds of the first `cargo run`.
fn cold(what: &str, consumer: &Consumer, toolkit: &Toolkit) -> Duration {
    let started = Instant::now();
    consumer.run(toolkit);
    let took = started.elapsed();
    println!("cold, {what}: {:.1} s", took.as_secs_f64());
    took
}

/// Products of 1024³ on the CPU: prints the median time of each in ms.
const PRODUCTS: &str = r#"
    use std::time::Instant;
    use autokernel::{Device, Matrix, Result, bf16};

    #[autokernel::matmul(transpose_b)]
    fn plain(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>);

    #[autokernel::fused_matmul(gelu, transpose_b)]
    fn gelu(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>);

    fn main() -> Result<()> {
        let device = Device::cpu();
        let values: Vec<bf16> = (0..1024 * 1024).map(|at| bf16::from_f32((at % 1009 * 7919 % 1000) as f32 / 500.0 - 1.0)).collect();
        let x = Matrix::from_slice(&device, &values, 1024, 1024)?;
        let mut out = Matrix::zeros(&device, 1024, 1024)?;
        let kernels: [fn(&Matrix<bf16>, &Matrix<bf16>, &mut Matrix<bf16>) -> Result<()>; 2] =
            [|x, w, out| plain(x, w, out), |x, w, out| gelu(x, w, out)];
        for kernel in kernels {
            let mut times: Vec<f64> = Vec::new();
            for _ in 0..15 {
                let started = Instant::now();
                kernel(&x, &x, &mut out)?;
                times.push(started.elapsed().as_secs_f64() * 1e3);
            }
            times.sort_by(f64::total_cmp);
            println!("{}", times[times.len() / 2]);
        }
        Ok(())
    }
"#;

#[test]
#[ignore = "a measurement, of a machine that does nothing else"]
fn a_dev_build_with_the_readmes_profile_computes_in_at_most_twice_the_time_of_a_release_build() {
    let Some(toolkit) = Toolkit::none("a_dev_build_with_the_readmes_profile") else { return };
    let readme = page("README.md");
    let dependencies = on_packages(&block(&readme, "toml", "[build-dependencies]"));
    let profile = block(&readme, "toml", "[profile.dev.package");
    let build = block(&readme, "rust", "// build.rs");
    let consumer = Consumer::with("profiled", &format!("{dependencies}\n{profile}"), &build, PRODUCTS);
    let programs = [false, true].map(|is_release| {
        let options: &[&str] = if is_release { &["--release"] } else { &[] };
        consumer.run_with(options, &toolkit);
        consumer.program(is_release)
    });

    let times: [Vec<[f64; 2]>; 2] = {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..PAIRS {
            for (program, times) in programs.iter().zip(&mut times) {
                times.push(medians(&mut Command::new(program)));
            }
        }
        times
    };
    for (kernel, name) in ["plain", "GELU"].into_iter().enumerate() {
        let [dev, release] = times.each_ref().map(|times| median(times.iter().map(|of| of[kernel]).collect()));
        let ratio =
            median(times[0].iter().zip(&times[1]).map(|(dev, release)| dev[kernel] / release[kernel]).collect());
        println!("1024³ bf16 {name}: dev {dev:.1} ms, release {release:.1} ms, {ratio:.2} ×");
        assert!(ratio <= DEV_OVER_RELEASE, "{name}: {ratio}");
    }
}

/// The time of each kernel, as the program prints it.
fn medians(program: &mut Command) -> [f64; 2] {
    let output = program.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    let times: Vec<f64> = printed.lines().map(|line| line.parse().unwrap()).collect();
    times.try_into().unwrap()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
