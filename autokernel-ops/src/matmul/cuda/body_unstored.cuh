// Bodies whose rows are reduced and whose elements are written nowhere: there is no C.
#pragma once

#include "body_statistics.cuh"

namespace autokernel::body {

// A body that writes numbers of rows alone.
template <typename Body>
struct Unstored : Body {};
template <typename Body>
struct RowOfParts<Unstored<Body>> : RowOfParts<Body> {};
template <typename Body, int kRegisters, int kRows>
constexpr int kAtOnce<Unstored<Body>, kRegisters, kRows> = kAtOnce<Body, kRegisters, kRows>;

// What a launch passes, as a kernel sees it that knows of a C: one that is nowhere.
template <typename Launched>
struct WithoutC : Launched {
  static constexpr void* c = nullptr;
  static constexpr int64_t ldc = 0;
  static constexpr int c_is_mapped = 0;
};

}  // namespace autokernel::body
