// Vectors of 8-bit floats that a row-wise kernel writes.
#pragma once

#include "fp8.cuh"
#include "rows_vector.cuh"

namespace autokernel::rows {

// fp32 values, rounded to the output's type; nothing if the span is not inside the row.
template <bool kIsAligned, typename T, int kVector>
__device__ __forceinline__ void store_fp8(Place<T> place, Span<kVector> span, const float (&values)[kVector]) {
  static_assert(kVector == 1 || kVector == 2 || kVector == 4 || kVector == 8, "schedule rule `vector`");
  if (!span.is_inside) return;
  T* const to = place.row + span.first;
  if (kVector == 1 || !kIsAligned && !place.is_aligned) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) to[i] = from_f32<T>(values[i]);
    return;
  }
  if constexpr (kVector == 2) {
    *reinterpret_cast<uint16_t*>(to) = static_cast<uint16_t>(pack2<T>(values[0], values[1]));
  } else if constexpr (kVector > 2) {
    uint32_t words[kVector / 4];
#pragma unroll
    for (int word = 0; word < kVector / 4; ++word) {
      const float* const four = values + 4 * word;
      words[word] = pack2<T>(four[0], four[1]) | pack2<T>(four[2], four[3]) << 16;
    }
    if constexpr (kVector == 8) {
      *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
    } else {
      *reinterpret_cast<uint32_t*>(to) = words[0];
    }
  }
}

}  // namespace autokernel::rows
