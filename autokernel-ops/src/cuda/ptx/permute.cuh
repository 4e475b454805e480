// PTX that puts bytes of two words together.
#pragma once

#include <stdint.h>

namespace autokernel::ptx {

// The bytes that the digits of kSelectors number, the lowest first: 0 to 3 those of `low`, 4 to 7 those of `high`.
template <uint32_t kSelectors>
__device__ __forceinline__ uint32_t permute(uint32_t low, uint32_t high) {
  uint32_t selected;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(selected) : "r"(low), "r"(high), "n"(kSelectors));
  return selected;
}

}  // namespace autokernel::ptx
