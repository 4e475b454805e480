// Global memory brought nearer, for which nobody waits.
#pragma once

namespace autokernel::ptx {

// The sector of 32 bytes that the address lies in.
__device__ __forceinline__ void prefetch_to_l2(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address) : "memory");
}

// The same to L1.
__device__ __forceinline__ void prefetch_to_l1(const void* address) {
  asm volatile("prefetch.global.L1 [%0];" ::"l"(address) : "memory");
}

}  // namespace autokernel::ptx
