// PTX of the portable kernel family: asynchronous copies, matrix loads and the tensor core's mma.
//
// Everything here exists since sm_80 and is still there on sm_120, so a kernel built on it runs on all of them.
// Shared memory addresses are 32-bit `.shared` addresses, made once by `shared_address`.
#pragma once

#include "../types.cuh"
#include "common.cuh"
#include "cp_async.cuh"

namespace autokernel::ptx {

// ---- shared memory ------------------------------------------------------------------------------------------

// PTX and not pointers: the 32-bit address takes one register, and no generic load has to find out the state space.
__device__ __forceinline__ void store_shared(uint32_t shared, uint32_t value) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(shared), "r"(value) : "memory");
}

__device__ __forceinline__ void store_shared(uint32_t shared, float2 value) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(shared), "f"(value.x), "f"(value.y) : "memory");
}

__device__ __forceinline__ void load_shared(uint32_t shared, uint4& value) {
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(shared)
               : "memory");
}

__device__ __forceinline__ void load_shared(uint32_t shared, uint32_t& value) {
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(shared) : "memory");
}

__device__ __forceinline__ void load_shared(uint32_t shared, uint16_t& value) {
  asm volatile("ld.shared.b16 %0, [%1];" : "=h"(value) : "r"(shared) : "memory");
}

// Four 8x8 matrices of 16-bit elements. Lane l passes the address of row l % 8 of matrix l / 8 (16 bytes) and
// receives from each matrix elements 2 * (l % 4) and the next of row l / 4: an mma fragment.
__device__ __forceinline__ void ldmatrix_x4(uint32_t (&fragment)[4], uint32_t shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(shared)
               : "memory");
}

// The same, with each 8x8 matrix transposed on the way.
__device__ __forceinline__ void ldmatrix_x4_trans(uint32_t (&fragment)[4], uint32_t shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
               : "r"(shared)
               : "memory");
}

// ---- tensor core --------------------------------------------------------------------------------------------

// d[16x8] += a[16x16] * b[16x8] with fp32 accumulators. Lane l holds rows l / 4 (d[0], d[1]) and l / 4 + 8
// (d[2], d[3]) at columns 2 * (l % 4) and the next. Not volatile: the compiler may schedule it among the loads.
template <typename Input>
__device__ __forceinline__ void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);

template <>
__device__ __forceinline__ void mma_m16n8k16<bf16>(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ __forceinline__ void mma_m16n8k16<f16>(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace autokernel::ptx
