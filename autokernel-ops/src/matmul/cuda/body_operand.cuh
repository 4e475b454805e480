// Operands of a body as a lane reads and writes them. Nothing outside of an operand is touched: what lies beyond the rows
// and columns of C reads as zero and is not stored.
#pragma once

#include "ptx/prefetch.cuh"
#include "types.cuh"

namespace autokernel::body {

// By what an operand is indexed: a Row by column, a Column by row, a Matrix by both, a Scalar by nothing.
enum class Indexed { kByColumn, kByRow, kByBoth, kByNothing };

constexpr bool is_by_row(Indexed indexed) { return indexed == Indexed::kByRow || indexed == Indexed::kByBoth; }
constexpr bool is_by_column(Indexed indexed) { return indexed == Indexed::kByColumn || indexed == Indexed::kByBoth; }

constexpr int kSectorBytes = 32;  // what L2 is filled by

// A value that a type carries.
template <bool kValue>
struct Constant {
  static constexpr bool value = kValue;
};

// The place of an element in C.
struct Index {
  int row;
  int column;
};

// Where a lane's part of a fragment begins in C.
template <bool kSwapped>
struct Place {
  int row;
  int column;
  int rows;  // of C
  int columns;

  // That of the fragment whose first element, of any lane, is (row, column).
  __device__ __forceinline__ static Place of_lane(int row, int column, int rows, int columns) {
    const int lane = threadIdx.x % kWarpSize;
    const int along = lane % 4 * 2;
    const int across = lane / 4;
    return {row + (kSwapped ? along : across), column + (kSwapped ? across : along), rows, columns};
  }

  __device__ __forceinline__ Place fragment(int number) const {
    return {row + (kSwapped ? 8 * number : 0), column + (kSwapped ? 0 : 8 * number), rows, columns};
  }

  __device__ __forceinline__ Place pair(int number) const {
    return {row + (kSwapped ? 0 : 8 * number), column + (kSwapped ? 8 * number : 0), rows, columns};
  }

  // Element `i` of the pair.
  __device__ __forceinline__ Index element(int i) const {
    return {row + (kSwapped ? i : 0), column + (kSwapped ? 0 : i)};
  }

  // Whether all of a lane's elements exist along the pairs of so many fragments, and across them.
  __device__ __forceinline__ bool is_whole_along(int fragments) const {
    const Index last = fragment(fragments - 1).element(1);
    return kSwapped ? last.row < rows : last.column < columns;
  }
  __device__ __forceinline__ bool is_whole_across() const {
    const Place last = pair(1);
    return kSwapped ? last.column < columns : last.row < rows;
  }

  // Whether all of a lane's columns of the fragment exist; its rows need not.
  __device__ __forceinline__ bool is_in_columns() const {
    return (kSwapped ? pair(1).column : element(1).column) < columns;
  }

  // Elements of the pair that exist, from 2 on all.
  __device__ __forceinline__ int count() const {
    if (kSwapped ? column >= columns : row >= rows) return 0;
    return kSwapped ? rows - row : columns - column;
  }
};

__device__ __forceinline__ uint32_t load_bits(const bf16* from) { return __ldg(&from->bits); }
__device__ __forceinline__ uint32_t load_bits(const f16* from) { return __ldg(&from->bits); }
__device__ __forceinline__ uint32_t load_bits(const f32* from) { return __float_as_uint(__ldg(from)); }

// One or two neighbouring elements as they lie in memory.
template <typename T, int kElements>
struct Bits {
  static constexpr int kWords = (kElements * static_cast<int>(sizeof(T)) + 3) / 4;
  uint32_t words[kWords] = {};

  // In fp32; `i` is known when the loop around is unrolled.
  __device__ __forceinline__ float operator[](int i) const {
    if constexpr (DtypeOf<T>::value == Dtype::kF32) {
      return __uint_as_float(words[i]);
    } else if constexpr (DtypeOf<T>::value == Dtype::kBf16) {
      return __uint_as_float(i == 0 ? words[0] << 16 : words[0] & 0xffff0000u);
    } else {
      return ptx::f16_to_f32(static_cast<uint16_t>(words[0] >> 16 * i));
    }
  }

