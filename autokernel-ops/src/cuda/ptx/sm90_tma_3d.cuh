// PTX wrappers for Hopper (sm_90a): tensor copies of three dimensions, of a box in one matrix of many.
#pragma once

#include "sm90.cuh"

namespace autokernel::ptx {

// As tma_load, of matrix `number`.
__device__ __forceinline__ void tma_load_3d(const TensorMap& map, uint32_t destination, uint32_t barrier, int inner,
                                            int outer, int number) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(destination),
      "l"(&map), "r"(barrier), "r"(inner), "r"(outer), "r"(number)
      : "memory");
}

__device__ __forceinline__ void tma_load_3d_multicast(const TensorMap& map, uint32_t destination, uint32_t barrier,
                                                      int inner, int outer, int number, uint16_t cta_mask) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(destination),
      "l"(&map), "r"(barrier), "r"(inner), "r"(outer), "r"(number), "h"(cta_mask)
      : "memory");
}

__device__ __forceinline__ void tma_store_3d(const TensorMap& map, uint32_t source, int inner, int outer,
                                             int number) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
               "r"(source), "r"(inner), "r"(outer), "r"(number)
               : "memory");
}

}  // namespace autokernel::ptx
