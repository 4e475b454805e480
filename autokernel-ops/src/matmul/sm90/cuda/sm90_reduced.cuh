// Products on Hopper whose rows are reduced by pairs of numbers, or whose C is written nowhere: where K is 0 a thread leaves what belongs
// to a part of a row, as no tile is summed.
#pragma once

#include "body_joined.cuh"
#include "body_unstored.cuh"
#include "sm90_matmul.cuh"

namespace autokernel::sm90 {

// How a thread leaves a part by itself, and whether elements are written.
template <typename Body>
struct PartOf {
  static constexpr bool kStoresC = true;
  template <typename Args, typename OutputsOf>
  __device__ __forceinline__ static void leave(const Args& args, int row, int part, int columns, const OutputsOf& outputs_of) {
    body::leave_part<Body>(args, row, part, columns, outputs_of);
  }
};
template <typename Body>
struct PartOf<body::Joined<Body>> {
  static constexpr bool kStoresC = true;
  template <typename Args, typename OutputsOf>
  __device__ __forceinline__ static void leave(const Args& args, int row, int part, int columns, const OutputsOf& outputs_of) {
    body::leave_joined_part<Body>(args, row, part, columns, outputs_of);
  }
};
template <typename Body>
struct PartOf<body::Unstored<Body>> : PartOf<Body> {
  static constexpr bool kStoresC = false;
};

template <typename Problem, typename Schedule, typename Args, typename Body, int kProducts = 1>
struct ReducedMatmul : Matmul<Problem, Schedule, Args, Body, kProducts> {
  using Base = Matmul<Problem, Schedule, Args, Body, kProducts>;
  using G = typename Base::G;

  __device__ __forceinline__ static void run(const Args& args) {
    const int k = Problem::kKnownK > 0 ? Problem::kKnownK : args.k;
    if (k > 0) return Base::run(args);
    ptx::wait_for_previous_grids();
    const int n = Problem::kKnownN > 0 ? Problem::kKnownN : args.n;
    reduce_rows_alone<G, Body>(args, n, [&](int row, int part) {
      PartOf<Body>::leave(args, row, part, n, [&](int column) { return outputs_of_zero(args, {row, column}); });
    });
  }

 private:
  __device__ __forceinline__ static typename Body::Outputs outputs_of_zero(const Args& args, body::Index at) {
    const float zero = Problem::epilogue(0.0f);
    const auto store = [&](float staged) {
      if constexpr (PartOf<Body>::kStoresC) {
        body::store(static_cast<typename Base::Output*>(args.c) + at.row * args.ldc + at.column, staged);
      }
    };
    if constexpr (kProducts == 2) {
      return body::apply_to_element<Body>(args, at, store, zero, zero);
    } else {
      return body::apply_to_element<Body>(args, at, store, zero);
    }
  }
};

}  // namespace autokernel::sm90