  // Element `i` alone.
  __device__ __forceinline__ void load(int i, const T* from) {
    if constexpr (sizeof(T) == 4) {
      words[i] = load_bits(from);
    } else {
      words[0] |= load_bits(from) << 16 * i;
    }
  }

  // Both, from an address that is a multiple of their size.
  __device__ __forceinline__ void load_pair(const T* from) {
    if constexpr (sizeof(T) == 4) {
      const uint2 loaded = __ldg(reinterpret_cast<const uint2*>(from));
      words[0] = loaded.x;
      words[1] = loaded.y;
    } else {
      words[0] = __ldg(reinterpret_cast<const uint32_t*>(from));
    }
  }
};

// An input of one lane's part of a fragment.
template <bool kSwapped>
struct Fragment {
  template <typename T, Indexed kIndexed>
  struct Input {
    static constexpr bool kByRow = is_by_row(kIndexed);
    static constexpr bool kByColumn = is_by_column(kIndexed);
    // Whether it differs between the neighbours of a pair, and between pairs.
    static constexpr bool kAlong = kSwapped ? kByRow : kByColumn;
    static constexpr bool kAcross = kSwapped ? kByColumn : kByRow;
    // Whether the neighbours of a pair are neighbours in memory.
    static constexpr bool kAdjacent = kAlong && !(kSwapped && kByColumn);
    static constexpr int kPairs = kAcross ? 2 : 1;
    using Pair = Bits<T, kAlong ? 2 : 1>;
    static constexpr int kWords = kAlong ? kPairs * Pair::kWords : 0;  // that a fragment does not share with others

    Pair pairs[kPairs];

    __device__ __forceinline__ float at(int pair, int i) const { return pairs[kAcross ? pair : 0][kAlong ? i : 0]; }

    __device__ __forceinline__ static bool is_paired(const void* data, int64_t ld) {
      if constexpr (!kAdjacent) return true;
      const uint64_t pitch = kByRow && kByColumn ? ld * sizeof(T) : 0;
      return (reinterpret_cast<uint64_t>(data) | pitch) % (2 * sizeof(T)) == 0;
    }

    // What the fragments from `place` on have in common.
    __device__ __forceinline__ void load_shared(const void* data, int64_t ld, Place<kSwapped> place) {
      if constexpr (!kAlong) load_each<false>(static_cast<const T*>(data), ld, place);
    }

    // What differs from the fragment before it.
    template <bool kPaired>
    __device__ __forceinline__ void load(const void* data, int64_t ld, Place<kSwapped> place) {
      if constexpr (kAlong) load_each<kPaired>(static_cast<const T*>(data), ld, place);
    }

    // The same of fragment `number` of those from `place` on, all of whose elements exist, and pairs lie at multiples of their size. Of all
    // fragments of a lane one address, and constants.
    __device__ __forceinline__ void load_whole(const void* data, int64_t ld, Place<kSwapped> place, int number) {
      if constexpr (kAlong) {
#pragma unroll
        for (int pair = 0; pair < kPairs; ++pair) {
          const int64_t step = kAdjacent ? 1 : ld;
          const T* from = address(static_cast<const T*>(data), ld, place.pair(pair)) + 8 * number * step;
          if constexpr (kAdjacent) {
            pairs[pair].load_pair(from);
          } else {
            pairs[pair].load(0, from);
            pairs[pair].load(1, from + step);
          }
        }
      }
    }

    // Brings to L1 what there is of what varies along one axis alone, in kRows rows and kColumns columns from `first` on. By a warp.
    template <int kRows, int kColumns>
    __device__ __forceinline__ static void touch(const void* data, Index first, Index end) {
      if constexpr (!(kByRow && kByColumn)) {
        constexpr int kCount = kByRow ? kRows : kByColumn ? kColumns : 1, kStep = kSectorBytes / static_cast<int>(sizeof(T));
        const int begin = kByRow ? first.row : kByColumn ? first.column : 0;
        const int count = min(kCount, kByRow ? end.row - begin : kByColumn ? end.column - begin : 1);
#pragma unroll
        for (int at = threadIdx.x % kWarpSize * kStep; at < ceil_div(kCount, kStep) * kStep; at += kWarpSize * kStep) {
          if (at < count) ptx::prefetch_to_l1(static_cast<const T*>(data) + begin + at);
        }
      }
    }

