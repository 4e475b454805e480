// TMA of tensors of four axes. Coordinates are innermost first, as the hardware counts them.
#pragma once

#include "sm90.cuh"

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

}  // namespace autokernel::ptx
