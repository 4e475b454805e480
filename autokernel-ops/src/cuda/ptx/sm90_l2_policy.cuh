// Boxes whose lines stay in L2 for shorter than others.
#pragma once

#include "sm90.cuh"

namespace autokernel::ptx {

// What becomes of lines that a copy brings to L2, as `createpolicy.fractional` says it of all of them.
enum class L2Policy : uint64_t {
  kEvictNormal = 0x1000000000000000,
  kEvictFirst = 0x12f0000000000000,  // they leave before others do
};

__device__ __forceinline__ void tma_load(const TensorMap& map, uint32_t destination, uint32_t barrier, int inner,
                                         int outer, L2Policy policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(destination),
      "l"(&map), "r"(barrier), "r"(inner), "r"(outer), "l"(static_cast<uint64_t>(policy))
      : "memory");
}

}  // namespace autokernel::ptx
