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

}  // namespace autokernel::ptx
