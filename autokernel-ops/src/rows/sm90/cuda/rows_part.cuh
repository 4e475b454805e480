// The piece of a row that one block of a cluster takes, in shared memory: one copy. Vector v of thread t lies behind the vectors v
// of the threads before it.
#pragma once

#include "ptx/sm90_bulk.cuh"
#include "rows_vector.cuh"
#include "types.cuh"

namespace autokernel::rows {

// Room for the piece of a block.
template <typename Schedule>
struct Part {
  static constexpr int kVector = Schedule::kVector;
  static constexpr int kVectors = Schedule::kThreadsPerRow * Schedule::kVectors;
  static constexpr int kColumns = kVectors * kVector;

  template <typename T>
  static constexpr int kVectorBytes = kVector * int(sizeof(T));

  // Has the piece of a row copied, by one thread; `barrier` counts its bytes.
  template <typename T>
  __device__ __forceinline__ static void copy(uint32_t to, const T* row, Piece piece, uint32_t barrier) {
    static_assert(kVectorBytes<T> % kMostAccessBytes == 0, "schedule rule `vector`: accesses of 16 bytes");
    if (piece.count > 0) ptx::bulk_load(to, row + piece.first * kVector, piece.count * kVectorBytes<T>, barrier);
  }

  // Has it brought to L2, where a later copy finds it.
  template <typename T>
  __device__ __forceinline__ static void prefetch(const T* row, Piece piece) {
    if (piece.count > 0) ptx::bulk_prefetch(row + piece.first * kVector, piece.count * kVectorBytes<T>);
  }
};

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

// The dynamic shared memory of a block: the pieces of the Rows that it keeps, and behind them the rings of its teams.
__device__ __forceinline__ uint32_t dynamic_shared() {
  extern __shared__ __align__(kMostAccessBytes) char dynamic[];
  return ptx::shared_address(dynamic);
}

// A `Row` that a block reads once and keeps, kBefore bytes a column behind the beginning of its shared memory.
template <typename T, typename Schedule, int kBefore>
struct KeptPlace {
  static constexpr int kElementBytes = sizeof(T);
  Place<T> memory;

  __device__ __forceinline__ static uint32_t shared() { return dynamic_shared() + kBefore * Part<Schedule>::kColumns; }
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

}  // namespace autokernel::rows
