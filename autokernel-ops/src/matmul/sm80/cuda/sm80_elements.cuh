// What the tensor cores of sm_80 and after multiply, by the type of the factors.
//
// One mma multiplies 16 rows of A by 8 columns of B along 32 bytes of K, whatever an element is: of each operand a lane holds words of
// 4 bytes, and of 8 rows by 16 bytes the word lane % 4 of row lane / 4, as ldmatrix leaves them. So elements differ in the instruction, in
// how many of them are a step of K, and in what their sums are.
#pragma once

#include "ptx/sm80.cuh"
#include "types.cuh"

namespace autokernel::sm80 {

constexpr int kMmaM = 16;
constexpr int kMmaN = 8;
constexpr int kMmaBytes = 32;  // of K
constexpr int kBlock = 16;     // one ldmatrix.x4 loads 16 rows by 32 bytes: an A fragment, or the B fragments of two mmas

// d[16x8] += a[16 rows] * b[8 columns]. Floats of 16 bits; others have a file of their own, which stands before sm80_matmul.cuh.
template <typename Input>
struct Mma {
  using Sum = float;

  __device__ __forceinline__ static void multiply(Sum (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    ptx::mma_m16n8k16<Input>(d, a, b0, b1);
  }
};

// What problems ask of a stage and of registers. Weights have a specialisation.
template <typename Problem, typename = void>
struct Staged {
  static constexpr int kBytesOfA = sizeof(typename Problem::Input);
  static constexpr int kBytesOfB = kBytesOfA;
  static constexpr int kNumbersOfB = 1;  // of an element
  static constexpr int kSums = 1;        // that a lane holds of each number of C
  static constexpr int kGroupWords = 0;  // and words for each two rows of B
};

// Sums that are whole, as epilogues and bodies take them. fp32 ones stay where they are.
template <typename Sum, int kRows, int kColumns>
struct WholeSums {
  float (&fragments)[kRows][kColumns][4];

  __device__ __forceinline__ explicit WholeSums(float (&sums)[kRows][kColumns][4]) : fragments(sums) {}
};

}  // namespace autokernel::sm80
