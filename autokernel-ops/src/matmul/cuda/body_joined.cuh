// Sums of exponentials relative to a row's maximum, which no part of the row knows: each part takes its sum relative to the greatest of
// its own elements, and leaves both. What is brought together moves along to the greatest of all, as M. Milakov and N. Gimelshein,
// "Online normalizer calculation for softmax", 2018, have it.
//
// The emitted `struct Body` says of a sum which maximum it is relative to, `maximum_of`; what `compute` gives as its term is the element
// that this is the maximum of. NaN and infinities go where the two reductions one after the other send them: what has seen no element
// says nothing, and an infinite maximum leaves what each element by itself gives.
#pragma once

#include "body.cuh"
#include "fast_math.cuh"

namespace autokernel::body {

// A body of which some sums are relative to a maximum.
template <typename Body>
struct Joined : Body {};

constexpr float kNothing = -__builtin_huge_valf();  // the maximum of no element

// What elements are taken relative to. Of -inf alone every exponential is zero, and so is the sum that others move.
__device__ __forceinline__ float reference_of(float maximum) { return maximum == kNothing ? 0.0f : maximum; }

// exp(x - maximum) of an element that is at most that. The short exponential is off by as many units as its argument is large, and so by
// a few of the sum: what is far below weighs nothing.
__device__ __forceinline__ float exponential(float x, float maximum) { return fast_math::exp(x - reference_of(maximum)); }

// A sum that is relative to `from`, relative to `to`.
__device__ __forceinline__ float moved(float sum, float from, float to) { return sum * exponential(from, to); }

// The sum of a whole row: -inf - -inf is no number, and of no element the sum is nothing.
__device__ __forceinline__ float whole(float sum, float maximum, int columns) {
  return columns > 0 && maximum == kNothing ? __int_as_float(0x7fffffff) : sum;
}

constexpr int kJoinedFragments = 4;  // whose elements a lane holds until it takes their exponentials: sums are moved once for all

// As those of other bodies. Of sums that are joined `of_rows` has nothing until they are left.
template <typename Body, bool kSwapped, int kCount>
struct RowStatistics<Joined<Body>, kSwapped, kCount> : RowStatistics<Body, kSwapped, kCount> {
  using Base = RowStatistics<Body, kSwapped, kCount>;
  // Where the tile is computed transposed a lane has of each row two elements of its one fragment.
  static constexpr int kHeld = kSwapped ? 2 : 2 * kJoinedFragments;

  float elements[kCount][2][kHeld];  // by statistic and row, those that are in no sum yet
  int fragments = 0;                 // which these are of
  float sums[kCount][2];
  float relative_to[kCount][2];

  __device__ __forceinline__ RowStatistics() {
    each_joined([&](int statistic, int, int i) {
      sums[statistic][i] = 0.0f;
      relative_to[statistic][i] = kNothing;
#pragma unroll
      for (float& element : elements[statistic][i]) element = kNothing;
    });
  }

  template <typename Outputs>
  __device__ __forceinline__ void fold(int count, int pair, const Outputs& low, const Outputs& high) {
    Base::fold(count, pair, low, high);
#pragma unroll
    for (int statistic = 0; statistic < kCount; ++statistic) {
      if (Body::maximum_of(statistic) < 0) continue;
      const int term = Body::kOutputs + statistic;
      const float first = count >= 1 ? low.values[term] : kNothing;
      const float second = count >= 2 ? high.values[term] : kNothing;
      hold(elements[statistic][kSwapped ? 0 : pair], first);
      hold(elements[statistic][kSwapped ? 1 : pair], second);
    }
    if constexpr (!kSwapped) {
      if (pair == 1 && ++fragments == kJoinedFragments) settle();
    }
  }

  // All lanes of the warp come here.
  template <typename Args>
  __device__ __forceinline__ void leave(const Args& args, Place<kSwapped> place) {
    each_joined([&](int, int maximum, int i) {
      float& value = this->of_rows[maximum][i];
#pragma unroll
      for (int mask = Base::kFirstMask; mask <= Base::kLastMask; mask *= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, mask));
    });
    settle();
    each_joined([&](int statistic, int, int i) { this->of_rows[statistic][i] = sums[statistic][i]; });
    Base::leave(args, place);
  }

