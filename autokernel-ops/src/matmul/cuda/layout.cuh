// How the factors of a product lie, as its emitted `struct Problem` says it.
#pragma once

namespace autokernel {

// Whether A is stored as [k, m]. Only the problems of which that is so say it.
template <typename Problem, typename = void>
constexpr bool kTransposesA = false;
template <typename Problem>
constexpr bool kTransposesA<Problem, decltype(void(Problem::kTransposeA))> = Problem::kTransposeA;

// Whether an index says which row of A each row of C is of: Args::a_index, of the args.a_rows that A has.
template <typename Args, typename = void>
constexpr bool kGathersA = false;
template <typename Args>
constexpr bool kGathersA<Args, decltype(void(&Args::a_index))> = true;

}  // namespace autokernel
