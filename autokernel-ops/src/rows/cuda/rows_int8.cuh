// Vectors of whole numbers of 8 bits that a row-wise kernel writes.
#pragma once

#include "int8_output.cuh"
#include "rows_fp8.cuh"

namespace autokernel::rows {

// fp32 values, rounded; nothing if the span is not inside the row. Bytes are stored as those of 8-bit floats are.
template <bool kIsAligned, int kVector>
__device__ __forceinline__ void store_int8(Place<i8_bits> place, Span<kVector> span, const float (&values)[kVector]) {
  store_fp8<kIsAligned>(place, span, values);
}

}  // namespace autokernel::rows
