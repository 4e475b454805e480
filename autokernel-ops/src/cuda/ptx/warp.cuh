// PTX of what lanes find together, and of counters in shared memory.
#pragma once

#include <stdint.h>

namespace autokernel::ptx {

// The greatest and the least number of all lanes, which take part together.
__device__ __forceinline__ uint32_t warp_max(uint32_t value) {
  uint32_t most;
  asm volatile("redux.sync.max.u32 %0, %1, 0xffffffff;" : "=r"(most) : "r"(value));
  return most;
}
__device__ __forceinline__ uint32_t warp_min(uint32_t value) {
  uint32_t least;
  asm volatile("redux.sync.min.u32 %0, %1, 0xffffffff;" : "=r"(least) : "r"(value));
  return least;
}

// Bits that are set.
__device__ __forceinline__ int count_bits(uint32_t word) {
  int bits;
  asm("popc.b32 %0, %1;" : "=r"(bits) : "r"(word));
  return bits;
}

// Adds to a number in shared memory, and sets bits of one. Whole numbers: the order does not show.
__device__ __forceinline__ void add_shared(uint32_t address, int value) {
  asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
__device__ __forceinline__ void set_bits_shared(uint32_t address, uint32_t bits) {
  asm volatile("red.shared.or.b32 [%0], %1;" ::"r"(address), "r"(bits) : "memory");
}

// The sum over all lanes of a warp.
__device__ __forceinline__ int warp_sum(int value) {
  int sum;
  asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(sum) : "r"(value));
  return sum;
}

}  // namespace autokernel::ptx
