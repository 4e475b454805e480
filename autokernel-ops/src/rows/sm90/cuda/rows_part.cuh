// The piece of a row that one block of a cluster takes, in shared memory: one copy. Vector v of thread t lies behind the vectors v
// of the threads before it.
#pragma once

#include "ptx/sm90_bulk.cuh"
#include "rows_kept.cuh"
#include "types.cuh"

namespace autokernel::rows {

// Room for the piece of a block.
template <typename Schedule>
struct Part {
  static constexpr int kVector = Schedule::kVector;
  static constexpr int kVectors = Schedule::kThreadsPerRow * Schedule::kVectors;
  static constexpr int kColumns = kKeptColumns<Schedule>;

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

}  // namespace autokernel::rows
