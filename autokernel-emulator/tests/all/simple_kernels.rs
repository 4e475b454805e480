//! Kernels without matrix instructions: the reference product, the copy that realigns rows, and the order of tiles.

use crate::support::case::{Case, SM80, SM90, problem};
use crate::support::compile::Compiler;
use crate::support::host::{Matrix, allocate, download, from_bytes, product, shape};
use crate::support::{arguments, host};
use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::emit::{KernelSource, emit_reference};
use autokernel_codegen::matmul::inputs::other;
use autokernel_codegen::matmul::problem::{Layout, Problem};
use autokernel_codegen::matmul::schedule::{Raster, RasterOrder, Schedule};
use autokernel_emulator::{Gpu, Launch, Module, Options};

#[test]
fn the_reference_kernel_computes_ragged_products() {
    let Some(compiler) = Compiler::find("the_reference_kernel_computes_ragged_products") else { return };
    for (input, layout) in
        [(Dtype::Bf16, Layout::Nt), (Dtype::F16, Layout::Nn), (Dtype::Bf16, Layout::Tn), (Dtype::F16, Layout::Tt)]
    {
        let problem = problem(input, input, layout, "leaky_relu(0.25)");
        let source = emit_reference(&problem);
        let module = Module::parse(&compiler.ptx(&source, Arch::SM_80, None).unwrap()).unwrap();
        let shape = shape(21, 37, 50);
        let mut gpu = Gpu::new(autokernel_emulator::Arch::Sm80);
        let (a_rows, a_columns) = if layout.transpose_a() { (50, 21) } else { (21, 50) };
        let (b_rows, b_columns) = if layout.transpose_b() { (37, 50) } else { (50, 37) };
        let (a, b) = (
            Matrix::integers(a_rows, a_columns, a_columns + 3, 1),
            Matrix::integers(b_rows, b_columns, b_columns + 1, 2),
        );
        let placed = [a.upload(&mut gpu, "A", input), b.upload(&mut gpu, "B", input)];
        let c = allocate(&mut gpu, "C", Dtype::F32, 21, 37, 40, 0);
        let launch = arguments::reference(&mut gpu, &problem, shape, [placed[0], placed[1], c]);
        gpu.launch(&module, &source.symbol, &launch, &Options::default()).unwrap();
        let expected: Vec<f64> =
            product(&a, &b, layout, shape).into_iter().map(|sum| if sum > 0.0 { sum } else { 0.25 * sum }).collect();
        assert_eq!(download(&mut gpu, c, Dtype::F32), expected);
    }
}

