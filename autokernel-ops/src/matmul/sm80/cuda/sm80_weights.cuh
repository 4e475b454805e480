// Products whose second factor, the weights, holds whole numbers of 8 or 4 bits and whose first one floats of 16 bits.
//
// Weights come as they are to shared memory. A lane loads words of its columns, makes pairs of floats of them in registers (unpack.cuh),
// and these are the fragments of B. Nothing is rounded. An mma multiplies any 16 of K that both factors have in the same order: numbers of 4
// bits are packed in that of ldmatrix; of a word of bytes, four along K, a lane has the same four of A, which it loads by itself.
//
// Where groups of numbers along K have a scale for each column, the sums of a group are scaled, in fp32, and added to those of the tile. A
// stage lies in one group. What a group has of scales and zero points is requested as the last stage of the one before is multiplied.
//
// Stands before sm80_matmul.cuh, whose templates find what is declared here.
#pragma once

#include "sm80_factors.cuh"
#include "unpack.cuh"

namespace autokernel::ptx {

__device__ __forceinline__ void load_shared(uint32_t shared, uint32_t& first, uint32_t& second) {
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(first), "=r"(second) : "r"(shared) : "memory");
}

}  // namespace autokernel::ptx

namespace autokernel::sm80 {

namespace weights {

// Of problems that have Weight, the type of the second factor, and kGroup, how many of K share a scale of type Scale, or 0.
template <typename Problem>
using IfSo = decltype(void(sizeof(typename Problem::Weight)));

// Whether groups have zero points: only problems with some say so.
template <typename Problem, typename = void>
constexpr bool kHasZeros = false;
template <typename Problem>
constexpr bool kHasZeros<Problem, decltype(void(Problem::kZeros))> = Problem::kZeros;

__device__ __forceinline__ float widen(bf16 scale) { return __uint_as_float(uint32_t{scale.bits} << 16); }
__device__ __forceinline__ float widen(f16 scale) { return ptx::f16_to_f32(scale.bits); }
__device__ __forceinline__ float widen(f32 scale) { return scale; }

// Element `column` of row `row` of a matrix of as many columns; 0 where there is none.
template <typename T>
__device__ __forceinline__ T element(const void* data, int64_t ld, int row, int column, int columns) {
  return column < columns ? static_cast<const T*>(data)[row * ld + column] : T{};
}

// How words of a column of weights become the two halves of B of an mma.
template <typename Input, typename Weight>
struct Words;

template <typename Input>
struct Words<Input, i8> {
  static constexpr int kNumbers = 1;       // of a byte
  static constexpr int kStepsOfChunk = 1;  // whose words lie in 16 bytes
  static constexpr bool kInOrder = false;  // of ldmatrix
  static constexpr uint32_t kBase = kBase8;
  static constexpr uint32_t kLess = kLess8<Input>;

  __device__ __forceinline__ static void unpack(uint32_t (&b)[2], uint32_t word, int, uint32_t added) {
    const uint32_t bytes = without_signs(word);
    b[0] = unpack8<Input, Half::kLower>(bytes, added);
    b[1] = unpack8<Input, Half::kUpper>(bytes, added);
  }
};

template <typename Input>
struct Words<Input, i4x2> {
  static constexpr int kNumbers = 2;
  static constexpr int kStepsOfChunk = 2;
  static constexpr bool kInOrder = true;
  static constexpr uint32_t kBase = kBase4;
  static constexpr uint32_t kLess = kLess4<Input>;

  __device__ __forceinline__ static void unpack(uint32_t (&b)[2], uint32_t word, int step, uint32_t added) {
    const uint32_t nibbles = word >> 8 * (step % 2);
    b[0] = unpack4<Input, false>(nibbles, added);
    b[1] = unpack4<Input, true>(nibbles, added);
  }
};

}  // namespace weights

template <typename Problem>
struct Staged<Problem, weights::IfSo<Problem>> {
  static constexpr int kBytesOfA = sizeof(typename Problem::Input);
  static constexpr int kBytesOfB = 1;
  static constexpr int kNumbersOfB = weights::Words<typename Problem::Input, typename Problem::Weight>::kNumbers;
  static constexpr int kSums = Problem::kGroup > 0 ? 2 : 1;
  static constexpr int kGroupWords = Problem::kGroup > 0 ? (weights::kHasZeros<Problem> ? 3 : 2) : 0;
};

template <typename Problem, typename S, int kProducts>
struct Factors<Problem, S, kProducts, weights::IfSo<Problem>> {
  using Input = typename Problem::Input;
  using Words = weights::Words<Input, typename Problem::Weight>;
  static constexpr int kGroup = Problem::kGroup;
  static constexpr bool kZeros = weights::kHasZeros<Problem>;

