// Bodies that rotate, as rotary embeddings do: an element sees values of its partner, a column of the same row.
//
// A lane holds pairs of neighbours, 8 apart: both elements of an adjacent pair, and where its columns of C are whole heads, both
// halves of each head. So partners are computed together, from registers, and nothing is exchanged. A partner beyond C's last
// column is no number.
//
// The emitted `struct Body` says what partners see of each other, `rotating`, and takes it in `compute`. Included before the header
// of the family, which finds this `apply` where its body is Rotated.
#pragma once

#include "body.cuh"

namespace autokernel::body {

// The first half of a head's columns takes the second, negated, and the second the first.
template <int kHead>
struct Halves {
  static constexpr int kDistance = kHead / 2;                  // from the first partner to the second
  static constexpr int kFragments = kDistance / kFragmentStep;  // of as many columns
  static_assert(kFragments * kFragmentStep * 2 == kHead, "a half of a head is whole fragments");

  __device__ __forceinline__ static bool is_first(int column) { return column % kHead < kDistance; }
};

// The first of two neighbours takes the second, negated, and the second the first.
struct Neighbours {
  static constexpr int kDistance = 1;
  static constexpr int kFragments = 0;

  __device__ __forceinline__ static bool is_first(int column) { return column % 2 == 0; }
};

// What an element takes of its partner's values.
template <typename Rotating>
__device__ __forceinline__ Rotating taken(Rotating partner, bool is_first, bool is_there) {
  for (float& value : partner.values) value = is_there ? (is_first ? -value : value) : __int_as_float(0x7fc00000);
  return partner;
}

// A body whose elements see partners.
template <typename Body, typename Pairing>
struct Rotated : Body {
  // What an element takes of its partner, whose sums are given.
  template <typename Args, typename... Sum>
  __device__ __forceinline__ static typename Body::Rotating of_partner(const Args& args, Index at, Sum... sums) {
    const bool is_first = Pairing::is_first(at.column);
    const Index partner{at.row, is_first ? at.column + Pairing::kDistance : at.column - Pairing::kDistance};
    const bool is_there = partner.column < args.n;
    typename Body::template Inputs<Element> inputs;
    if (is_there) {
      Body::visit(args, inputs, [&](auto& input, const void* data, int64_t ld) { input.load(data, ld, partner); });
    }
    return taken(Body::rotating(args, inputs, partner, 0, 0, sums...), is_first, is_there);
  }

  // An element by itself, where there is no K: its partner's sums are zero as its own.
  template <typename Args, typename Inputs, typename... Sum>
  __device__ __forceinline__ static typename Body::Outputs compute(const Args& args, const Inputs& inputs, Index at, int pair,
                                                                   int i, Sum... sums) {
    return Body::compute(args, inputs, at, pair, i, of_partner(args, at, sums...), sums...);
  }
};

// Fragments that are computed side by side where nothing is loaded for them or stored: C's edge comes between them and the next ones,
// without which ptxas may begin all that a lane has at once, for more registers than there are.
constexpr int kSideBySide = 4;

// The body on the `kFragments` fragments from `place` on, which are whole heads, as `apply` of other bodies.
template <typename Rotates, bool kSwapped, int kFragments, int kRegisters, bool kAnyRow = false, typename Body,
          typename Pairing, typename Args, typename... Other>
__device__ __forceinline__ void apply(const Args& args, float* sums, Place<kSwapped> place,
                                      RowStatistics<Rotated<Body, Pairing>, kSwapped>&, const Other*... others) {
  static_assert(!kSwapped, "rotated_heads_lie_in_a_lane");
  // Fragments whose partners, side 1, follow them; where partners are neighbours a fragment has both.
  constexpr bool kWithin = Pairing::kFragments == 0;
  constexpr int kSides = kWithin ? 1 : 2;
  constexpr int kRun = kWithin ? kFragments : Pairing::kFragments;
  static_assert(kFragments % (kSides * kRun) == 0, "rotated_heads_lie_in_a_lane");
  using Inputs = FragmentInputs<Body, false>;
  constexpr int kWords = kSides * Body::template kWords<Fragment<false>::template Input>;
  constexpr int kLoaded = batch<kWords, kRun, kRegisters>();
  constexpr bool kIsOrdered = kWords > 0 || sizeof(typename Body::Outputs) > sizeof(float);
  constexpr bool kEndsAtEdge = !kIsOrdered && kSides * kLoaded > kSideBySide;
  constexpr int kBatch = kEndsAtEdge ? batch<1, kRun, kSideBySide / kSides>() : kLoaded;

  Inputs shared;  // what fragments do not differ in
  bool paired = true;
  Body::visit(args, shared, [&](auto& input, const void* data, int64_t ld) {
    paired &= input.is_paired(data, ld);
    input.load_shared(data, ld, place);
  });
#pragma unroll
  for (int head = 0; head < kFragments; head += kSides * kRun) {
#pragma unroll
    for (int first = head; first < head + kRun; first += kBatch) {
      // By the fragment's first column, so that all lanes of the warp do alike.
      if (kEndsAtEdge && (place.fragment(first).column & -kFragmentStep) >= place.columns) return;
      Inputs inputs[kSides][kBatch];
      const auto load = [&](auto is_paired) {
#pragma unroll
        for (int i = 0; i < kSides * kBatch; ++i) {
          Inputs& of_fragment = inputs[i / kBatch][i % kBatch];
          const Place<false> at = place.fragment(first + i % kBatch + i / kBatch * kRun);
          of_fragment = shared;
          Body::visit(args, of_fragment, [&](auto& input, const void* data, int64_t ld) {
            input.template load<is_paired.value>(data, ld, at);
          });
        }
      };
      if (paired) {
        load(Constant<true>{});
      } else {
        load(Constant<false>{});
      }
#pragma unroll
      for (int i = 0; i < kBatch * 2; ++i) {
        const int fragment = i / 2, pair = i % 2;
        const auto place_of = [&](int side) { return place.fragment(first + fragment + side * kRun); };
        const auto number = [&](int side, int element) {
          return (first + fragment + side * kRun) * kFragmentSums + pair * 2 + element;
        };
        typename Body::Rotating values[kSides][2];
#pragma unroll
        for (int side = 0; side < kSides; ++side) {
#pragma unroll
          for (int element = 0; element < 2; ++element) {
            const Index at = place_of(side).pair(pair).element(element);
            const int sum = number(side, element);
            values[side][element] =
                Body::rotating(args, inputs[side][fragment], at, pair, element, sums[sum], others[sum]...);
          }
        }
#pragma unroll
        for (int side = 0; side < kSides; ++side) {
          typename Body::Outputs outputs[2];
#pragma unroll
          for (int element = 0; element < 2; ++element) {
            const Index at = place_of(side).pair(pair).element(element);
            const int sum = number(side, element);
            const bool is_first = kWithin ? element == 0 : side == 0;
            const auto& partner = kWithin ? values[0][1 - element] : values[kSides - 1 - side][element];
            const auto rotated = taken(partner, is_first, !is_first || at.column + Pairing::kDistance < place.columns);
            outputs[element] =
                Body::compute(args, inputs[side][fragment], at, pair, element, rotated, sums[sum], others[sum]...);
          }
          sums[number(side, 0)] = outputs[0].values[0];
          sums[number(side, 1)] = outputs[1].values[0];
          Body::visit_stored(args, [&](auto* data, int64_t ld, int output) {
            store_pair(data, ld, place_of(side), pair, outputs[0].values[output], outputs[1].values[output]);
          });
        }
      }
    }
  }
}

}  // namespace autokernel::body
