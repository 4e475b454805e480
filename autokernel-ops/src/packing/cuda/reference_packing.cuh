// Packing by a thread for each row: what the kernels are held against. Results are fp32, a byte of packed numbers as a number of 8 bits.
#pragma once

#include "packing_numbers.cuh"

namespace autokernel::reference_packing {

using namespace autokernel::packing;

template <typename Problem, typename Args>
__device__ __forceinline__ void pack(const Args& args) {
  using Packed = typename Problem::Packed;
  const int row = int(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= args.n) return;
  const auto* w = static_cast<const typename Problem::Weight*>(args.w) + row * args.w_stride;
  auto* packed = static_cast<float*>(args.packed) + row * args.packed_stride;
  constexpr bool kWholeRow = Problem::kGroup == 0;
  const int groups = kWholeRow ? 1 : args.k / Problem::kGroup, length = kWholeRow ? args.k : Problem::kGroup;
  for (int group = 0; group < groups; ++group) {
    const int first = group * length, end = first + length;
    Ends ends;
    for (int k = first; k < end; ++k) ends.take(to_f32(w[k]));
    const Grid<Packed, Problem::kZeros> grid(ends);
    const auto number = [&](int k) { return grid.number(to_f32(w[k])); };
    if constexpr (Reach<Packed>::kTwoInAByte) {
      // Byte by byte: which two numbers stand in it packed4.cuh tells.
      for (int byte = first / 2; byte < end / 2; ++byte) {
        const int within = byte % kPacked4Bytes, in_word = within % 4;
        const int k = byte / kPacked4Bytes * kPacked4Numbers + within / 4 * 2 + in_word / 2 + in_word % 2 * 16;
        packed[byte] = float(number(k + 8) * 16 + (number(k) & 0xf));
      }
    } else {
      for (int k = first; k < end; ++k) packed[k] = float(number(k));
    }
    int64_t scale = row, zero = row;
    if constexpr (!kWholeRow) scale += group * args.scales_stride;
    static_cast<float*>(args.scales)[scale] = to_f32(from_f32<typename Problem::Scale>(grid.scale));
    if constexpr (Problem::kZeros) {
      zero += group * args.zeros_stride;
      static_cast<float*>(args.zeros)[zero] = grid.zero;
    }
  }
}

}  // namespace autokernel::reference_packing