  static constexpr int kBlocksM = S::kWarpTileM / kBlock;
  static constexpr int kBlocksN = S::kWarpTileN / kBlock;
  static constexpr int kBlocksOfOne = kBlocksN / kProducts;
  static constexpr int kFragments = 2 * kBlocksN;  // of 8 columns
  static constexpr int kFragmentsOfOne = 2 * kBlocksOfOne;
  static_assert(Problem::kTransposeB && !kTransposesA<Problem>, "layout_is_one_that_ldmatrix_reads");
  static_assert(kGroup == 0 || kGroup % S::kTileK == 0, "stages_lie_in_groups");

  // Lanes that load A by themselves read two chunks of a row together.
  using OperandA = Operand<sizeof(Input), S::kTileM, S::kTileK, S::kThreads, false, Words::kInOrder ? 1 : 2>;
  using OperandB = Operand<1, S::kColumns, S::kTileK / Words::kNumbers, S::kThreads, false>;

  struct Fragments {
    uint32_t a[kBlocksM][4];
    uint32_t words[kFragments];
  };

  // Where a lane of the warp whose tile begins there finds fragments.
  struct Lane {
    uint32_t a, b;

    __device__ __forceinline__ Lane(int row, int column) {
      const int lane = threadIdx.x % kWarpSize;
      const int word = lane % 4;
      a = Words::kInOrder ? OperandA::lane_offset_a(row)
                          : OperandA::Layout::offset(row + lane / 4, word / 2) + word % 2 * (kChunkBytes / 2);
      b = OperandB::Layout::offset(column + lane / 4, 0) + word * kWordBytes;
    }
  };

  __device__ __forceinline__ static void load(Fragments& fragments, uint32_t stage, Lane lane, int step) {
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
      const uint32_t address = OperandA::fragment_address(stage, lane.a, i, step);
      auto& a = fragments.a[i];
      if constexpr (Words::kInOrder) {
        ptx::ldmatrix_x4(a, address);
      } else {
        ptx::load_shared(address, a[0], a[2]);
        ptx::load_shared(address + kBlock / 2 * OperandA::Layout::kRowPitch, a[1], a[3]);
      }
    }
#pragma unroll
    for (int j = 0; j < kFragments; ++j) {
      const uint32_t tile = stage + S::kTileBytesA + j / kFragmentsOfOne * S::kTileBytesB;
      const uint32_t chunk = lane.b ^ (step / Words::kStepsOfChunk * kChunkBytes);
      ptx::load_shared(tile + chunk + j % kFragmentsOfOne * kMmaN * OperandB::Layout::kRowPitch, fragments.words[j]);
    }
  }

  // What a group has of scales, of the two columns whose sums a lane holds, and of zero points, of the column whose numbers it does.
  struct Group {
    float scales[kFragments][2];
    uint32_t added[kFragments];  // to unpacked pairs

    template <typename Args>
    __device__ __forceinline__ void load(const Args& args, int group, int first, int columns) {
      load_of_product<0>(args.scales, args.ldscales, group, first, columns);
      if constexpr (kProducts == 2) load_of_product<1>(args.scales2, args.ldscales2, group, first, columns);
      if constexpr (kZeros) {
        load_zeros<0>(args.zeros, args.ldzeros, group, first, columns);
        if constexpr (kProducts == 2) load_zeros<1>(args.zeros2, args.ldzeros2, group, first, columns);
      }
    }

