// Vectors of a row: where they lie, how they are loaded, widened and stored.
//
// A row may begin at any element and its length be anything. It is cut where memory is aligned: into whole vectors, which
// move in accesses of up to 16 bytes, and the single elements before the first and behind the last of them. No byte
// outside the row is touched.
//
// What is read or written once a launch is marked as streaming, so that it leaves L2 before what is used again: reads and
// writes of DRAM then come in longer turns.
#pragma once

#include "types.cuh"

namespace autokernel::rows {

__device__ __forceinline__ float to_f32(bf16 value) { return __uint_as_float(uint32_t(value.bits) << 16); }
__device__ __forceinline__ float to_f32(f16 value) { return ptx::f16_to_f32(value.bits); }
__device__ __forceinline__ float to_f32(f32 value) { return value; }

constexpr int kMostAccessBytes = 16;

// The widest access that a vector divides into.
template <typename T, int kVector>
constexpr int kAccessBytes = kVector * int(sizeof(T)) < kMostAccessBytes ? kVector * int(sizeof(T)) : kMostAccessBytes;

// Elements from an address to the next that is aligned for vectors.
template <int kVector, typename T>
__device__ __forceinline__ int columns_to_alignment(const T* address) {
  return int(-reinterpret_cast<uintptr_t>(address) % kAccessBytes<T, kVector> / sizeof(T));
}

// Whether the rows of an operand all begin at multiples of an access; a single row has no stride.
template <int kVector, typename T>
__device__ __forceinline__ bool is_aligned(const T* first, int64_t ld = 0) {
  return columns_to_alignment<kVector>(first) == 0 && columns_to_alignment<kVector>(first + ld) == 0;
}

// Whether a vector of each row of one operand is aligned where that of the other is.
template <int kVector, typename T, typename Other>
__device__ __forceinline__ bool is_alike(const T* first, int64_t ld, const Other* other, int64_t other_ld) {
  const auto at = [](const auto* address) { return columns_to_alignment<kVector>(address); };
  return sizeof(T) == sizeof(Other) && at(first) == at(other) && at(first + ld) == at(other + other_ld);
}

// kVector neighbouring columns of a row, if it has them.
template <int kVector>
struct Span {
  static constexpr int kColumns = kVector;

  int first;
  bool is_inside;
  int held = 0;  // columns before it in the piece of the row that its block has in shared memory
};

// The vectors of a row that one of several blocks takes.
struct Piece {
  int first;
  int count;

  // Of a row of `vectors`, by kBlocks blocks: as many for each, the last may have fewer.
  template <int kBlocks>
  __device__ __forceinline__ static Piece of(int block, int vectors) {
    const int most = kBlocks > 1 ? (vectors + kBlocks - 1) / kBlocks : vectors;
    const int first = block * most;
    return {first, max(0, min(most, vectors - first))};
  }
};

// One row of an operand.
template <typename T>
struct Place {
  T* row;
  bool is_aligned;  // whether its vectors begin at multiples of their access
};

// The row whose vectors begin at column `first`.
template <int kVector, typename T>
__device__ __forceinline__ Place<T> place(T* row, int first) {
  return {row, columns_to_alignment<kVector>(row + first) == 0};
}

// Neighbouring elements as they lie in memory.
template <typename T, int kVector>
struct Packed {
  static constexpr int kWords = (kVector * int(sizeof(T)) + 3) / 4;
  static constexpr int kAccessWords = kVector > 1 ? kAccessBytes<T, kVector> / 4 : 1;
  static_assert(kVector == 1 || kWords * 4 == kVector * int(sizeof(T)), "schedule rule `vector`: whole words");
  static_assert(kWords % kAccessWords == 0, "schedule rule `vector`: whole accesses");

  uint32_t words[kWords];

  // In fp32; `i` is known when the loop around is unrolled.
  __device__ __forceinline__ float operator[](int i) const {
    if constexpr (sizeof(T) == 4) {
      return __uint_as_float(words[i]);
    } else if constexpr (DtypeOf<T>::value == Dtype::kBf16) {
      return __uint_as_float(i % 2 ? words[i / 2] & 0xffff0000u : words[i / 2] << 16);
    } else {
      return ptx::f16_to_f32(static_cast<uint16_t>(words[i / 2] >> 16 * (i % 2)));
    }
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int word = 0; word < kWords; ++word) words[word] = 0;
  }
};

// Read-only memory, aligned. Neither loads nor stores are marked to leave L2 first: what launches before left there would
// then stay, and these kernels have the rest of it alone.
template <int kWords>
__device__ __forceinline__ void load_words(uint32_t* words, const void* from) {
  if constexpr (kWords == 4) {
    const auto* typed = static_cast<const uint4*>(from);
    const uint4 loaded = __ldg(typed);
    words[0] = loaded.x, words[1] = loaded.y, words[2] = loaded.z, words[3] = loaded.w;
  } else if constexpr (kWords == 2) {
    const auto* typed = static_cast<const uint2*>(from);
    const uint2 loaded = __ldg(typed);
    words[0] = loaded.x, words[1] = loaded.y;
  } else {
    const auto* typed = static_cast<const uint32_t*>(from);
    words[0] = __ldg(typed);
  }
}

