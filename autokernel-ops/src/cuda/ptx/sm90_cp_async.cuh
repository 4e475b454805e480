// PTX of copies of 16 bytes that threads make beside TMA, and that an mbarrier counts.
#pragma once

#include "../types.cuh"
#include "common.cuh"

namespace autokernel::ptx {

// 16 bytes to shared memory, or as many zeros if they are not `there`, where nothing is read. Past L1, which could not reuse them.
__device__ __forceinline__ void cp_async_16_if(uint32_t shared, const void* global, bool there) {
  asm volatile(
      "{\n.reg .pred ignore;\nsetp.eq.s32 ignore, %2, 0;\n"
      "cp.async.cg.shared.global.L2::128B [%0], [%1], 16, ignore;\n}\n" ::"r"(shared),
      "l"(global), "r"(static_cast<int>(there))
      : "memory");
}

// 16 bytes to shared memory, of which the first `bytes` (0 to 16) are read and the others are zero.
__device__ __forceinline__ void cp_async_16(uint32_t shared, const void* global, int bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(bytes) : "memory");
}

// Arrives at a barrier of this CTA when all copies that this thread began are done. `.noinc`: the barrier was told to expect it.
__device__ __forceinline__ void cp_async_arrive(uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

// Until they are done.
__device__ __forceinline__ void cp_async_wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }

}  // namespace autokernel::ptx
