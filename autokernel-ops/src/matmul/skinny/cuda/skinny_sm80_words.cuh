// Words of 16 bytes around elements that begin anywhere: an access is a whole word, as those of single elements would take
// eight times as long.
//
// Beside a row's elements its first and last word hold others. Where rows follow each other without a gap these are the
// operand's own, but before its first element and behind its last one; else nobody may have written them. What is not the
// operand's is never read: there the row's elements come one by one, and zeros in the place of the others.
#pragma once

#include "skinny_sm80_schedule.cuh"
#include "types.cuh"

namespace autokernel::skinny_sm80 {

// How many elements it lies behind a multiple of 16 bytes.
__device__ __forceinline__ int behind_word(const uint16_t* element) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(element) / kElementBytes % kWordElements);
}

__device__ __forceinline__ uint32_t quarter(const uint4& word, int number) {
  return number == 0 ? word.x : number == 1 ? word.y : number == 2 ? word.z : word.w;
}

__device__ __forceinline__ uint4 load_word(const uint16_t* word) { return __ldcs(reinterpret_cast<const uint4*>(word)); }

// The memory of an operand without gaps; of another one it is empty.
struct Span {
  const uint16_t* begin;
  const uint16_t* end;

  __device__ __forceinline__ Span(const void* data, int64_t ld, int rows, int columns)
      : begin(static_cast<const uint16_t*>(data)), end(begin + (ld == columns || rows == 1 ? rows * int64_t{columns} : 0)) {}

  __device__ __forceinline__ bool is_empty() const { return begin == end; }

  __device__ __forceinline__ bool holds(const uint16_t* first, int64_t elements) const {
    return first >= begin && first + elements <= end;
  }
};

// The word at `first`, any number, of a row of `count` elements of an operand.
__device__ __forceinline__ uint4 load_word_of_row(const uint16_t* word, int first, int count, const Span& operand) {
  if (first >= count || first + kWordElements <= 0) return {0, 0, 0, 0};
  const bool is_in_row = first >= 0 && first + kWordElements <= count;
  if (is_in_row || operand.holds(word, kWordElements)) return load_word(word);
  uint32_t pairs[kWordElements / 2] = {};
#pragma unroll
  for (int i = 0; i < kWordElements; ++i) {
    const uint32_t element = static_cast<uint32_t>(first + i) < static_cast<uint32_t>(count) ? word[i] : 0;
    pairs[i / 2] |= element << 16 * (i % 2);
  }
  return {pairs[0], pairs[1], pairs[2], pairs[3]};
}

}  // namespace autokernel::skinny_sm80