#[test]
fn the_reference_kernel_reads_every_finite_8_bit_float() {
    let Some(compiler) = Compiler::find("the_reference_kernel_reads_every_finite_8_bit_float") else { return };
    let both = [Dtype::E4m3, Dtype::E5m2];
    for (dtype, second) in both.into_iter().flat_map(|dtype| [(dtype, None), (dtype, other(dtype))]) {
        let problem = Problem { second, ..problem(dtype, Dtype::F32, Layout::Nt, "identity") };
        let source = emit_reference(&problem);
        let module = Module::parse(&compiler.ptx(&source, Arch::SM_80, None).unwrap()).unwrap();
        let values: Vec<f64> =
            (0..=u8::MAX).map(|bits| from_bytes(dtype, &[bits])).filter(|value| value.is_finite()).collect();
        let count = values.len() as u32;
        let (a, one) = (
            Matrix { rows: count, columns: 1, ld: 1, values },
            Matrix { rows: 1, columns: 1, ld: 1, values: vec![1.0] },
        );
        let mut gpu = Gpu::new(autokernel_emulator::Arch::Sm80);
        let placed = [a.upload(&mut gpu, "A", dtype), one.upload(&mut gpu, "B", second.unwrap_or(dtype))];
        let c = allocate(&mut gpu, "C", Dtype::F32, count, 1, 1, 0);
        let launch = arguments::reference(&mut gpu, &problem, shape(count, 1, 1), [placed[0], placed[1], c]);
        gpu.launch(&module, &source.symbol, &launch, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        assert!(count >= 248, "{count} finite values of {dtype}");
        assert_eq!(download(&mut gpu, c, Dtype::F32), a.values, "{dtype}");
    }
}

#[test]
fn rows_are_realigned_from_every_offset() {
    let Some(compiler) = Compiler::find("rows_are_realigned_from_every_offset") else { return };
    let halves: (_, Schedule, _) = (Dtype::Bf16, SM80.into(), autokernel_emulator::Arch::Sm80);
    let bytes = (Dtype::E4m3, SM90.into(), autokernel_emulator::Arch::Sm90a);
    for (dtype, schedule, arch) in [halves, bytes] {
        let case = Case { problem: problem(dtype, Dtype::Bf16, Layout::Nt, "identity"), schedule };
        let module = case.compile(&compiler, None).unwrap();
        for (columns, ld, seed) in [(300, 301, 0), (7, 9, 1), (264, 266, 2), (1, 1, 3), (513, 520, 4)] {
            let mut gpu = Gpu::new(arch);
            let source = Matrix::integers(19, columns, ld, 9);
            let placed = source.upload(&mut gpu, "source", dtype);
            let whole = columns.next_multiple_of(16 / dtype.bytes());
            let padded = host::allocate(&mut gpu, "padded", dtype, 19, whole, whole, 0);
            let target = arguments::Placed { columns, ..padded };
            let options = Options { seed, ..Options::default() };
            let launch = arguments::pad_rows(placed, target);
            gpu.launch(&module, "autokernel_pad_rows", &launch, &options).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(download(&mut gpu, target, dtype), source.values, "{columns} columns of {dtype}");
        }
    }
}

/// Each thread writes where its tile lies.
const TILES: &str = r#"#include "raster.cuh"
extern "C" __global__ void tiles(int* out, int tiles_m, int tiles_n, int order, int group) {
  const autokernel::Raster raster{static_cast<autokernel::RasterOrder>(order), group};
  const int number = threadIdx.x;
  const auto tile = autokernel::tile_coord(number, tiles_m, tiles_n, raster);
  out[2 * number] = tile.m;
  out[2 * number + 1] = tile.n;
}
"#;

#[test]
fn the_order_of_tiles_is_on_the_host_what_it_is_in_a_kernel_and_visits_each_once() {
    let test = "the_order_of_tiles_is_on_the_host_what_it_is_in_a_kernel_and_visits_each_once";
    let Some(compiler) = Compiler::find(test) else { return };
    let source = KernelSource { symbol: "tiles".to_owned(), cuda: TILES.to_owned() };
    let module = Module::parse(&compiler.with_whole_runtime().ptx(&source, Arch::SM_80, None).unwrap()).unwrap();
    for (order, code) in [(RasterOrder::AlongM, 0), (RasterOrder::AlongN, 1)] {
        for (tiles_m, tiles_n, group) in [(7, 5, 1), (7, 5, 3), (5, 7, 4), (6, 4, 2), (3, 9, 1024), (1, 1, 8)] {
            let count = tiles_m * tiles_n;
            let mut gpu = Gpu::new(autokernel_emulator::Arch::Sm80);
            let out = gpu.alloc(u64::from(count) * 8).unwrap();
            let words = [tiles_m, tiles_n, code, group].map(u32::to_le_bytes).concat();
            let parameters = [out.0.to_le_bytes().to_vec(), words].concat();
            gpu.launch(&module, "tiles", &Launch::new([1; 3], [count, 1, 1], parameters), &Options::default()).unwrap();
            let bytes = gpu.read(out, u64::from(count) * 8).unwrap();
            let found: Vec<u32> =
                bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
            let raster = Raster { order, group };
            let here: Vec<u32> = (0..count).flat_map(|number| raster.tile(number.into(), [tiles_m, tiles_n])).collect();
            assert_eq!(found, here, "{tiles_m}x{tiles_n}, {raster:?}");
            let mut tiles: Vec<&[u32]> = here.chunks_exact(2).collect();
            tiles.sort_unstable();
            tiles.dedup();
            assert_eq!(tiles.len(), count as usize, "{tiles_m}x{tiles_n}, {raster:?}");
        }
    }
}
