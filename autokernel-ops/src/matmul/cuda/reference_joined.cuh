// The reference of bodies whose rows have sums of exponentials relative to a maximum: a block's columns of a row are a part.
#pragma once

#include "body_joined.cuh"
#include "fast_math.cuh"
#include "reference_matmul.cuh"

namespace autokernel::reference {

template <typename Body, int kCount>
struct Reduced<body::Joined<Body>, kCount> : Reduced<Body, kCount> {
  using Base = Reduced<Body, kCount>;

  // All lanes of the warp come here.
  template <typename Args>
  __device__ __forceinline__ void leave(const Args& args, int row, int column, bool inside) const {
    Base of_row = *this;
#pragma unroll
    for (int statistic = 0; statistic < kCount; ++statistic) {
      const int maximum_of = Body::maximum_of(statistic);
      if (maximum_of < 0) continue;
      float maximum = this->terms[maximum_of];
#pragma unroll
      for (int mask = 1; mask < kTile; mask *= 2) maximum = fmaxf(maximum, __shfl_xor_sync(~0u, maximum, mask));
      of_row.terms[statistic] = inside ? math::exp(this->terms[statistic] - body::reference_of(maximum)) : 0.0f;
    }
    of_row.leave(args, row, column, inside);
  }
};

}  // namespace autokernel::reference