   private:
    template <int kProduct>
    __device__ __forceinline__ void load_of_product(const void* data, int64_t ld, int group, int first, int columns) {
      const int column = first + threadIdx.x % 4 * 2;
#pragma unroll
      for (int j = 0; j < kFragmentsOfOne; ++j) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          using Scale = typename Problem::Scale;
          const int at = column + j * kMmaN + i;
          scales[kProduct * kFragmentsOfOne + j][i] = weights::widen(weights::element<Scale>(data, ld, group, at, columns));
        }
      }
    }

    template <int kProduct>
    __device__ __forceinline__ void load_zeros(const void* data, int64_t ld, int group, int first, int columns) {
      const int column = first + threadIdx.x % kWarpSize / 4;
#pragma unroll
      for (int j = 0; j < kFragmentsOfOne; ++j) {
        const int zero = weights::element<i8>(data, ld, group, column + j * kMmaN, columns).value;
        added[kProduct * kFragmentsOfOne + j] = less<Input>(Words::kBase + zero);
      }
    }
  };

  // What sums are multiplied by at last: unpacked numbers were divided by it.
  struct WholeSums {
    float fragments[kBlocksM][kFragments][4];

    __device__ __forceinline__ explicit WholeSums(const float (&sums)[kBlocksM][kFragments][4]) {
#pragma unroll
      for (int number = 0; number < kBlocksM * kFragments * 4; ++number) {
        const int i = number / (4 * kFragments), j = number / 4 % kFragments;
        fragments[i][j][number % 4] = sums[i][j][number % 4] * kDivisor<Input>;
      }
    }
  };

  // `added` says what is added to the pairs of a fragment's columns as they are unpacked.
  template <typename Added>
  __device__ __forceinline__ static void multiply_into(float (&sums)[kBlocksM][kFragments][4], const Fragments& factors, int step,
                                                       const Added& added) {
#pragma unroll
    for (int j = 0; j < kFragments; ++j) {
      uint32_t b[2];
      Words::unpack(b, factors.words[j], step, added(j));
#pragma unroll
      for (int i = 0; i < kBlocksM; ++i) Mma<Input>::multiply(sums[i][j], factors.a[i], b[0], b[1]);
    }
  }

  template <typename Args, bool kApart = (kGroup > 0)>
  struct Sums {
    static constexpr bool kOfGroups = false;
    using Whole = WholeSums;
    float fragments[kBlocksM][kFragments][4] = {};

    __device__ __forceinline__ Sums(const Args&, int, int) {}

    __device__ __forceinline__ void multiply(const Fragments& factors, int step) {
      multiply_into(fragments, factors, step, [](int) { return Words::kLess; });
    }
    __device__ __forceinline__ Whole whole() const { return Whole(fragments); }
  };

  // Sums of groups, each scaled when it ends.
  template <typename Args>
  struct Sums<Args, true> {
    static constexpr bool kOfGroups = true;
    using Whole = WholeSums;
    const Args& args;
    int first, columns;  // of C
    float of_group[kBlocksM][kFragments][4] = {};
    float of_all[kBlocksM][kFragments][4] = {};
    Group group{};
    Group requested{};
    bool ends = false;  // with the tile that is multiplied

    __device__ __forceinline__ Sums(const Args& args, int first, int columns)
        : args(args), first(first), columns(columns) {}

    // Before the first tile, which begins at `k`.
    __device__ __forceinline__ void begin(int k) { group.load(args, k / kGroup, first, columns); }

    // Before the tile that begins at `k`, and before the one at `next`, if it is not -1.
    __device__ __forceinline__ void request(int k, int next) {
      ends = next < 0 || next / kGroup != k / kGroup;
      if (ends && next >= 0) requested.load(args, next / kGroup, first, columns);
    }

    __device__ __forceinline__ void multiply(const Fragments& factors, int step) {
      multiply_into(of_group, factors, step, [&](int j) { return kZeros ? group.added[j] : Words::kLess; });
    }

    __device__ __forceinline__ void end_tile() {
      if (!ends) return;
#pragma unroll
      for (int number = 0; number < kBlocksM * kFragments * 4; ++number) {
        const int i = number / (4 * kFragments), j = number / 4 % kFragments, at = number % 4;
        of_all[i][j][at] = fmaf(of_group[i][j][at], group.scales[j][at % 2], of_all[i][j][at]);
        of_group[i][j][at] = 0.0f;
      }
      group = requested;
    }

    __device__ __forceinline__ Whole whole() const { return Whole(of_all); }
  };
};

}  // namespace autokernel::sm80
