// Bodies whose staged output is scaled in blocks of a row's columns, by scales that the kernel makes of their largest values.
//
// A lane holds, of 16 rows, pairs of neighbours, 8 apart, and its quad the rest of both rows' columns: the largest value of a block is one
// over registers and then over a quad. The scale is largest / kLargest, at least 2^-126, and an element its value times the scale's
// reciprocal, both rounded as IEEE says, as on the CPU (runtime/blocks.rs). So nothing is divided by zero, what is infinite becomes the
// largest of its type, and NaN, which no scale sees, stays NaN.
//
// The emitted `struct Body` says how many columns a block has, the largest number of the output's type, and where scales go. Included
// before the header of the family, which finds this `apply` where its body is Scaled.
#pragma once

#include "body.cuh"

namespace autokernel::body {

constexpr float kLargestFinite = 3.40282347e+38f;
constexpr float kLeastScale = 1.17549435e-38f;  // the least normal number: its reciprocal is finite

// The scale of a block whose numbers are at most so large.
template <typename Body>
__device__ __forceinline__ float scale_of(float largest) {
  return fmaxf(fminf(largest, kLargestFinite) / Body::kLargest, kLeastScale);
}

// A body whose output is scaled.
template <typename Body>
struct Scaled : Body {
  static constexpr int kBlock = Body::kScaledColumns;

  // An element by itself, where there is no K: the sums of its block are zero as its own.
  template <typename Args, typename Inputs, typename... Sum>
  __device__ __forceinline__ static typename Body::Outputs compute(const Args& args, const Inputs& inputs, Index at, int pair,
                                                                   int i, Sum... sums) {
    const int first = at.column / kBlock * kBlock;
    float largest = 0.0f;
    for (int column = first; column < min(first + kBlock, args.n); ++column) {
      const Index other{at.row, column};
      typename Body::template Inputs<Element> of_other;
      Body::visit(args, of_other, [&](auto& input, const void* data, int64_t ld) { input.load(data, ld, other); });
      largest = fmaxf(largest, fabsf(Body::compute(args, of_other, other, 0, 0, sums...).values[0]));
    }
    const float scale = scale_of<Body>(largest);
    if (at.column == first) Body::scales(args, at.row)[at.column / kBlock] = scale;
    auto outputs = Body::compute(args, inputs, at, pair, i, sums...);
    outputs.values[0] *= 1.0f / scale;
    return outputs;
  }
};

// The largest of one block of both rows of a lane. Where the block is ragged what lies beyond C's last column does not count.
template <bool kWhole, int kFragments>
__device__ __forceinline__ void largest_of(const float* values, Place<false> place, float (&largest)[2]) {
#pragma unroll
  for (int number = 0; number < kFragments * kFragmentSums; ++number) {
    const int element = number % 2, pair = number / 2 % 2, fragment = number / kFragmentSums;
    const bool counts = kWhole || place.fragment(fragment).element(element).column < place.columns;
    if (counts) largest[pair] = fmaxf(largest[pair], fabsf(values[number]));
  }
}

// Scales the output of `kFragments` fragments from `place` on, which are whole blocks, and stores their scales. All lanes of the warp
// come here.
template <typename Body, int kFragments, typename Args>
__device__ __forceinline__ void scale_blocks(const Args& args, float* values, Place<false> place) {
  constexpr int kOfBlock = Body::kScaledColumns / kFragmentStep;
  static_assert(Body::kScaledColumns % kFragmentStep == 0 && kFragments % kOfBlock == 0, "scaled_blocks_lie_in_a_warp");
#pragma unroll
  for (int first = 0; first < kFragments; first += kOfBlock) {
    const Place<false> at = place.fragment(first);
    const int number = at.column / Body::kScaledColumns;  // of the block in its row, the same for all lanes
    if (number * Body::kScaledColumns >= place.columns) return;
    float* const block = values + first * kFragmentSums;
    float largest[2] = {0.0f, 0.0f};
    if ((number + 1) * Body::kScaledColumns <= place.columns) {
      largest_of<true, kOfBlock>(block, at, largest);
    } else {
      largest_of<false, kOfBlock>(block, at, largest);
    }
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      float all = largest[pair];
#pragma unroll
      for (int mask = 1; mask <= 2; mask *= 2) all = fmaxf(all, __shfl_xor_sync(~0u, all, mask));
      const float scale = scale_of<Body>(all), reciprocal = 1.0f / scale;
#pragma unroll
      for (int i = 2 * pair; i < kOfBlock * kFragmentSums; i += kFragmentSums) {
        block[i] *= reciprocal;
        block[i + 1] *= reciprocal;
      }
      const int row = at.row + 8 * pair;
      const bool is_first = threadIdx.x % 4 == 0;
      if (is_first && row < place.rows) Body::scales(args, row)[number] = scale;
    }
  }
}

// The body on the `kFragments` fragments from `place` on, which are whole blocks, as `apply` of other bodies.
template <typename Scales, bool kSwapped, int kFragments, int kRegisters, bool kAnyRow = false, typename Body, typename Args,
          typename... Other>
__device__ __forceinline__ void apply(const Args& args, float* sums, Place<kSwapped> place,
                                      RowStatistics<Scaled<Body>, kSwapped>&, const Other*... others) {
  static_assert(!kSwapped, "scaled_blocks_lie_in_a_warp");
  RowStatistics<Body, kSwapped> none;
  apply<Body, kSwapped, kFragments, kRegisters, kAnyRow>(args, sums, place, none, others...);
  scale_blocks<Body, kFragments>(args, sums, place);
}

}  // namespace autokernel::body
