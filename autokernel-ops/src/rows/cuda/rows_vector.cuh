// Vectors of a row: which columns they cover, how they are loaded, widened and stored.
//
// A row may begin at any element and its length be anything. Its vectors are cut where memory is aligned: the first one
// may begin before the row and the last one end beyond it. Whole vectors move in accesses of up to 16 bytes, the others
// element by element, and no byte outside the row is touched.
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

// Columns that lie between the last aligned address and the row's first element: by so many the vectors begin early.
template <int kVector, typename T>
__device__ __forceinline__ int phase(const T* row) {
  return int(reinterpret_cast<uintptr_t>(row) % kAccessBytes<T, kVector> / sizeof(T));
}

// The most that it is in any row of a matrix.
template <int kVector, typename T>
__device__ __forceinline__ int most_phase(const T* matrix, int64_t ld) {
  const bool is_aligned = phase<kVector>(matrix) == 0 && phase<kVector>(matrix + ld) == 0;
  return is_aligned ? 0 : kVector - 1;
}

// The columns of one vector, clipped to the row.
template <int kVector>
struct Span {
  int first;    // below 0 where the vector begins before the row
  int columns;  // of the row

  __device__ __forceinline__ bool is_empty() const { return first >= columns; }
  __device__ __forceinline__ bool is_whole() const { return first >= 0 && first + kVector <= columns; }
  __device__ __forceinline__ bool holds(int i) const { return unsigned(first + i) < unsigned(columns); }
};

// One row of an operand.
template <typename T>
struct Place {
  T* row;
  bool is_aligned;  // whether its vectors begin at multiples of their access
};

template <int kVector, typename T>
__device__ __forceinline__ Place<T> place(T* row, int phase) {
  const auto first = reinterpret_cast<uintptr_t>(row) - phase * sizeof(T);
  return {row, first % kAccessBytes<T, kVector> == 0};
}

// Neighbouring elements as they lie in memory.
template <typename T, int kVector>
struct Packed {
  static constexpr int kWords = kVector * int(sizeof(T)) / 4;
  static constexpr int kAccessWords = kAccessBytes<T, kVector> / 4;
  static_assert(kWords * 4 == kVector * int(sizeof(T)), "schedule rule `vector`: whole words");
  static_assert(kWords % kAccessWords == 0, "schedule rule `vector`: whole accesses");

  uint32_t words[kWords];

  // Moves every element to the one before it and puts another behind them. A loop of these is short code in few
  // registers, which have no index.
  __device__ __forceinline__ void push(uint32_t bits) {
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      const uint32_t next = word + 1 < kWords ? words[word + 1] : bits;
      words[word] = sizeof(T) == 4 ? next : __funnelshift_r(words[word], next, 16);
    }
  }

  // The first element, which the others follow.
  __device__ __forceinline__ T pop() {
    const uint32_t bits = words[0];
    push(0);
    if constexpr (sizeof(T) == 4) {
      return __uint_as_float(bits);
    } else {
      return T{static_cast<uint16_t>(bits)};
    }
  }

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
};

// Read-only memory that is not read again soon: past L1.
template <int kWords>
__device__ __forceinline__ void load_words(uint32_t* words, const void* from) {
  if constexpr (kWords == 4) {
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
        : "l"(from));
  } else if constexpr (kWords == 2) {
    asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(words[0]), "=r"(words[1]) : "l"(from));
  } else {
    asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(words[0]) : "l"(from));
  }
}

// Read-only memory that every row reads: through L1.
template <int kWords>
__device__ __forceinline__ void load_words_cached(uint32_t* words, const void* from) {
  if constexpr (kWords == 4) {
    const uint4 loaded = __ldg(static_cast<const uint4*>(from));
    words[0] = loaded.x, words[1] = loaded.y, words[2] = loaded.z, words[3] = loaded.w;
  } else if constexpr (kWords == 2) {
    const uint2 loaded = __ldg(static_cast<const uint2*>(from));
    words[0] = loaded.x, words[1] = loaded.y;
  } else {
    words[0] = __ldg(static_cast<const uint32_t*>(from));
  }
}

enum class Cache { kStream, kReuse };

// The elements of a span; zeros outside the row.
template <Cache kCache, typename T, int kVector>
__device__ __forceinline__ void load(Packed<T, kVector>& packed, Place<const T> place, Span<kVector> span) {
  using Vector = Packed<T, kVector>;
  if (place.is_aligned && span.is_whole()) {
    const T* from = place.row + span.first;
#pragma unroll
    for (int word = 0; word < Vector::kWords; word += Vector::kAccessWords) {
      const void* part = from + word * 4 / int(sizeof(T));
      if constexpr (kCache == Cache::kStream) {
        load_words<Vector::kAccessWords>(packed.words + word, part);
      } else {
        load_words_cached<Vector::kAccessWords>(packed.words + word, part);
      }
    }
  } else {
#pragma unroll 1
    for (int i = 0; i < kVector; ++i) {
      uint32_t element = 0;
      if (span.holds(i)) {
        if constexpr (sizeof(T) == 4) {
          element = __float_as_uint(place.row[span.first + i]);
        } else {
          element = place.row[span.first + i].bits;
        }
      }
      packed.push(element);
    }
  }
}

// fp32 values, rounded to the output's type; nothing outside the row.
template <typename T, int kVector>
__device__ __forceinline__ void store(Place<T> place, Span<kVector> span, const float (&values)[kVector]) {
  using Vector = Packed<T, kVector>;
  Vector packed;
#pragma unroll
  for (int word = 0; word < Vector::kWords; ++word) {
    if constexpr (sizeof(T) == 4) {
      packed.words[word] = __float_as_uint(values[word]);
    } else {
      packed.words[word] = pack2<T>(values[2 * word], values[2 * word + 1]);
    }
  }
  if (place.is_aligned && span.is_whole()) {
    T* to = place.row + span.first;
#pragma unroll
    for (int word = 0; word < Vector::kWords; word += Vector::kAccessWords) {
      void* part = to + word * 4 / int(sizeof(T));
      const uint32_t* words = packed.words + word;
      if constexpr (Vector::kAccessWords == 4) {
        *static_cast<uint4*>(part) = {words[0], words[1], words[2], words[3]};
      } else if constexpr (Vector::kAccessWords == 2) {
        *static_cast<uint2*>(part) = {words[0], words[1]};
      } else {
        *static_cast<uint32_t*>(part) = words[0];
      }
    }
  } else {
#pragma unroll 1
    for (int i = 0; i < kVector; ++i) {
      const T element = packed.pop();
      if (span.holds(i)) place.row[span.first + i] = element;
    }
  }
}

}  // namespace autokernel::rows