 private:
  template <typename Visit>
  __device__ __forceinline__ static void each_joined(const Visit& visit) {
#pragma unroll
    for (int statistic = 0; statistic < kCount; ++statistic) {
      const int maximum = Body::maximum_of(statistic);
      if (maximum < 0) continue;
#pragma unroll
      for (int i = 0; i < 2; ++i) visit(statistic, maximum, i);
    }
  }

  // Puts an element in the place of the oldest: by places that are known, so that all of them are registers.
  __device__ __forceinline__ static void hold(float (&held)[kHeld], float element) {
#pragma unroll
    for (int i = 0; i + 1 < kHeld; ++i) held[i] = held[i + 1];
    held[kHeld - 1] = element;
  }

  // Takes what is held into the sums, relative to the maximum so far.
  __device__ __forceinline__ void settle() {
    each_joined([&](int statistic, int maximum, int i) {
      const float to = this->of_rows[maximum][i];
      float& sum = sums[statistic][i];
      sum = moved(sum, relative_to[statistic][i], to);
#pragma unroll
      for (float& element : elements[statistic][i]) {
        sum += exponential(element, to);
        element = kNothing;
      }
      relative_to[statistic][i] = to;
    });
    fragments = 0;
  }
};

// Part `part` of a row by one thread, as `leave_part` of other bodies: the maxima first.
template <typename Body, typename Args, typename OutputsOf>
__device__ __forceinline__ void leave_joined_part(const Args& args, int row, int part, int columns, const OutputsOf& outputs_of) {
  leave_part<Body>(args, row, part, columns, outputs_of);
  const Parts<Body> parts{static_cast<float*>(args.parts), args.m, columns};
  const int end = min(columns, (part + 1) * Body::kPartColumns);
#pragma unroll
  for (int statistic = 0; statistic < kStatistics<Body>; ++statistic) {
    if (Body::maximum_of(statistic) < 0) continue;
    const float maximum = *parts.at(Body::maximum_of(statistic), part, row);
    float sum = 0.0f;
    for (int column = part * Body::kPartColumns; column < end; ++column) {
      sum += exponential(outputs_of(column).values[Body::kOutputs + statistic], maximum);
    }
    parts.leave(statistic, part, row, sum);
  }
}

// By a warp that has registers for one row at once: pairs are moved by more of them than sums are added by.
template <typename Body, int kRegisters>
constexpr int kAtOnce<Joined<Body>, kRegisters, 1> = 1;

// Of parts whose sums are relative to their own maxima.
template <typename Body>
struct RowOfParts<Joined<Body>> {
  static constexpr int kCount = kStatistics<Body>;

  template <int kOthers>
  __device__ __forceinline__ static void take(float (&reduced)[kCount], const float (&others)[kCount][kOthers]) {
    float before[kCount];
#pragma unroll
    for (int statistic = 0; statistic < kCount; ++statistic) {
      before[statistic] = reduced[statistic];
      if (Body::maximum_of(statistic) >= 0) continue;
#pragma unroll
      for (float other : others[statistic]) reduced[statistic] = Body::combine(statistic, reduced[statistic], other);
    }
#pragma unroll
    for (int statistic = 0; statistic < kCount; ++statistic) {
      const int maximum = Body::maximum_of(statistic);
      if (maximum < 0) continue;
      reduced[statistic] = moved(reduced[statistic], before[maximum], reduced[maximum]);
#pragma unroll
      for (int i = 0; i < kOthers; ++i) reduced[statistic] += moved(others[statistic][i], others[maximum][i], reduced[maximum]);
    }
  }

  __device__ __forceinline__ static void settle(float (&reduced)[kCount], int columns) {
#pragma unroll
    for (int statistic = 0; statistic < kCount; ++statistic) {
      const int maximum = Body::maximum_of(statistic);
      if (maximum >= 0) reduced[statistic] = whole(reduced[statistic], reduced[maximum], columns);
    }
  }
};

}  // namespace autokernel::body
