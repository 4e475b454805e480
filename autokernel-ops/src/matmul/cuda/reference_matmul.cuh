// The reference every kernel is held against: one thread an element, fp64 accumulation, the epilogue in fp32.
//
// It shares nothing with the fast kernels but the epilogue or body and the element types, so that an indexing mistake in one
// cannot hide in the other. The result is fp32 whatever the problem's output type: it is not rounded.
#pragma once

#include "body.cuh"
#include "epilogue.cuh"
#include "types.cuh"

namespace autokernel::reference {

constexpr int kTile = 16;  // a block computes kTile x kTile elements through shared memory
constexpr int kThreads = kTile * kTile;

__device__ __forceinline__ float to_f32(bf16 value) { return __uint_as_float(uint32_t(value.bits) << 16); }
__device__ __forceinline__ float to_f32(f16 value) { return ptx::f16_to_f32(value.bits); }

// Any grid of blocks of kThreads threads: each takes tile after tile. Leading dimensions count elements.
template <typename Problem, typename Body = body::None, typename Args>
__device__ __forceinline__ void matmul(const Args& args) {
  using Input = typename Problem::Input;
  // The extents come from the launch even where they are known: a wrong constant cannot hide in both kernels.
  static_assert(Problem::kKnownN >= 0 && Problem::kKnownK >= 0, "0: given at launch");
  __shared__ float a_tile[kTile][kTile + 1];  // + 1: no bank conflict when a column is read
  __shared__ float b_tile[kTile][kTile + 1];

  const auto* a = static_cast<const Input*>(args.a);
  const auto* b = static_cast<const Input*>(args.b);
  auto* c = static_cast<float*>(args.c);
  const int x = threadIdx.x % kTile;
  const int y = threadIdx.x / kTile;
  const int64_t tiles_n = ceil_div<int64_t>(args.n, kTile);
  const int64_t tiles = ceil_div<int64_t>(args.m, kTile) * tiles_n;

  for (int64_t tile = int64_t(blockIdx.y) * gridDim.x + blockIdx.x; tile < tiles; tile += int64_t(gridDim.x) * gridDim.y) {
    const int64_t row = tile / tiles_n * kTile + y;
    const int64_t column = tile % tiles_n * kTile + x;
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
    if (row < args.m && column < args.n) {
      const float value = Problem::epilogue(static_cast<float>(sum));
      float* const to = c + row * args.ldc + column;
      if constexpr (Body::kExists) {
        body::apply_to_element<Body>(args, value, row, column, [&](float staged) { *to = staged; });
      } else {
        *to = value;
      }
    }
  }
}

}  // namespace autokernel::reference
