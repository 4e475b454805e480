// Inputs of a body whose columns repeat along a row: tables of as many columns as they like. Of a table without columns all
// elements are no numbers.
#pragma once

#include "body_operand.cuh"

namespace autokernel::body {

template <template <typename, Indexed> class Input, typename T, Indexed kIndexed>
struct Repeated : Input<T, kIndexed> {
  using Base = Input<T, kIndexed>;
  int own = 0;  // columns of the table

  __device__ __forceinline__ Repeated& with(int columns) {
    own = columns;
    return *this;
  }

  __device__ __forceinline__ float at(int pair, int i) const {
    return own > 0 ? Base::at(pair, i) : __int_as_float(0x7fc00000);
  }

  // Tables stay in L2.
  template <int kRows, int kColumns>
  __device__ __forceinline__ static void touch(const void*, Index, Index) {}
  template <int kRows, int kColumns>
  __device__ __forceinline__ static void prefetch(const void*, int64_t, Index, Index) {}

  // Pairs begin at even columns of C: those of a table of an odd number of columns are torn.
  __device__ __forceinline__ bool is_paired(const void* data, int64_t ld) const {
    return own % 2 == 0 && Base::is_paired(data, ld);
  }

  __device__ __forceinline__ void load(const void* data, int64_t ld, Index place) {
    if (own > 0) Base::load(data, ld, Index{place.row, place.column % own});
  }

  template <bool kSwapped>
  __device__ __forceinline__ void load_shared(const void* data, int64_t ld, Place<kSwapped> place) {
    if constexpr (!Base::kAlong) load_each<false>(static_cast<const T*>(data), ld, place);
  }

  template <bool kPaired, bool kSwapped>
  __device__ __forceinline__ void load(const void* data, int64_t ld, Place<kSwapped> place) {
    if constexpr (Base::kAlong) load_each<kPaired>(static_cast<const T*>(data), ld, place);
  }

  template <bool kSwapped>
  __device__ __forceinline__ void load_whole(const void* data, int64_t ld, Place<kSwapped> place, int number) {
    load<true>(data, ld, place.fragment(number));
  }

 private:
  static constexpr bool kHasRows = is_by_row(kIndexed);

  template <bool kPaired, bool kSwapped>
  __device__ __forceinline__ void load_each(const T* data, int64_t ld, Place<kSwapped> place) {
    if (own == 0) return;
#pragma unroll
    for (int pair = 0; pair < Base::kPairs; ++pair) {
      const Place<kSwapped> at = place.pair(pair);
      if (kHasRows && at.row >= at.rows) continue;
      const T* const row = data + (kHasRows ? at.row * ld : 0);
      const int column = at.column % own;
      auto& loaded = this->pairs[pair];
      if constexpr (kPaired && Base::kAdjacent) {
        loaded.load_pair(row + column);
      } else {
        loaded.load(0, row + column);
        if constexpr (kSwapped && Base::kAlong) {  // the element below
          if (at.row + 1 < at.rows) loaded.load(1, row + ld + column);
        } else if constexpr (Base::kAlong) {  // its neighbour
          loaded.load(1, row + (column + 1 < own ? column + 1 : 0));
        }
      }
    }
  }
};

}  // namespace autokernel::body
