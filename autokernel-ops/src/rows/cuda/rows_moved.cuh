// Elements of other columns: the partners of a rotation, and tables that repeat along a row.
//
// Mostly what stands for a vector is a vector, too, and is loaded as one: out of L1 where another thread of the row loads it for
// itself. At seams it is loaded element by element. An element that is not there is no number. Where operands are aligned and columns
// move by whole vectors there are no seams, and the code is straight: a launch of few rows fetches it from memory, instruction after
// instruction, so that it is short.
//
// Included before `rows_sm80.cuh`, whose loads these are where columns are moved.
#pragma once

#include "rows_vector.cuh"
#include "types.cuh"

namespace autokernel::rows {

// What stands for a column.
struct Moved {
  int column;
  bool is_there;
  bool is_negated;
};

// Of kHead columns the first half takes the second, negated, and the second the first.
template <int kHead>
struct RotateHalf {
  static constexpr int kHalf = kHead / 2;
  // Whether a vector whose ends stay together is together between them.
  template <int kVector>
  static constexpr bool kIsWhole = kHalf >= kVector;
  // Whether an aligned vector stands for an aligned one, where a row divides into aligned ones.
  template <int kVector>
  static constexpr bool kKeepsVectors = kHalf % kVector == 0;
  static constexpr bool kSwapsNeighbours = false;

  int columns;

  __device__ __forceinline__ Moved at(int column) const {
    const bool is_first = column % kHead < kHalf;
    const int partner = is_first ? column + kHalf : column - kHalf;
    return {partner, partner < columns, is_first};
  }
};

// Of a pair of neighbours the first takes the second, negated, and the second the first.
struct RotatePairs {
  template <int kVector>
  static constexpr bool kIsWhole = false;
  template <int kVector>
  static constexpr bool kKeepsVectors = kVector % 2 == 0;
  static constexpr bool kSwapsNeighbours = true;

  int columns;

  __device__ __forceinline__ Moved at(int column) const {
    const int partner = column ^ 1;
    return {partner, partner < columns, column % 2 == 0};
  }
};

// Those of a table over and over.
struct RepeatColumns {
  template <int kVector>
  static constexpr bool kIsWhole = true;
  // A row does so only where tables divide into them, too.
  template <int kVector>
  static constexpr bool kKeepsVectors = true;
  static constexpr bool kSwapsNeighbours = false;

  int columns;  // of the table

  __device__ __forceinline__ Moved at(int column) const {
    if (columns <= 0) return {0, false, false};
    const unsigned at = column, width = columns;
    // Mostly a power of two: the rest of a division takes more instructions than the loads.
    return {static_cast<int>((width & (width - 1)) == 0 ? at & (width - 1) : at % width), true, false};
  }
};

// A row of an operand, whose columns are others.
template <typename T, typename Columns>
struct MovedPlace {
  T* row;
  bool is_there;
  Columns columns;
};

// The sign of each element of a word, and a quiet NaN as an element.
template <typename T>
constexpr uint32_t kSigns = sizeof(T) == 4 ? 0x80000000u : 0x80008000u;
template <typename T>
constexpr uint32_t kNan = sizeof(T) == 4 ? 0x7fc00000u : DtypeOf<T>::value == Dtype::kBf16 ? 0x7fc0u : 0x7e00u;

// Elements of a word.
template <typename T>
constexpr int kPerWord = 4 / int(sizeof(T));

template <typename T, typename Columns>
__device__ __forceinline__ uint32_t moved_bits(MovedPlace<const T, Columns> place, int column) {
  const Moved moved = place.columns.at(column);
  if (!place.is_there || !moved.is_there) return kNan<T>;
  const uint32_t bits = load_bits(place.row + moved.column);
  return moved.is_negated ? bits ^ 1u << (8 * sizeof(T) - 1) : bits;
}

// The neighbours of each pair in the place of each other, the first of them negated.
template <typename T, int kVector>
__device__ __forceinline__ void turn_pairs(Packed<T, kVector>& packed) {
  if constexpr (sizeof(T) == 4) {
#pragma unroll
    for (int word = 0; word < packed.kWords; word += 2) {
      const uint32_t first = packed.words[word];
      packed.words[word] = packed.words[word + 1] ^ kSigns<T>;
      packed.words[word + 1] = first;
    }
  } else {
#pragma unroll
    for (int word = 0; word < packed.kWords; ++word) {
      packed.words[word] = __funnelshift_l(packed.words[word], packed.words[word], 16) ^ 0x8000u;
    }
  }
}

// What stands for a vector, where that is a vector.
template <typename T, int kVector, typename Columns>
__device__ __forceinline__ bool load_whole(Packed<T, kVector>& packed, MovedPlace<const T, Columns> place, int column) {
  if constexpr (Columns::kSwapsNeighbours) {
    if (!place.is_there || column % 2 != 0) return false;
    load<false>(packed, rows::place<kVector>(place.row, column), Span<kVector>{column, true});
    turn_pairs(packed);
    return true;
  } else if constexpr (Columns::template kIsWhole<kVector>) {
    const Moved first = place.columns.at(column);
    const Moved last = place.columns.at(column + kVector - 1);
    const bool is_one = last.column - first.column == kVector - 1 && first.is_negated == last.is_negated;
    if (!place.is_there || !first.is_there || !last.is_there || !is_one) return false;
    load<false>(packed, rows::place<kVector>(place.row, first.column), Span<kVector>{first.column, true});
    const uint32_t signs = first.is_negated ? kSigns<T> : 0;
#pragma unroll
    for (int word = 0; word < packed.kWords; ++word) packed.words[word] ^= signs;
    return true;
  } else {
    return false;
  }
}

// What stands for an aligned vector, where that is an aligned vector: all of it is there, or nothing.
template <typename T, int kVector, typename Columns>
__device__ __forceinline__ void load_straight(Packed<T, kVector>& packed, MovedPlace<const T, Columns> place,
                                              Span<kVector> span) {
  Moved first = {span.first, true, false};
  if constexpr (!Columns::kSwapsNeighbours) first = place.columns.at(span.first);
  const bool is_there = place.is_there && first.is_there;
  load<true>(packed, Place<const T>{place.row, true}, Span<kVector>{first.column, span.is_inside && is_there});
  if constexpr (Columns::kSwapsNeighbours) turn_pairs(packed);
  const uint32_t signs = first.is_negated ? kSigns<T> : 0;
  const uint32_t nans = sizeof(T) == 4 ? kNan<T> : kNan<T> << 16 | kNan<T>;
#pragma unroll
  for (int word = 0; word < packed.kWords; ++word) packed.words[word] = is_there ? packed.words[word] ^ signs : nans;
}

template <bool kIsAligned, typename T, int kVector, typename Columns>
__device__ __forceinline__ void load(Packed<T, kVector>& packed, MovedPlace<const T, Columns> place,
                                     Span<kVector> span) {
  if constexpr (kIsAligned && kVector > 1 && Columns::template kKeepsVectors<kVector>) {
    load_straight(packed, place, span);
  } else {
    packed.clear();
    if (!span.is_inside) return;
    if constexpr (kVector > 1) {
      if (load_whole(packed, place, span.first)) return;
      packed.clear();
    }
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      packed.words[i / kPerWord<T>] |= moved_bits(place, span.first + i) << 8 * sizeof(T) * (i % kPerWord<T>);
    }
  }
}

}  // namespace autokernel::rows
