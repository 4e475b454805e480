// Boxes of tensors brought to L2. That is a hint: it changes nothing that a thread can see, and whatever is written meanwhile is
// written to L2, where later copies find it. So it may run before `wait_for_previous_grids`.
#pragma once

#include "sm90.cuh"

namespace autokernel::ptx {

// Coordinates are innermost first, as the hardware counts them; what is out of bounds is left out.
__device__ __forceinline__ void tma_prefetch_3d(const TensorMap& map, int x, int y, int z) {
  asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%0, {%1, %2, %3}];" ::"l"(&map), "r"(x), "r"(y), "r"(z)
               : "memory");
}

__device__ __forceinline__ void tma_prefetch_4d(const TensorMap& map, int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global.tile [%0, {%1, %2, %3, %4}];" ::"l"(&map), "r"(x), "r"(y),
               "r"(z), "r"(w)
               : "memory");
}

}  // namespace autokernel::ptx
