// Factors of which one is e4m3 and the other e5m2, as gradients and weights of a backward are.
//
// Whatever moves elements moves bytes, of either factor alike: the instruction alone tells them apart. So both factors have one type, which
// is named after those of the instruction's operands, in their order.
#pragma once

#include <stdint.h>

namespace autokernel {

struct e4m3_by_e5m2 {
  uint8_t bits;
};
struct e5m2_by_e4m3 {
  uint8_t bits;
};

}  // namespace autokernel
