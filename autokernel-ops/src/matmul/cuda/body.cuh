// A body on the sums that a lane holds: its operands are read where the sums stand in C, the output that is staged takes
// their place, and what else it writes is stored at once.
//
// Tensor cores leave each lane, of a fragment of 16 x 8 sums, two pairs: neighbours along one axis of C, and the same 8
// further along the other. Pairs lie along rows of C, or where the tile is computed transposed (swapped) along its
// columns. Fragments follow each other along the pairs.
//
// The emitted file prints `struct Body`: the operands, which `visit` goes through, and `compute`, the body itself.
#pragma once

#include "body_operand.cuh"
#include "body_statistics.cuh"
#include "types.cuh"

namespace autokernel::body {

// In the place of a body: there is none.
struct None {
  static constexpr bool kExists = false;
  static constexpr int kRegisters = 0;
};

// Among the inputs of a body the number of the matrix that may come by TMA. Only the bodies that have one say it.
template <typename Body, typename = void>
constexpr int kLoadedInput = -1;
template <typename Body>
constexpr int kLoadedInput<Body, decltype(void(Body::kLoaded))> = Body::kLoaded;
template <typename Body>
constexpr bool kLoads = kLoadedInput<Body> >= 0;

// In the place of a matrix that is on chip: all operands are read where they lie.
struct NoneLoaded {
  static constexpr bool kIsThere = false;
  template <typename Input>
  __device__ __forceinline__ static void load(Input&, int) {}
};

constexpr int kFragmentSums = 4;  // of a lane
constexpr int kFragmentStep = 8;  // from a fragment to the next
constexpr int kPairElements = 2;

// The inputs of a body, of one lane's part of a fragment.
template <typename Body, bool kSwapped>
using FragmentInputs = typename Body::template Inputs<Fragment<kSwapped>::template Input>;

// Fragments whose operands a lane requests at once, so that their latencies overlap: as many as fit kRegisters, and leave no rest.
template <int kWords, int kFragments, int kRegisters>
constexpr int batch() {
  int fragments = kFragments;
  while (fragments > 1 && (kFragments % fragments != 0 || fragments * kWords > kRegisters)) --fragments;
  return fragments;
}
static_assert(batch<2, 8, 32>() == 8 && batch<2, 7, 32>() == 7 && batch<4, 8, 8>() == 2 && batch<4, 6, 16>() == 3 && batch<2, 7, 8>() == 1,
              "no fragment is left over");

// Whether a lane can read all that it needs of so many fragments from `place` on in pairs: of operands that differ along pairs, of those
// that differ along and across them, but for a matrix that is on chip.
template <typename Body, bool kSwapped, bool kIsLoaded, typename Args>
__device__ __forceinline__ bool is_whole(const Args& args, Place<kSwapped> place, int fragments) {
  bool paired = true, along = false, across = false;
  int number = 0;
  FragmentInputs<Body, kSwapped> inputs;
  Body::visit(args, inputs, [&](auto& input, const void* data, int64_t ld) {
    if (number++ == kLoadedInput<Body> && kIsLoaded) return;
    paired &= input.is_paired(data, ld);
    along |= input.kAlong;
    across |= input.kAlong && input.kAcross;
  });
  return paired && (!along || place.is_whole_along(fragments)) && (!across || place.is_whole_across());
}

// Brings to L1 what a body reads of rows, columns and scalars, in kRows rows and kColumns columns of C from `first` on. By a warp, which
// waits for nothing.
template <typename Body, bool kSwapped, int kRows, int kColumns, typename Args>
__device__ __forceinline__ void touch(const Args& args, Index first, Index end) {
  FragmentInputs<Body, kSwapped> inputs;
  Body::visit(args, inputs, [&](auto& input, const void* data, int64_t) {
    input.template touch<kRows, kColumns>(data, first, end);
  });
}

// Brings to L2 what a body reads of matrices in kRows rows and kColumns columns of C from `first` on. By a warp, which waits for nothing.
template <typename Body, bool kSwapped, int kRows, int kColumns, typename Args>
__device__ __forceinline__ void prefetch(const Args& args, Index first, Index end) {
  FragmentInputs<Body, kSwapped> inputs;
  Body::visit(args, inputs, [&](auto& input, const void* data, int64_t ld) {
    input.template prefetch<kRows, kColumns>(data, ld, first, end);
  });
}

// The body on the `kFragments` fragments from `place` on. With kAnyRow a tile may begin at an odd row, as those of groups do. Sums of a fragment lie side by side; a second product's, where the
// body takes two, lie in `others` as the first one's do in `sums`. What the body reduces is folded into `statistics`, whose owner
// leaves it; where the tile is computed transposed a fragment has all that a warp holds of its rows.
// `loaded` has the matrix that came by TMA, where one did.
template <typename Body, bool kSwapped, int kFragments, int kRegisters, bool kAnyRow = false, typename Loaded, typename Args,
          typename... Other>
__device__ __forceinline__ void apply_beside(const Loaded& loaded, const Args& args, float* sums, Place<kSwapped> place,
                                             RowStatistics<Body, kSwapped>& statistics, const Other*... others) {
  using Inputs = FragmentInputs<Body, kSwapped>;
  constexpr int kBatch = batch<Body::template kWords<Fragment<kSwapped>::template Input>, kFragments, kRegisters>();
  bool whole = is_whole<Body, kSwapped, Loaded::kIsThere>(args, place, kFragments);
  if constexpr (kSwapped && kAnyRow) whole &= place.row % 2 == 0;  // pairs lie along rows
  if constexpr (Loaded::kIsThere) whole = __all_sync(~0u, whole);  // a warp's lanes load together what is on chip

  Inputs shared;  // what fragments do not differ in
  Body::visit(args, shared, [&](auto& input, const void* data, int64_t ld) { input.load_shared(data, ld, place); });
#pragma unroll
  for (int first = 0; first < kFragments; first += kBatch) {
    Inputs inputs[kBatch];
    const auto load = [&](auto is_whole) {
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        inputs[i] = shared;
        [[maybe_unused]] int number = 0;
        Body::visit(args, inputs[i], [&](auto& input, const void* data, int64_t ld) {
          if (number++ == kLoadedInput<Body> && Loaded::kIsThere) return loaded.load(input, first + i);
          if (is_whole.value) return input.load_whole(data, ld, place, first + i);
          input.template load<false>(data, ld, place.fragment(first + i));
        });
      }
    };
    if (whole) {
      load(Constant<true>{});
    } else {
      load(Constant<false>{});  // along edges and of what is not aligned, element by element
    }
    const auto compute = [&](auto is_in_columns) {
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const Place<kSwapped> at = place.fragment(first + i);
        RowStatistics<Body, kSwapped> of_fragment;
        auto& folded = kSwapped ? of_fragment : statistics;
#pragma unroll
        for (int pair = 0; pair < 2; ++pair) {
          const int number = (first + i) * kFragmentSums + pair * 2;
          float* const sum = sums + number;
          const Place<kSwapped> of_pair = at.pair(pair);
          const auto low = Body::compute(args, inputs[i], of_pair.element(0), pair, 0, sum[0], others[number]...);
          const auto high = Body::compute(args, inputs[i], of_pair.element(1), pair, 1, sum[1], others[number + 1]...);
          // A row that is not there leaves no part.
          folded.fold(is_in_columns.value ? kPairElements : of_pair.count(), pair, low, high);
          sum[0] = low.values[0];
          sum[1] = high.values[0];
          Body::visit_stored(args, [&](auto* data, int64_t ld, int output) {
            store_pair(data, ld, at, pair, low.values[output], high.values[output]);
          });
        }
        if constexpr (kSwapped) of_fragment.leave(args, at);
      }
    };
    // Of each element it would take as many instructions to ask whether it is there as to reduce it.
    if constexpr (kStatistics<Body> > 0 && !kSwapped) {
      if (place.fragment(first + kBatch - 1).is_in_columns()) {
        compute(Constant<true>{});
      } else {
        compute(Constant<false>{});
      }
    } else {
      compute(Constant<false>{});
    }
  }
}

template <typename Body, bool kSwapped, int kFragments, int kRegisters, bool kAnyRow = false, typename Args,
          typename... Other>
__device__ __forceinline__ void apply(const Args& args, float* sums, Place<kSwapped> place,
                                      RowStatistics<Body, kSwapped>& statistics, const Other*... others) {
  apply_beside<Body, kSwapped, kFragments, kRegisters, kAnyRow>(NoneLoaded{}, args, sums, place, statistics, others...);
}

// One element from its sum of each product: `staged(value)` takes the output that is staged elsewhere. Gives all of them.
template <typename Body, typename Args, typename Staged, typename... Sum>
__device__ __forceinline__ typename Body::Outputs apply_to_element(const Args& args, Index at, const Staged& staged, Sum... sums) {
  typename Body::template Inputs<Element> inputs;
  Body::visit(args, inputs, [&](auto& input, const void* data, int64_t ld) { input.load(data, ld, at); });
  const auto outputs = Body::compute(args, inputs, at, 0, 0, sums...);
  staged(outputs.values[0]);
  Body::visit_stored(args, [&](auto* data, int64_t ld, int output) {
    store(data + at.row * ld + at.column, outputs.values[output]);
  });
  return outputs;
}

}  // namespace autokernel::body
