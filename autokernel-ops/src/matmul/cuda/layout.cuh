// How the factors of a product lie, as its emitted `struct Problem` says it.
#pragma once

namespace autokernel {

// Whether A is stored as [k, m]. Only the problems of which that is so say it.
template <typename Problem, typename = void>
constexpr bool kTransposesA = false;
template <typename Problem>
constexpr bool kTransposesA<Problem, decltype(void(Problem::kTransposeA))> = Problem::kTransposeA;

}  // namespace autokernel
