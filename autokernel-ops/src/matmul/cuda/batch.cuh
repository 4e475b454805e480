// Many products in one launch. The emitted file prints `struct Batch`: what each of them has of the operands.
#pragma once

#include "types.cuh"

namespace autokernel::batch {

// Which products a launch computes: one, those of a batch, which have one shape, or those of groups of the rows of one matrix.
enum class Many { kNone, kBatch, kGroups };

// In the place of a batch: there is one product.
struct None {
  static constexpr Many kMany = Many::kNone;
};

// `data`, `elements` further on.
template <typename T>
__device__ __forceinline__ void* moved(void* data, int64_t elements) {
  return static_cast<T*>(data) + elements;
}

// What a launch passes, as code for one product holds it: by reference where there is one, else changed for each.
template <typename Args, Many kMany>
struct SeenOf {
  using Type = Args;
};
template <typename Args>
struct SeenOf<Args, Many::kNone> {
  using Type = const Args&;
};
template <typename Args, typename Batch>
using Seen = typename SeenOf<Args, Batch::kMany>::Type;

}  // namespace autokernel::batch
