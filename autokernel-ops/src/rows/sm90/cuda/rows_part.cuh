// The part of a row that one block of a cluster takes, in shared memory.
//
// Vector v of thread t lies behind the vectors v of the threads before it, as in the row, so that a block's v-th vectors
// are one copy; of a block that has a row alone all of them are.
#pragma once

#include "ptx/sm90_bulk.cuh"
#include "rows_vector.cuh"
#include "types.cuh"

namespace autokernel::rows {

template <typename Schedule>
struct Part {
  static constexpr int kVector = Schedule::kVector;
  static constexpr int kThreads = Schedule::kThreadsPerRow;
  static constexpr int kBlocks = Schedule::kCluster;
  static constexpr int kVectors = kThreads * Schedule::kVectors;
  static constexpr int kColumns = kVectors * kVector;
  // Vectors that are one copy, and copies.
  static constexpr int kRun = kBlocks == 1 ? kVectors : kThreads;
  static constexpr int kRuns = kVectors / kRun;

  // The first vector of a run, in the row.
  __device__ __forceinline__ static int first(int run) {
    const int block = kBlocks > 1 ? ptx::cluster_rank() : 0;
    return (run * kBlocks + block) * kRun;
  }

  // Vectors of a run in a row of `vectors`.
  __device__ __forceinline__ static int count(int run, int vectors) { return max(0, min(kRun, vectors - first(run))); }

  // Of all runs.
  __device__ __forceinline__ static int count(int vectors) {
    int all = 0;
#pragma unroll
    for (int run = 0; run < kRuns; ++run) all += count(run, vectors);
    return all;
  }

  // Where a column of this block lies in the part.
  __device__ __forceinline__ static int place(int column) {
    constexpr int kRow = kRun * kBlocks * kVector;
    return kBlocks == 1 ? column : column / kRow * (kRun * kVector) + column % (kRun * kVector);
  }

  // Has the part of a row of `vectors` copied, by one thread; `barrier` counts its bytes.
  template <typename T>
  __device__ __forceinline__ static void copy(uint32_t to, const T* row, int vectors, uint32_t barrier) {
    constexpr int kBytes = kVector * int(sizeof(T));
    static_assert(kBytes % kMostAccessBytes == 0, "schedule rule `vector`: accesses of 16 bytes");
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      const int found = count(run, vectors);
      if (found > 0) ptx::bulk_load(to + run * kRun * kBytes, row + first(run) * kVector, found * kBytes, barrier);
    }
  }
};

// A vector from shared memory.
template <typename T, int kVector>
__device__ __forceinline__ void load_shared(Packed<T, kVector>& packed, uint32_t from) {
#pragma unroll
  for (int word = 0; word < packed.kWords; word += packed.kAccessWords) {
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(packed.words[word]), "=r"(packed.words[word + 1]), "=r"(packed.words[word + 2]),
                   "=r"(packed.words[word + 3])
                 : "r"(from + word * 4)
                 : "memory");
  }
}

// The dynamic shared memory of a block: the parts of the Rows that it keeps, and behind them the rings of its teams.
__device__ __forceinline__ uint32_t dynamic_shared() {
  extern __shared__ __align__(kMostAccessBytes) char dynamic[];
  return ptx::shared_address(dynamic);
}

// A `Row` that a block reads once and keeps, kBefore bytes a column behind the beginning of its shared memory.
template <typename T, typename Schedule, int kBefore>
struct KeptPlace {
  Place<T> memory;

  __device__ __forceinline__ static uint32_t shared() { return dynamic_shared() + kBefore * Part<Schedule>::kColumns; }
};

// Only what is aligned is kept.
template <bool kIsAligned, typename T, typename Schedule, int kBefore, int kVector>
__device__ __forceinline__ void load(Packed<T, kVector>& packed, KeptPlace<const T, Schedule, kBefore> place,
                                     Span<kVector> span) {
  if constexpr (kIsAligned) {
    packed.clear();
    if (span.is_inside) load_shared(packed, place.shared() + Part<Schedule>::place(span.first) * int(sizeof(T)));
  } else {
    load<kIsAligned>(packed, place.memory, span);
  }
}

}  // namespace autokernel::rows
