// Pieces of shared memory narrower than a word, as 8-bit elements are staged and stored.
#pragma once

#include <stdint.h>

namespace autokernel::ptx {

__device__ __forceinline__ void store_shared(uint32_t address, uint16_t pair) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(pair) : "memory");
}

__device__ __forceinline__ void store_shared(uint32_t address, uint8_t byte) {
  asm volatile("st.shared.u8 [%0], %1;" ::"r"(address), "h"(uint16_t{byte}) : "memory");
}

__device__ __forceinline__ void load_shared(uint32_t address, uint8_t& byte) {
  uint16_t wide;
  asm volatile("ld.shared.u8 %0, [%1];" : "=h"(wide) : "r"(address) : "memory");
  byte = static_cast<uint8_t>(wide);
}

}  // namespace autokernel::ptx
