// Rows that an index picks: gathered ones, and scattered ones.
//
// An index holds a row's number for each row of the launch. One that is negative, or not below the rows of the operand, picks
// no row: then nothing outside of the operand is touched, what is read is no number, and what is written is left out.
//
// Included before `rows_sm80.cuh`, whose loads and stores these are where an operand is picked.
#pragma once

#include "rows_vector.cuh"
#include "types.cuh"

namespace autokernel::rows {

// A row of an operand; the first one where there is no such row.
struct Pick {
  int64_t row;
  bool is_there;
};

__device__ __forceinline__ Pick pick(const void* index, int64_t at, int rows) {
  const int row = __ldg(static_cast<const int*>(index) + at);
  const bool is_there = static_cast<unsigned>(row) < static_cast<unsigned>(rows);
  return {is_there ? row : 0, is_there};
}

// An element of a column.
template <typename T>
__device__ __forceinline__ float picked_element(const T* column, Pick pick) {
  return pick.is_there ? to_f32(column[pick.row]) : __int_as_float(0x7fc00000);
}

// A row of an operand, if it is there.
template <typename T>
struct PickedPlace {
  Place<T> place;
  bool is_there;
};

// The row whose vectors begin at column `first`.
template <int kVector, typename T>
__device__ __forceinline__ PickedPlace<T> place(T* operand, int64_t ld, Pick pick, int first) {
  return {place<kVector>(operand + pick.row * ld, first), pick.is_there};
}

// A quiet NaN in each element of a word.
template <typename T>
constexpr uint32_t kNans = sizeof(T) == 4                            ? 0x7fc00000u
                           : DtypeOf<T>::value == Dtype::kBf16 ? 0x7fc07fc0u
                                                                     : 0x7e007e00u;

template <bool kIsAligned, typename T, int kVector>
__device__ __forceinline__ void load(Packed<T, kVector>& packed, PickedPlace<const T> picked, Span<kVector> span) {
  load<kIsAligned>(packed, picked.place, Span<kVector>{span.first, span.is_inside && picked.is_there});
  if (picked.is_there) return;
#pragma unroll
  for (int word = 0; word < packed.kWords; ++word) packed.words[word] = kNans<T>;
}

template <bool kIsAligned, typename T, int kVector>
__device__ __forceinline__ void store(PickedPlace<T> picked, Span<kVector> span, const float (&values)[kVector]) {
  store<kIsAligned>(picked.place, Span<kVector>{span.first, span.is_inside && picked.is_there}, values);
}

}  // namespace autokernel::rows
