// Zero points of groups of weights: whole numbers of 8 bits that are subtracted from a group's numbers as these are unpacked.
//
// Numbers stand above a base, which is subtracted as they are scaled. A base that is as much greater as the zero point says leaves the
// difference: exactly, as all of them are whole numbers below 256, and for no instruction more. A zero point of numbers of 4 bits is at
// least -8 for that.
#pragma once

#include "unpack.cuh"
#include "sm90_weights_scales.cuh"

namespace autokernel::ptx {

__device__ __forceinline__ int load_signed_byte(uint32_t address) {
  int value;
  asm volatile("ld.shared.s8 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

}  // namespace autokernel::ptx

namespace autokernel::sm90::weights {

// Of the row that a lane begins with, and of the one 8 below, of each block.
template <typename G, bool kExist = G::kZeros>
struct RowZeros {
  using Input = typename G::Input;
  static constexpr bool kOfBytes = kNumbers<typename G::Weight> == 1;
  static constexpr uint32_t kBase = kOfBytes ? kBase8 : kBase4;
  uint32_t pairs[G::kBlocks][2];  // what is added to two numbers

  // Those of a group of the stage, for the lane that begins with `row`.
  __device__ __forceinline__ void load(const SharedLayout<G>& shared, int stage, int row, int group) {
#pragma unroll
    for (int block = 0; block < G::kBlocks; ++block) {
      const uint32_t of_product = G::Stage::zeros(shared.b(stage), block / G::kBlocksOfOne, G::kColumns);
      const uint32_t first = of_product + group * G::kColumns + row + block % G::kBlocksOfOne * G::kRowsApart;
#pragma unroll
      for (int lower = 0; lower < 2; ++lower) pairs[block][lower] = less<Input>(kBase + ptx::load_signed_byte(first + 8 * lower));
    }
  }

  template <Half kHalf = Half::kLower>
  __device__ __forceinline__ uint32_t unpack_bytes(uint32_t bytes, int block, int lower) const {
    return unpack8<Input, kHalf>(bytes, pairs[block][lower]);
  }
  template <bool kAbove>
  __device__ __forceinline__ uint32_t unpack_nibbles(uint32_t nibbles, int block, int lower) const {
    return unpack4<Input, kAbove>(nibbles, pairs[block][lower]);
  }
};

// Numbers as they are.
template <typename G>
struct RowZeros<G, false> {
  using Input = typename G::Input;

  __device__ __forceinline__ void load(const SharedLayout<G>&, int, int, int) {}

  template <Half kHalf = Half::kLower>
  __device__ __forceinline__ uint32_t unpack_bytes(uint32_t bytes, int, int) const {
    return unpack8<Input, kHalf>(bytes);
  }
  template <bool kAbove>
  __device__ __forceinline__ uint32_t unpack_nibbles(uint32_t nibbles, int, int) const {
    return unpack4<Input, kAbove>(nibbles);
  }
};

}  // namespace autokernel::sm90::weights
