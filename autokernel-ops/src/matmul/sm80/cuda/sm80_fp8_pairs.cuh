// What products of e4m3 and e5m2 have of their own.
//
// Stands before sm80_matmul.cuh, whose templates find what is declared here.
#pragma once

#include "ptx/sm80_mma_fp8_pairs.cuh"
#include "sm80_fp8.cuh"

namespace autokernel::sm80 {

template <>
struct Mma<e4m3_by_e5m2> : MmaOfBytes<e4m3_by_e5m2> {};
template <>
struct Mma<e5m2_by_e4m3> : MmaOfBytes<e5m2_by_e4m3> {};

}  // namespace autokernel::sm80
