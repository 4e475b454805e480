// Whole numbers of 8 bits, as a factor holds them.
#pragma once

#include <stdint.h>

namespace autokernel {

struct i8 {
  int8_t value;
};

__device__ __forceinline__ float to_f32(i8 element) { return static_cast<float>(element.value); }

}  // namespace autokernel
