// The reference every kernel is held against: one thread an element, fp64 accumulation, the epilogue in fp32.
//
// It shares nothing with the fast kernels but the epilogue and the element types, so that an indexing mistake in one
// cannot hide in the other. The result is fp32 whatever the problem's output type: it is not rounded.
#pragma once

#include "epilogue.cuh"
#include "types.cuh"

namespace autokernel::reference {

constexpr int kTile = 16;  // a block computes kTile x kTile elements through shared memory
constexpr int kThreads = kTile * kTile;

struct Args {
  const void* a;
  const void* b;
  float* c;
  int64_t lda;  // leading dimensions in elements
  int64_t ldb;
  int64_t ldc;
  int m, n, k;
};

__device__ __forceinline__ float to_f32(bf16 value) { return __uint_as_float(uint32_t(value.bits) << 16); }
__device__ __forceinline__ float to_f32(f16 value) { return ptx::f16_to_f32(value.bits); }

// Grid: ceil(n / kTile) x ceil(m / kTile) blocks of kThreads threads; grid.y strides, so any height is correct.
template <typename Problem>
__device__ __forceinline__ void matmul(const Args& args) {
  using Input = typename Problem::Input;
  // The extents come from the launch even where they are known: a wrong constant cannot hide in both kernels.
  static_assert(Problem::kKnownN >= 0 && Problem::kKnownK >= 0, "0: given at launch");
  __shared__ float a_tile[kTile][kTile + 1];  // + 1: no bank conflict when a column is read
  __shared__ float b_tile[kTile][kTile + 1];

  const auto* a = static_cast<const Input*>(args.a);
  const auto* b = static_cast<const Input*>(args.b);
  const int x = threadIdx.x % kTile;
  const int y = threadIdx.x / kTile;
  const int64_t column = int64_t(blockIdx.x) * kTile + x;

  for (int64_t first_row = int64_t(blockIdx.y) * kTile; first_row < args.m; first_row += int64_t(gridDim.y) * kTile) {
    const int64_t row = first_row + y;
    double sum = 0.0;
    for (int k0 = 0; k0 < args.k; k0 += kTile) {
      const bool a_inside = row < args.m && k0 + x < args.k;
      a_tile[y][x] = a_inside ? to_f32(a[row * args.lda + k0 + x]) : 0.0f;
      const bool b_inside = column < args.n && k0 + y < args.k;
      const int64_t b_offset = Problem::kTransposeB ? column * args.ldb + k0 + y : int64_t(k0 + y) * args.ldb + column;
      b_tile[y][x] = b_inside ? to_f32(b[b_offset]) : 0.0f;
      __syncthreads();
#pragma unroll
      for (int k = 0; k < kTile; ++k) sum += double(a_tile[y][k]) * double(b_tile[k][x]);
      __syncthreads();
    }
    if (row < args.m && column < args.n) args.c[row * args.ldc + column] = Problem::epilogue(static_cast<float>(sum));
  }
}

}  // namespace autokernel::reference
