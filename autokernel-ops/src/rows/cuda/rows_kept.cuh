// `Row`s that a block keeps in shared memory for the launch, and vectors there.
#pragma once

#include "rows_vector.cuh"
#include "types.cuh"

namespace autokernel::rows {

// A vector from shared memory; zeros if it is not there. Without a branch, which threads would meet behind.
template <typename T, int kVector>
__device__ __forceinline__ void load_shared(Packed<T, kVector>& packed, uint32_t from, bool is_there) {
#pragma unroll
  for (int word = 0; word < packed.kWords; word += packed.kAccessWords) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %5, 0;\n"
        "mov.b32 %0, 0;\n"
        "mov.b32 %1, 0;\n"
        "mov.b32 %2, 0;\n"
        "mov.b32 %3, 0;\n"
        "@p ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];\n"
        "}"
        : "=&r"(packed.words[word]), "=&r"(packed.words[word + 1]), "=&r"(packed.words[word + 2]),
          "=&r"(packed.words[word + 3])
        : "r"(from + word * 4), "r"(int(is_there))
        : "memory");
  }
}

template <typename T, int kVector>
__device__ __forceinline__ void store_shared(const Packed<T, kVector>& packed, uint32_t to) {
#pragma unroll
  for (int word = 0; word < packed.kWords; word += packed.kAccessWords) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to + word * 4), "r"(packed.words[word]),
                 "r"(packed.words[word + 1]), "r"(packed.words[word + 2]), "r"(packed.words[word + 3])
                 : "memory");
  }
}

// The dynamic shared memory of a block: the pieces of the Rows that it keeps, and behind them what else it has there.
__device__ __forceinline__ uint32_t dynamic_shared() {
  extern __shared__ __align__(kMostAccessBytes) char dynamic[];
  return ptx::shared_address(dynamic);
}

// Columns of the piece of a row that its threads hold.
template <typename Schedule>
constexpr int kKeptColumns = Schedule::kThreadsPerRow * Schedule::kVectors * Schedule::kVector;

// A `Row` that a block reads once and keeps, kBefore bytes a column behind the beginning of its shared memory.
template <typename T, typename Schedule, int kBefore>
struct KeptPlace {
  static constexpr int kElementBytes = sizeof(T);
  Place<T> memory;

  __device__ __forceinline__ static uint32_t shared() { return dynamic_shared() + kBefore * kKeptColumns<Schedule>; }
};

// Only vectors of aligned matrices are kept.
template <bool kIsAligned, typename T, typename Schedule, int kBefore, int kVector>
__device__ __forceinline__ void load(Packed<T, kVector>& packed, KeptPlace<const T, Schedule, kBefore> place,
                                     Span<kVector> span) {
  if constexpr (kIsAligned && kVector > 1) {
    load_shared(packed, place.shared() + span.held * int(sizeof(T)), span.is_inside);
  } else {
    load<kIsAligned>(packed, place.memory, span);
  }
}

// A thread's vectors of a `Row`.
template <typename T, typename Schedule>
struct Vectors {
  Packed<T, Schedule::kVector> of[Schedule::kVectors];
};

// All on their way before the first is used. Of a row with columns before its first vector it has as many around each.
template <typename Schedule, bool kIsShifted, typename T, typename Row>
__device__ __forceinline__ Vectors<T, Schedule> vectors_of(Place<const T> place, const Row& row) {
  Vectors<T, Schedule> vectors;
#pragma unroll
  for (int vector = 0; vector < Schedule::kVectors; ++vector) {
    if constexpr (kIsShifted) {
      load_around(vectors.of[vector], place.row, row.span(0, vector));
    } else {
      load<true>(vectors.of[vector], place, row.span(0, vector));
    }
  }
  return vectors;
}

// Keeps the `Row`s as far as this thread's vectors reach, from where those of rows with so many columns before them begin. Nobody else reads
// them.
template <typename Problem, typename Schedule, bool kIsShifted, typename Row>
__device__ __forceinline__ void keep_rows(const Row& row) {
  Problem::visit_rows(row.places, [&](auto place) {
    const auto vectors = vectors_of<Schedule, kIsShifted>(place.memory, row);
#pragma unroll
    for (int vector = 0; vector < Schedule::kVectors; ++vector) {
      store_shared(vectors.of[vector], place.shared() + row.span(0, vector).held * place.kElementBytes);
    }
  });
}

}  // namespace autokernel::rows
