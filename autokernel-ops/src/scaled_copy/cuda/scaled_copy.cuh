// out = alpha * x: a block for each part of a row.
#pragma once

#include "types.cuh"

namespace autokernel::scaled_copy {

__device__ __forceinline__ float to_f32(bf16 value) { return __uint_as_float(uint32_t(value.bits) << 16); }
__device__ __forceinline__ float to_f32(f16 value) { return ptx::f16_to_f32(value.bits); }
__device__ __forceinline__ float to_f32(float value) { return value; }

// `copy(x, out)` for each element of the block's part.
template <typename Problem, typename Schedule, typename Args, typename Copy>
__device__ __forceinline__ void each(const Args& args, Copy copy) {
  constexpr int kStep = Schedule::kThreads * Schedule::kItems;
  const int parts = ceil_div<int>(args.columns, kStep);
  const int64_t part = args.backwards ? int64_t(gridDim.x) - 1 - blockIdx.x : blockIdx.x;
  const int64_t row = part / parts;
  const auto* x = static_cast<const typename Problem::Input*>(args.x) + row * args.ldx;
  auto* out = static_cast<typename Problem::Output*>(args.out) + row * args.ldout;
#pragma unroll
  for (int item = 0; item < Schedule::kItems; ++item) {
    const int64_t column = part % parts * kStep + item * Schedule::kThreads + threadIdx.x;
    if (column < args.columns) copy(x[column], out[column]);
  }
}

template <typename Problem, typename Schedule, typename Args>
__device__ __forceinline__ void run(const Args& args) {
  each<Problem, Schedule>(args, [](auto x, auto& out) {
    out = from_f32<typename Problem::Output>(Problem::kAlpha * to_f32(x));
  });
}

template <typename Problem, typename Schedule, typename Args>
__device__ __forceinline__ void reference(const Args& args) {
  each<Problem, Schedule>(args, [](auto x, float& out) { out = float(double(Problem::kAlpha) * double(to_f32(x))); });
}

}  // namespace autokernel::scaled_copy
