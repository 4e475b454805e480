// The reference of a body that rotates: a thread computes an element's sums and its partner's, straight from memory.
#pragma once

#include "body_rotated.cuh"
#include "reference_matmul.cuh"

namespace autokernel::reference {

// An element of A times B, which is number `product`, in fp64.
template <typename Problem, typename Args, typename Element>
__device__ __forceinline__ float sum_at(const Args& args, int product, Factor<Element> b, int64_t row, int64_t column) {
  const auto* const a = static_cast<const typename Problem::Input*>(args.a);
  double sum = 0.0;
  if (column >= args.n) return 0.0f;
  for (int64_t k = 0; k < args.k; ++k) {
    const float left = to_f32(a[kTransposesA<Problem> ? k * args.lda + row : row * args.lda + k]);
    const float right = to_f32(b.data[Problem::kTransposeB ? column * b.ld + k : k * b.ld + column]);
    sum += double(left) * double(right) * ScalesOfBlocks<Problem>::at(args, product, row, column, k);
  }
  return static_cast<float>(sum);
}

// Any grid of blocks of kThreads threads, each of which takes element after element.
template <typename Problem, typename Body, typename Pairing, int kProducts, typename Args>
__device__ __forceinline__ void matmul_rotated(const Args& args) {
  using Second = typename SecondOf<Problem>::Element;
  using Rotated = body::Rotated<Body, Pairing>;
  const int64_t step = int64_t{gridDim.x} * gridDim.y * kThreads;
  const int64_t first = (int64_t{blockIdx.y} * gridDim.x + blockIdx.x) * kThreads + threadIdx.x;
  for (int64_t number = first; number < int64_t{args.m} * args.n; number += step) {
    const body::Index at{static_cast<int>(number / args.n), static_cast<int>(number % args.n)};
    const int partner = Pairing::is_first(at.column) ? at.column + Pairing::kDistance : at.column - Pairing::kDistance;
    typename Body::template Inputs<body::Element> inputs;
    Body::visit(args, inputs, [&](auto& input, const void* data, int64_t ld) { input.load(data, ld, at); });
    const auto sums_of = [&](int product, const void* data, int64_t ld, int column) {
      return sum_at<Problem>(args, product, Factor<Second>{static_cast<const Second*>(data), ld}, at.row, column);
    };
    const auto outputs = [&] {
      const float own = sums_of(0, args.b, args.ldb, at.column), of_partner = sums_of(0, args.b, args.ldb, partner);
      if constexpr (kProducts == 2) {
        const float other = sums_of(1, args.b2, args.ldb2, at.column);
        const float of_others = sums_of(1, args.b2, args.ldb2, partner);
        return Body::compute(args, inputs, at, 0, 0, Rotated::of_partner(args, at, of_partner, of_others), own, other);
      } else {
        return Body::compute(args, inputs, at, 0, 0, Rotated::of_partner(args, at, of_partner), own);
      }
    }();
    static_cast<float*>(args.c)[at.row * args.ldc + at.column] = outputs.values[0];
    Body::visit_stored(args, [&](auto* data, int64_t ld, int output) {
      body::store(data + at.row * ld + at.column, outputs.values[output]);
    });
  }
}

}  // namespace autokernel::reference
