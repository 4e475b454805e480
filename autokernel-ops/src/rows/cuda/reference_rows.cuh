// The reference every row-wise kernel is held against: a block a row, elements in fp32, reductions in fp64 through a
// tree in shared memory. It shares nothing with the fast kernels but the functions of a body and the element types.
// Results are fp32 whatever the types of the outputs: they are not rounded.
#pragma once

#include "epilogue.cuh"
#include "types.cuh"

namespace autokernel::reference_rows {

constexpr int kThreads = 256;

__device__ __forceinline__ float to_f32(bf16 value) { return __uint_as_float(uint32_t(value.bits) << 16); }
__device__ __forceinline__ float to_f32(f16 value) { return ptx::f16_to_f32(value.bits); }
__device__ __forceinline__ float to_f32(f32 value) { return value; }

// Reductions among the threads of a block; each thread gets the result.
struct Block {
  double* values;  // kThreads of them, in shared memory

  template <typename Combine>
  __device__ __forceinline__ double reduce(double value, Combine combine) {
    __syncthreads();  // the one before may still be read
    values[threadIdx.x] = value;
    for (int half = kThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) values[threadIdx.x] = combine(values[threadIdx.x], values[threadIdx.x + half]);
    }
    __syncthreads();
    return values[0];
  }

  __device__ double sum(double value) {
    return reduce(value, [](double x, double y) { return x + y; });
  }
  __device__ double max(double value) {
    return reduce(value, [](double x, double y) { return fmax(x, y); });
  }
  __device__ double min(double value) {
    return reduce(value, [](double x, double y) { return fmin(x, y); });
  }
};

template <typename Problem, typename Args>
__device__ __forceinline__ void rows(const Args& args) {
  __shared__ double values[kThreads];
  Block block{values};
  for (int64_t index = blockIdx.x; index < args.rows; index += gridDim.x) Problem::row(args, index, block);
}

}  // namespace autokernel::reference_rows
