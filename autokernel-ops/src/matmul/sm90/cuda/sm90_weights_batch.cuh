// Scales and zero points of groups of K of which each product of a launch has its own, as it has its weights: their tensor maps have a
// third dimension, along which the products lie.
#pragma once

#include "sm90_batch.cuh"
#include "sm90_product_of.cuh"
#include "sm90_weights.cuh"

namespace autokernel::sm90::weights {

template <typename Args>
struct TablesOf<Args, decltype(void(&Args::scales_batch))> {
  const Args& args;
  int product;

  template <typename Place>
  __device__ __forceinline__ TablesOf(const Args& launched, const Place& place) : args(launched), product(product_of(place)) {}
  __device__ __forceinline__ NumberedMatrix scales() const { return matrix(args.scales_batch); }
  __device__ __forceinline__ NumberedMatrix scales2() const { return matrix(args.scales2_batch); }
  __device__ __forceinline__ NumberedMatrix zeros() const { return matrix(args.zeros_batch); }
  __device__ __forceinline__ NumberedMatrix zeros2() const { return matrix(args.zeros2_batch); }

 private:
  // A stride of 0 is a broadcast of the only matrix.
  __device__ __forceinline__ NumberedMatrix matrix(int64_t stride) const { return {stride == 0 ? 0 : product}; }
};

}  // namespace autokernel::sm90::weights
