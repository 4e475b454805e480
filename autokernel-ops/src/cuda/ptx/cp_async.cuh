// PTX of copies from global to shared memory that threads make without a wait, since sm_80.
#pragma once

#include "../types.cuh"

namespace autokernel::ptx {

// Copies kBytes (4 or 16), or writes kBytes of zeros and reads nothing if `!valid`: an edge costs no branch.
// L2::128B: the neighbours in the row are wanted too, by this block or by the next k tile.
template <int kBytes>
__device__ __forceinline__ void cp_async_if(uint32_t shared, const void* global, bool valid) {
  static_assert(kBytes == 4 || kBytes == 16, "cp_async_if: 4 or 16 bytes");
  if constexpr (kBytes == 16) {  // .cg: past L1, which could not reuse the data
    asm volatile(
        "{\n.reg .pred ignore;\nsetp.eq.s32 ignore, %2, 0;\n"
        "cp.async.cg.shared.global.L2::128B [%0], [%1], 16, ignore;\n}\n" ::"r"(shared),
        "l"(global), "r"(static_cast<int>(valid))
        : "memory");
  } else {
    asm volatile(
        "{\n.reg .pred ignore;\nsetp.eq.s32 ignore, %2, 0;\n"
        "cp.async.ca.shared.global.L2::128B [%0], [%1], 4, ignore;\n}\n" ::"r"(shared),
        "l"(global), "r"(static_cast<int>(valid))
        : "memory");
  }
}

// Closes the group of copies that this thread has issued since the last commit; an empty group is complete at once.
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most kPending of this thread's newest groups are still in flight.
template <int kPending>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// 16 bytes, of which the first `bytes` (0 to 16) are read and the others are zero.
__device__ __forceinline__ void cp_async_16(uint32_t shared, const void* global, int bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(bytes) : "memory");
}

// Arrives at an mbarrier of this CTA when all copies that this thread began are done. `.noinc`: the barrier was told to expect it.
__device__ __forceinline__ void cp_async_arrive(uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

// Until they are done.
__device__ __forceinline__ void cp_async_wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }

}  // namespace autokernel::ptx
