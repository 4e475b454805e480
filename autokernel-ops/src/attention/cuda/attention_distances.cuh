// Numbers of a head by how far a key lies behind a query, which a body reads.
#pragma once

#include "types.cuh"

namespace autokernel::attention {

// A row of a table, of which the number in the middle is that of the query's own place. A key that is farther away than the row goes has its
// first number or its last.
struct PerDistance {
  const float* numbers;
  int middle;
  int last;

  __device__ __forceinline__ static PerDistance of(const void* table, int64_t row, int columns, int head) {
    return {static_cast<const float*>(table) + head * row, columns / 2, columns - 1};
  }

  // Zero of a table without columns, which has no memory.
  __device__ __forceinline__ float at(int distance) const {
    return last < 0 ? 0.0f : __ldg(numbers + min(max(distance + middle, 0), last));
  }
};

}  // namespace autokernel::attention
