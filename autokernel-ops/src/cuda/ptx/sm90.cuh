// PTX wrappers for Hopper (sm_90a): mbarriers, the bulk tensor copy engine (TMA), clusters, proxies, registers.
//
// Each function is one instruction, or a loop around one. Shared-memory addresses are 32-bit `.shared`
// addresses, made once by `shared_address`. wgmma has its own file, `sm90_wgmma.cuh`.
#pragma once

#include "../types.cuh"
#include "common.cuh"

namespace autokernel {

// A CUtensorMap: opaque, and read by the hardware from parameter space.
struct alignas(64) TensorMap {
  uint8_t bytes[128];
};

}  // namespace autokernel

namespace autokernel::ptx {

// ---- mbarriers -----------------------------------------------------------------------------------------

__device__ __forceinline__ void mbarrier_init(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes initialised barriers visible to the other CTAs of the cluster and to the copy engine.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async;" ::: "memory");
}

// Arrives once and announces the bytes that copies will deliver in this phase.
__device__ __forceinline__ void mbarrier_arrive_expect_bytes(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void mbarrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives at the barrier that lies at the same offset in the shared memory of CTA `rank` of the cluster. What it
// reports is a read that a wgmma wait has completed, so it needs no cluster-scope release: that would be a memory
// barrier and an L1 invalidation a stage.
__device__ __forceinline__ void mbarrier_arrive_remote(uint32_t barrier, uint32_t rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}

// Waits until the phase of `parity` has completed. One bit tells only neighbouring phases apart, so a waiter may be
// at most one phase behind the barrier. try_wait suspends the thread for a while instead of spinning.
__device__ __forceinline__ void mbarrier_wait(uint32_t barrier, uint32_t parity) {
  uint32_t done;
  do {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (done == 0);
}

// ---- named barriers ------------------------------------------------------------------------------------

// `threads` counts those that wait and those that only arrive, in whole warps. Barrier 0 is __syncthreads.
__device__ __forceinline__ void named_barrier_wait(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

__device__ __forceinline__ void named_barrier_arrive(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// ---- TMA -----------------------------------------------------------------------------------------------

// Fetches the 128 bytes of the map ahead of the first copy, which would otherwise wait for them.
__device__ __forceinline__ void prefetch_tensor_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Box at (inner, outer) to this CTA's shared memory; out-of-bounds elements arrive as zeros.
__device__ __forceinline__ void tma_load(const TensorMap& map, uint32_t destination, uint32_t barrier, int inner,
                                         int outer) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4}], [%2];" ::"r"(destination),
      "l"(&map), "r"(barrier), "r"(inner), "r"(outer)
      : "memory");
}

// The same, to the same offset of every CTA in `cta_mask`; each one's own barrier counts the bytes.
__device__ __forceinline__ void tma_load_multicast(const TensorMap& map, uint32_t destination, uint32_t barrier,
                                                   int inner, int outer, uint16_t cta_mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(destination),
      "l"(&map), "r"(barrier), "r"(inner), "r"(outer), "h"(cta_mask)
      : "memory");
}

// Box from shared memory to (inner, outer); out-of-bounds elements are clipped.
__device__ __forceinline__ void tma_store(const TensorMap& map, uint32_t source, int inner, int outer) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),
               "r"(source), "r"(inner), "r"(outer)
               : "memory");
}

// Closes the group of this thread's stores since the last commit.
__device__ __forceinline__ void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until at most `kPending` of this thread's newest store groups still read their shared memory. `.read`: the
// memory can be reused before the writes to global memory are done.
template <int kPending>
__device__ __forceinline__ void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

// Orders this thread's ordinary shared-memory accesses before later ones by the copy engine (the async proxy). Every
// thread that wrote what a TMA store will read fences, and only then meets the thread that issues the store.
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// ---- clusters ------------------------------------------------------------------------------------------

