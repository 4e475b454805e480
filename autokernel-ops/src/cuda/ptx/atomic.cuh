// PTX of counters in global memory that the blocks of a grid share.
#pragma once

#include <stdint.h>

namespace autokernel::ptx {

// Adds and gives what was there before; orders nothing.
__device__ __forceinline__ uint32_t fetch_add_relaxed(uint32_t* address, uint32_t value) {
  uint32_t before;
  asm volatile("atom.add.relaxed.gpu.global.u32 %0, [%1], %2;" : "=r"(before) : "l"(address), "r"(value) : "memory");
  return before;
}

// The same; who adds later sees all that this thread had seen.
__device__ __forceinline__ uint32_t fetch_add_ordered(uint32_t* address, uint32_t value) {
  uint32_t before;
  asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;" : "=r"(before) : "l"(address), "r"(value) : "memory");
  return before;
}

}  // namespace autokernel::ptx
