// The reference of a body whose output is scaled in blocks: a warp computes a block of a row, straight from memory, whose largest value is
// then known. What is scaled is not rounded.
#pragma once

#include "body_scaled.cuh"
#include "reference_rotated.cuh"

namespace autokernel::reference {

// Any grid of blocks of kThreads threads, each of whose warps takes block after block.
template <typename Problem, typename Body, int kProducts, typename Args>
__device__ __forceinline__ void matmul_scaled(const Args& args) {
  using Second = typename SecondOf<Problem>::Element;
  constexpr int kBlock = Body::kScaledColumns, kOfLane = kBlock / kWarpSize;
  const int64_t in_row = ceil_div<int64_t>(args.n, kBlock);
  const int64_t step = int64_t{gridDim.x} * gridDim.y * (kThreads / kWarpSize);
  const int64_t thread = (int64_t{blockIdx.y} * gridDim.x + blockIdx.x) * kThreads + threadIdx.x;
  const int lane = threadIdx.x % kWarpSize;
  for (int64_t number = thread / kWarpSize; number < args.m * in_row; number += step) {
    const int row = static_cast<int>(number / in_row), block = static_cast<int>(number % in_row);
    float values[kOfLane], largest = 0.0f;
    for (int i = 0; i < kOfLane; ++i) {
      const body::Index at{row, block * kBlock + i * kWarpSize + lane};
      if (at.column >= args.n) continue;
      const auto sum_of = [&](int product, const void* data, int64_t ld) {
        return sum_at<Problem>(args, product, Factor<Second>{static_cast<const Second*>(data), ld}, row, at.column);
      };
      const auto take = [&](float value) { values[i] = value; };
      if constexpr (kProducts == 2) {
        body::apply_to_element<Body>(args, at, take, sum_of(0, args.b, args.ldb), sum_of(1, args.b2, args.ldb2));
      } else {
        body::apply_to_element<Body>(args, at, take, sum_of(0, args.b, args.ldb));
      }
      largest = fmaxf(largest, fabsf(values[i]));
    }
    for (int mask = 1; mask < kWarpSize; mask *= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, mask));
    const float scale = body::scale_of<Body>(largest), reciprocal = 1.0f / scale;
    for (int i = 0; i < kOfLane; ++i) {
      const int column = block * kBlock + i * kWarpSize + lane;
      if (column < args.n) static_cast<float*>(args.c)[row * args.ldc + column] = values[i] * reciprocal;
    }
    if (lane == 0) Body::scales(args, row)[block] = scale;
  }
}

}  // namespace autokernel::reference
