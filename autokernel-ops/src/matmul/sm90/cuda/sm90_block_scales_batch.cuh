// Scales of blocks of which each product of a launch has its own, as it has the factor that they are of.
//
// The producer finds those of a tile's product, for which it has registers to spare where one consumer leaves it as many as it likes.
#pragma once

#include "sm90_batch.cuh"
#include "sm90_block_scales.cuh"
#include "sm90_product_of.cuh"

namespace autokernel::sm90::scales {

template <typename Args>
struct RowsOf<Args, decltype(void(&Args::a_scales_batch))> {
  template <typename Place>
  __device__ __forceinline__ static NumberedMatrix matrix(const Args& args, const Place& place) {
    return {args.a_scales_batch == 0 ? 0 : product_of(place)};  // a stride of 0 is a broadcast of the only matrix
  }
};

template <typename Args>
struct ColumnsOf<Args, decltype(void(&Args::scales_batch))> {
  template <int kProducts, typename Place>
  __device__ __forceinline__ static void find(const float* (&first)[kProducts], const Args& args, const Place& place) {
    const int64_t product = product_of(place);
    first[0] = static_cast<const float*>(args.scales) + product * args.scales_batch;
    if constexpr (kProducts == 2) first[1] = static_cast<const float*>(args.scales2) + product * args.scales2_batch;
  }
};

}  // namespace autokernel::sm90::scales