    // Brings to L2 what there is of a matrix in kRows rows and kColumns columns from `first` on. By a warp.
    template <int kRows, int kColumns>
    __device__ __forceinline__ static void prefetch(const void* data, int64_t ld, Index first, Index end) {
      if constexpr (kByRow && kByColumn) {
        constexpr int kStep = kSectorBytes / static_cast<int>(sizeof(T)), kOfRow = ceil_div(kColumns, kStep);
#pragma unroll
        for (int sector = threadIdx.x % kWarpSize; sector < kRows * kOfRow; sector += kWarpSize) {
          const Index at{first.row + sector / kOfRow, first.column + sector % kOfRow * kStep};
          if (at.row < end.row && at.column < end.column) ptx::prefetch_to_l2(static_cast<const T*>(data) + at.row * ld + at.column);
        }
      }
    }

   private:
    __device__ __forceinline__ static const T* address(const T* data, int64_t ld, Place<kSwapped> at) {
      return data + (kByRow && kByColumn ? at.row * ld : kByRow ? at.row : 0) + (kByColumn ? at.column : 0);
    }

    template <bool kPaired>
    __device__ __forceinline__ void load_each(const T* data, int64_t ld, Place<kSwapped> place) {
#pragma unroll
      for (int pair = 0; pair < kPairs; ++pair) {
        const Place<kSwapped> at = place.pair(pair);
        const T* from = address(data, ld, at);
        const int64_t step = kAdjacent ? 1 : ld;
        const int count = left(at);
        Pair& loaded = pairs[pair];
        if (kAdjacent && kPaired && count >= 2) {
          if constexpr (kAdjacent) loaded.load_pair(from);
        } else {
          if (count >= 1) loaded.load(0, from);
          if constexpr (kAlong) {
            if (count >= 2) loaded.load(1, from + step);
          }
        }
      }
    }

    // Elements of the pair that this operand has.
    __device__ __forceinline__ static int left(Place<kSwapped> at) {
      if (kByRow && at.row >= at.rows || kByColumn && at.column >= at.columns) return 0;
      return kSwapped ? at.rows - at.row : at.columns - at.column;
    }
  };
};

// An input of a single element.
template <typename T, Indexed kIndexed>
struct Element {
  Bits<T, 1> bits;

  __device__ __forceinline__ float at(int, int) const { return bits[0]; }

  __device__ __forceinline__ void load(const void* data, int64_t ld, Index at) {
    constexpr bool kByRow = is_by_row(kIndexed), kByColumn = is_by_column(kIndexed);
    const int64_t index = (kByRow && kByColumn ? at.row * ld : kByRow ? at.row : 0) + (kByColumn ? at.column : 0);
    bits.load(0, static_cast<const T*>(data) + index);
  }
};

template <typename T>
__device__ __forceinline__ void store(T* to, float value) {
  *to = from_f32<T>(value);
}

// Both elements of a pair, those that exist.
template <typename T, bool kSwapped>
__device__ __forceinline__ void store_pair(T* data, int64_t ld, Place<kSwapped> place, int pair, float low, float high) {
  const Place<kSwapped> at = place.pair(pair);
  const int count = at.count();
  T* const to = data + at.row * ld + at.column;
  if (!kSwapped && count >= 2 && reinterpret_cast<uint64_t>(to) % (2 * sizeof(T)) == 0) {
    if constexpr (sizeof(T) == 4) {
      *reinterpret_cast<float2*>(to) = make_float2(low, high);
    } else if constexpr (sizeof(T) == 2) {
      *reinterpret_cast<uint32_t*>(to) = pack2<T>(low, high);
    } else {
      *reinterpret_cast<uint16_t*>(to) = static_cast<uint16_t>(pack2<T>(low, high));
    }
    return;
  }
  if (count >= 1) store(to, low);
  if (count >= 2) store(to + (kSwapped ? ld : 1), high);
}

}  // namespace autokernel::body
