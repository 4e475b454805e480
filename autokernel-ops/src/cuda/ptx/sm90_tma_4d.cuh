// TMA of tensors of four axes. Coordinates are innermost first, as the hardware counts them.
#pragma once

#include "sm90_l2_policy.cuh"

namespace autokernel::ptx {

// Box at (x, y, z, w) to this CTA's shared memory; out-of-bounds elements arrive as zeros.
__device__ __forceinline__ void tma_load_4d(const TensorMap& map, uint32_t destination, uint32_t barrier, int x, int y,
                                            int z, int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(destination),
      "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}

__device__ __forceinline__ void tma_load_4d(const TensorMap& map, uint32_t destination, uint32_t barrier, int x, int y,
                                            int z, int w, L2Policy policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(destination),
      "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w), "l"(static_cast<uint64_t>(policy))
      : "memory");
}

}  // namespace autokernel::ptx
