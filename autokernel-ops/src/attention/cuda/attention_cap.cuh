// Soft caps of scores that are small beside them, as most are, without special functions.
#pragma once

#include "attention_softmax.cuh"

namespace autokernel::attention {

// Exponents scale * tanh(steepness * sum) - shift of sums of products. The tanh is an odd polynomial, which is within 2^-11.2 of its value
// up to an argument of `kMost`, where what tanh.approx gives is within 2^-11. Its coefficients are the minimax ones of its degree.
struct SmallCap {
  static constexpr float kMost = 0.4f;
  static constexpr float kFirst = 0.99960178f;
  static constexpr float kThird = -0.31317270f;

  float most;  // of the sums that it serves
  float first, third;

  __device__ __forceinline__ SmallCap(float scale, float steepness) {
    const float size = fabsf(steepness);
    most = 0x1p-30f <= size && size <= 0x1p30f ? kMost / size : -1.0f;  // what others are raised to may leave fp32
    first = kFirst * scale * steepness;
    third = kThird * scale * steepness * (steepness * steepness);
  }

  // Whether it serves for all of a warp. A sum that is no number does not tell, and shows in what it becomes.
  template <int kScores>
  __device__ __forceinline__ bool serves(const float (&sums)[kScores]) const {
    float largest[2] = {0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < kScores; ++i) largest[i % 2] = fmaxf(largest[i % 2], fabsf(sums[i]));
    return __all_sync(0xffffffffu, fmaxf(largest[0], largest[1]) <= most);
  }

  // Makes exponents of sums, in place.
  template <int kScores>
  __device__ __forceinline__ void exponents(float (&sums)[kScores], float shift) const {
#pragma unroll
    for (float& sum : sums) sum = fmaf(sum, fmaf(sum * sum, third, first), -shift);
  }
};

}  // namespace autokernel::attention
