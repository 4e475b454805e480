//! Products of the CPU backend against the crate `gemm`, by which candle multiplies: `cargo test --release -p autokernel-runtime --test
//! cpu_speed -- --ignored --nocapture`. All ways take turns, so that what else the machine does falls on each of them.

use std::time::Instant;

use autokernel_runtime::__private::{RowEpilogue, along_row, matmul_on_cpu};
use autokernel_runtime::matmul::Layout;
use autokernel_runtime::{Device, Matrix, bf16};
use gemm::Parallelism;

const N: usize = 1024;
const ROUNDS: usize = 60;

#[test]
#[ignore = "a measurement, of a release build"]
fn a_product_in_bf16_takes_at_most_1_3_times_gemms_in_f32_and_gelu_a_tenth_of_it() {
    let values: Vec<f32> = (0..N * N).map(|at| ((at * 7919) % 1000) as f32 / 500.0 - 1.0).collect();
    let narrow: Vec<bf16> = values.iter().copied().map(bf16::from_f32).collect();
    let x = Matrix::from_slice(&Device::cpu(), &narrow, N, N).unwrap();
    let mut out: Matrix<bf16> = Matrix::zeros(&Device::cpu(), N, N).unwrap();
    let mut sums = vec![0f32; N * N];
    let mut product = |layout: Layout, epilogue: RowEpilogue| {
        matmul_on_cpu(&mut [(&x).into(), (&x).into(), (&mut out).into()], layout, epilogue).unwrap();
    };
    let mut taken = [const { Vec::new() }; 6];
    for _ in 0..ROUNDS {
        for (way, taken) in taken.iter_mut().enumerate() {
            let start = Instant::now();
            match way {
                0 => multiply(&values, [N, 1], &mut sums),
                1 => multiply(&values, [1, N], &mut sums),
                2 => product(Layout::Nn, |_| ()),
                3 => product(Layout::Nt, |_| ()),
                4 => product(Layout::Nt, along_row::gelu),
                _ => product(Layout::Nt, along_row::gelu_tanh),
            }
            taken.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    let [gemm_nn, gemm_nt, nn, nt, gelu, gelu_tanh] = taken.each_ref().map(|taken| median(taken.clone()));
    println!(
        "median of {ROUNDS} rounds, ms: gemm in f32 {gemm_nn:.2} nn, {gemm_nt:.2} nt; bf16 {nn:.2} nn, {nt:.2} nt, GELU {gelu:.2}, its tanh form {gelu_tanh:.2}"
    );
    // Within each round, so that what else the machine does falls on both.
    let ratio =
        |way: usize, over: usize| median(taken[way].iter().zip(&taken[over]).map(|(way, over)| way / over).collect());
    let (nn, nt, gelu) = (ratio(2, 0), ratio(3, 1), ratio(4, 3));
    println!("bf16 over gemm {nn:.2} nn, {nt:.2} nt; GELU over plain {gelu:.2}, its tanh form {:.2}", ratio(5, 3));
    assert!(nn <= 1.3 && nt <= 1.3, "bf16 is slower than 1.3 × gemm");
    assert!(gelu <= 1.1, "GELU costs more than a tenth of the product");
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// x · y by `gemm` on all cores, where y is x with these strides of its rows and columns.
fn multiply(x: &[f32], [row, column]: [usize; 2], out: &mut [f32]) {
    let n = N as isize;
    assert!(x.len() == N * N && out.len() == N * N && row.max(column) == N && row.min(column) == 1);
    let (row, column) = (row as isize, column as isize);
    // SAFETY: both hold N×N elements; those of x lie N or 1 apart along rows and the other along columns, as asserted above.
    unsafe {
        gemm::gemm(
            N,
            N,
            N,
            out.as_mut_ptr(),
            1,
            n,
            false,
            x.as_ptr(),
            1,
            n,
            x.as_ptr(),
            column,
            row,
            0.0,
            1.0,
            false,
            false,
            false,
            Parallelism::Rayon(0),
        );
    }
}