__device__ __forceinline__ uint32_t cluster_rank() {
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// The address, in the shared memory of CTA `rank` of the cluster, of what lies at `address` in this CTA's.
__device__ __forceinline__ uint32_t peer_address(uint32_t address, uint32_t rank) {
  uint32_t remote;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
  return remote;
}

// To a peer_address.
__device__ __forceinline__ void store_peer(uint32_t address, float4 v) {
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(v.x), "f"(v.y), "f"(v.z),
               "f"(v.w)
               : "memory");
}

// __syncthreads for all threads of all CTAs of the cluster; also orders distributed shared memory.
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

// ---- registers -----------------------------------------------------------------------------------------

// Every warp of a warpgroup must run these. `claim` waits until another warpgroup's `release` has left enough.
template <int kRegisters>
__device__ __forceinline__ void release_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
__device__ __forceinline__ void claim_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// ---- shared memory -------------------------------------------------------------------------------------

// Stores four 8x8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void stmatrix_x4(uint32_t address, uint32_t m0, uint32_t m1, uint32_t m2, uint32_t m3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(m0), "r"(m1),
               "r"(m2), "r"(m3)
               : "memory");
}

// The same, each matrix transposed.
__device__ __forceinline__ void stmatrix_x4_transposed(uint32_t address, uint32_t m0, uint32_t m1, uint32_t m2,
                                                       uint32_t m3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(m0),
               "r"(m1), "r"(m2), "r"(m3)
               : "memory");
}

// Two matrices; lanes 0..15 give the addresses.
__device__ __forceinline__ void stmatrix_x2(uint32_t address, uint32_t m0, uint32_t m1) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(m0), "r"(m1)
               : "memory");
}

__device__ __forceinline__ void stmatrix_x2_transposed(uint32_t address, uint32_t m0, uint32_t m1) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(m0), "r"(m1)
               : "memory");
}

// Of two 8x8 matrices, whose rows lanes 0 to 15 address, two rows of a column each.
__device__ __forceinline__ void ldmatrix_x2_transposed(uint32_t address, uint32_t& m0, uint32_t& m1) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(m0), "=r"(m1)
               : "r"(address)
               : "memory");
}

__device__ __forceinline__ void store_shared(uint32_t address, uint32_t word) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}

__device__ __forceinline__ void store_shared(uint32_t address, float x) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(x) : "memory");
}

__device__ __forceinline__ void store_shared(uint32_t address, float x, float y) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x), "f"(y) : "memory");
}

__device__ __forceinline__ float4 load_shared_float4(uint32_t address) {
  float4 v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(address)
               : "memory");
  return v;
}

__device__ __forceinline__ void load_shared(uint32_t address, uint32_t& word) {
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
}

__device__ __forceinline__ void load_shared(uint32_t address, uint32_t& low, uint32_t& high) {
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(low), "=r"(high) : "r"(address) : "memory");
}

__device__ __forceinline__ void load_shared(uint32_t address, uint16_t& half) {
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(half) : "r"(address) : "memory");
}

// ---- the grid behind this one ---------------------------------------------------------------------------

// Its blocks take the places of those of this grid that have ended, once all others have called this, and wait for the rest.
__device__ __forceinline__ void let_next_grid_begin() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

// ---- global memory that CTAs share ---------------------------------------------------------------------

// Past L1, which no other multiprocessor sees and where nothing is read again.
__device__ __forceinline__ void store_l2(float4* address, float4 v) {
  asm volatile("st.global.cg.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w)
               : "memory");
}

__device__ __forceinline__ float4 load_l2(const float4* address) {
  float4 v;
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(address)
               : "memory");
  return v;
}

// A flag between CTAs: who loads what was stored sees all that the storing thread had seen.
__device__ __forceinline__ void store_release(uint32_t* flag, uint32_t value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

__device__ __forceinline__ uint32_t load_acquire(const uint32_t* flag) {
  uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

}  // namespace autokernel::ptx
