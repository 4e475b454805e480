// A row on its way to shared memory while its threads compute another.
//
// A thread requests what it will collect itself, so no barrier is needed: it waits for its own copies.
#pragma once

#include "rows_vector.cuh"
#include "types.cuh"

namespace autokernel::rows {

// Of kThreads threads, each with kVectors times `Inputs`.
template <int kThreads, int kVectors, typename Inputs>
struct Prefetch {
  // Copies a vector of `Inputs`; zeros if it is not inside the row.
  template <typename T, int kVector>
  __device__ __forceinline__ static void request(int vector, const Inputs& inputs, const Packed<T, kVector>& packed,
                                                 Place<const T> place, Span<kVector> span) {
    using Vector = Packed<T, kVector>;
    const T* from = place.row + (span.is_inside ? span.first : 0);
#pragma unroll
    for (int word = 0; word < Vector::kWords; word += Vector::kAccessWords) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(slot(vector, inputs, packed, word)),
                   "l"(reinterpret_cast<const char*>(from) + word * 4), "r"(span.is_inside ? kMostAccessBytes : 0)
                   : "memory");
    }
  }

  __device__ __forceinline__ static void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
  __device__ __forceinline__ static void wait() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }

  template <typename T, int kVector>
  __device__ __forceinline__ static void collect(int vector, const Inputs& inputs, Packed<T, kVector>& packed) {
#pragma unroll
    for (int word = 0; word < packed.kWords; word += packed.kAccessWords) {
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(packed.words[word]), "=r"(packed.words[word + 1]), "=r"(packed.words[word + 2]),
                     "=r"(packed.words[word + 3])
                   : "r"(slot(vector, inputs, packed, word))
                   : "memory");
    }
  }

 private:
  // Where a word of this thread is: beside those of its neighbours, so that a warp's accesses meet no bank twice.
  template <typename Vector>
  __device__ __forceinline__ static uint32_t slot(int vector, const Inputs& inputs, const Vector& packed, int word) {
    static_assert(Vector::kAccessWords * 4 == kMostAccessBytes, "schedule rule `blocks_per_sm`: accesses of 16 bytes");
    extern __shared__ __align__(kMostAccessBytes) char slots[];
    const auto field = reinterpret_cast<const char*>(&packed) - reinterpret_cast<const char*>(&inputs);
    const int before = vector * int(sizeof(Inputs)) + int(field) + word * 4;
    return ptx::shared_address(slots) + before * kThreads + threadIdx.x * kMostAccessBytes;
  }
};

}  // namespace autokernel::rows
