// Bulk copies of bytes that lie side by side: no tensor map, whole units of 16 bytes that begin at one.
#pragma once

#include "sm90.cuh"

namespace autokernel::ptx {

// To this CTA's shared memory, where `barrier` counts them.
__device__ __forceinline__ void bulk_load(uint32_t destination, const void* source, uint32_t bytes, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   destination),
               "l"(source), "r"(bytes), "r"(barrier)
               : "memory");
}

// To L2. That is a hint: it changes nothing that a thread can see, and whatever is written meanwhile is written to L2, where later
// copies find it. So it may run before `wait_for_previous_grids`.
__device__ __forceinline__ void bulk_prefetch(const void* source, uint32_t bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(source), "r"(bytes) : "memory");
}

}  // namespace autokernel::ptx
