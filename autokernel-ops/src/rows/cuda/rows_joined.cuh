// Two reductions of which the second needs the first, in one pass over the row and one crossing of its threads.
//
// A warp takes the second relative to what its lanes have of the first: exponentials to the greatest element so far, squares to the
// mean so far. What they have of the second moves along whenever the first changes: from one stretch of a long row to the next, and
// where warps and blocks bring together what they have. The first reduction has the bits that it has by itself.
//
// NaN and infinities go where two passes send them: what has seen no element says nothing, and an infinite first one leaves
// what each element by itself gives.
#pragma once

#include "fast_math.cuh"
#include "ptx/warp.cuh"
#include "rows_reduce.cuh"
#include "rows_vector.cuh"

namespace autokernel::rows {

// What some elements have of the first reduction: its number, and how many they are where that matters.
struct Seen {
  float first;
  float count;
};

// Of exp(x - max): the maximum, and their sum.
struct Exponentials {
  using First = Max;
  static constexpr bool kCounts = false;
  static constexpr float kNone = Max::kIdentity;

  // What elements are taken relative to. Of -inf alone every exponential is zero, and so is the sum that others move.
  __device__ __forceinline__ static float reference(Seen seen) { return seen.first == kNone ? 0.0f : seen.first; }

  // The short exponential is off by as many units as its argument is large, and so by a few of the sum: what is moved far weighs
  // nothing.
  __device__ __forceinline__ static float move(float sum, Seen from, Seen to) {
    return sum * fast_math::exp(from.first - reference(to));
  }

  // The same of what one lane has of a warp's sum.
  __device__ __forceinline__ static float move_share(float sum, Seen from, Seen to) { return move(sum, from, to); }

  // What makes a term relative to `from` one relative to all, to a few units however far they are apart.
  __device__ __forceinline__ static float factor(float from, float all) {
    constexpr float kLog2E = 1.44269504f, kRest = 1.92596303e-8f, kLn2 = 0.693147181f;
    if (all == kNone) return __int_as_float(0x7fffffff);
    if (from == all) return 1.0f;
    const float apart = fmaxf(from - all, -128.0f);  // of which the exponential is zero
    const float power = apart * kLog2E;
    const float rest = fmaf(apart, kRest, fmaf(apart, kLog2E, -power));
    return fast_math::exp2(power) * fmaf(rest, kLn2, 1.0f);
  }

  // The sum of a whole row: -inf - -inf is no number, and of no element the sum is nothing.
  __device__ __forceinline__ static float whole(float sum, float max, int columns) {
    return columns > 0 && max == kNone ? __int_as_float(0x7fffffff) : sum;
  }
};

// Of (x - mean)^2: the sum of x, their number, and the sum of the squares.
struct Squares {
  using First = Sum;
  static constexpr bool kCounts = true;

  __device__ __forceinline__ static float reference(Seen seen) {
    return seen.count > 0.0f ? fast_math::quotient(seen.first, seen.count) : 0.0f;
  }

  // About another mean there are count * (from - to)^2 more. Two infinite means are none apart.
  __device__ __forceinline__ static float move(float sum, Seen from, Seen to) {
    const float mean = reference(from), other = reference(to);
    const float apart = mean - other;
    return from.count > 0.0f && mean != other ? fmaf(from.count * apart, apart, sum) : sum;
  }

  // The same of what one lane has of a warp's sum: its share of what is added.
  __device__ __forceinline__ static float move_share(float sum, Seen from, Seen to) {
    const float mean = reference(from), other = reference(to);
    const float apart = mean - other;
    const float count = from.count * (1.0f / kWarpSize);
    return from.count > 0.0f && mean != other ? fmaf(count * apart, apart, sum) : sum;
  }

  __device__ __forceinline__ static float whole(float sum, float, int) { return sum; }
};

// What a thread has reduced so far, and its warp has of the first reduction.
template <typename Pair>
struct Joined {
  static constexpr int kNumbers = Pair::kCounts ? 3 : 2;

  Accumulator<typename Pair::First> first;
  Accumulator<Sum> second;  // relative to `settled`
  float count = 0.0f;
  Seen settled = {Pair::First::kIdentity, 0.0f};

  // Takes elements of the first reduction; those of the second are `second`'s, once it is settled.
  template <int kVector>
  __device__ __forceinline__ void add(float (&elements)[kVector], Span<kVector> span) {
    first.add(elements, span);
    if constexpr (Pair::kCounts) count += span.is_inside ? float(kVector) : 0.0f;
  }

  __device__ __forceinline__ Seen seen() const { return {first.value, count}; }

  // What further terms of the second reduction are to be relative to. All lanes of the warp call this.
  __device__ __forceinline__ float settle() {
    Seen all = {reduce_lanes<typename Pair::First, kWarpSize>(first.value), 0.0f};
    if constexpr (Pair::kCounts) all.count = float(ptx::warp_sum(int(count)));
    second.value = Pair::move_share(second.value, settled, all);
    settled = all;
    return Pair::reference(settled);
  }

  // With the lanes of its warp, behind the last that is settled.
  template <int kLanes>
  __device__ __forceinline__ void across_threads() {
    static_assert(kLanes == kWarpSize, "schedule rule `joins`: whole warps a row");
    first.value = settled.first;
    count = settled.count;
    second.template across_lanes<kLanes>();
  }

  // With lanes that each have a part.
  template <int kLanes>
  __device__ __forceinline__ void across_lanes() {
    const Seen own = seen();
    first.template across_lanes<kLanes>();
    if constexpr (Pair::kCounts) count = reduce_lanes<Sum, kLanes>(count);
    second.value = Pair::move(second.value, own, seen());
    second.template across_lanes<kLanes>();
  }

  template <typename Visit>
  __device__ __forceinline__ void numbers(Visit visit) {
    visit(first.value);
    visit(second.value);
    if constexpr (Pair::kCounts) visit(count);
  }

  __device__ __forceinline__ float whole(int columns) const { return Pair::whole(second.value, first.value, columns); }
};

}  // namespace autokernel::rows