template <typename T>
__device__ __forceinline__ uint32_t load_bits(const T* from) {
  if constexpr (sizeof(T) == 4) {
    return __float_as_uint(__ldg(from));
  } else {
    return __ldg(&from->bits);
  }
}

// Elements that begin at no multiple of their access, in words; those of 16 bits that share a word with others singly.
template <typename T, int kVector>
__device__ __forceinline__ void load_unaligned(Packed<T, kVector>& packed, const T* from) {
  if constexpr (sizeof(T) == 4) {
#pragma unroll
    for (int word = 0; word < packed.kWords; ++word) packed.words[word] = load_bits(from + word);
  } else {
    const int shared = reinterpret_cast<uintptr_t>(from) % 4 != 0;
    const auto word_at = [&](int word) { return __ldg(reinterpret_cast<const uint32_t*>(from - shared) + word); };
    uint32_t words[packed.kWords + 1];
    words[0] = shared ? load_bits(from) << 16 : word_at(0);
#pragma unroll
    for (int word = 1; word < packed.kWords; ++word) words[word] = word_at(word);
    words[packed.kWords] = shared ? load_bits(from + kVector - 1) : 0;
#pragma unroll
    for (int word = 0; word < packed.kWords; ++word) {
      packed.words[word] = __funnelshift_r(words[word], words[word + 1], shared * 16);
    }
  }
}

// The same of a span with as many columns of its row on either side, out of the aligned accesses around it: two where words would be
// five, and those of a warp side by side. Straight code, so that the loads of several spans are on their way together.
template <typename T, int kVector>
__device__ __forceinline__ void load_around(Packed<T, kVector>& packed, const T* row, Span<kVector> span) {
  constexpr int kWords = Packed<T, kVector>::kWords, kAccessWords = kMostAccessBytes / 4;
  static_assert(kWords % kAccessWords == 0, "whole accesses");
  const auto* from = reinterpret_cast<const char*>(row + span.first);
  const int before = reinterpret_cast<uintptr_t>(from) % kMostAccessBytes;
  uint32_t words[kWords + kAccessWords] = {};
  if (span.is_inside) {
#pragma unroll
    for (int word = 0; word < kWords + kAccessWords; word += kAccessWords) {
      load_words<kAccessWords>(words + word, from - before + word * 4);
    }
  }
#pragma unroll
  for (int step = kAccessWords / 2; step > 0; step /= 2) {
    const bool moves = before & step * 4;
#pragma unroll
    for (int word = 0; word < kWords + step; ++word) words[word] = moves ? words[word + step] : words[word];
  }
#pragma unroll
  for (int word = 0; word < kWords; ++word) {
    packed.words[word] = sizeof(T) == 4 ? words[word] : __funnelshift_r(words[word], words[word + 1], before % 4 * 8);
  }
}

// The elements of a span; zeros if it is not inside the row. kIsAligned: all operands are.
template <bool kIsAligned, typename T, int kVector>
__device__ __forceinline__ void load(Packed<T, kVector>& packed, Place<const T> place, Span<kVector> span) {
  using Vector = Packed<T, kVector>;
  packed.clear();
  if (!span.is_inside) return;
  const T* from = place.row + span.first;
  if constexpr (kVector == 1) {
    packed.words[0] = load_bits(from);
  } else if (kIsAligned || place.is_aligned) {
#pragma unroll
    for (int word = 0; word < Vector::kWords; word += Vector::kAccessWords) {
      load_words<Vector::kAccessWords>(packed.words + word, from + word * 4 / int(sizeof(T)));
    }
  } else {
    load_unaligned(packed, from);
  }
}

// fp32 values, rounded to the output's type; nothing if the span is not inside the row.
template <bool kIsAligned, typename T, int kVector>
__device__ __forceinline__ void store(Place<T> place, Span<kVector> span, const float (&values)[kVector]) {
  using Vector = Packed<T, kVector>;
  if (!span.is_inside) return;
  T* to = place.row + span.first;
  if (kVector == 1 || !kIsAligned && !place.is_aligned) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) to[i] = from_f32<T>(values[i]);
    return;
  }
  if constexpr (kVector > 1) {
    Vector packed;
#pragma unroll
    for (int word = 0; word < Vector::kWords; ++word) {
      if constexpr (sizeof(T) == 4) {
        packed.words[word] = __float_as_uint(values[word]);
      } else {
        packed.words[word] = pack2<T>(values[2 * word], values[2 * word + 1]);
      }
    }
#pragma unroll
    for (int word = 0; word < Vector::kWords; word += Vector::kAccessWords) {
      void* part = to + word * 4 / int(sizeof(T));
      const uint32_t* words = packed.words + word;
      if constexpr (Vector::kAccessWords == 4) {
        *static_cast<uint4*>(part) = make_uint4(words[0], words[1], words[2], words[3]);
      } else if constexpr (Vector::kAccessWords == 2) {
        *static_cast<uint2*>(part) = make_uint2(words[0], words[1]);
      } else {
        *static_cast<uint32_t*>(part) = words[0];
      }
    }
  }
}

}  // namespace autokernel::rows
