// The factors of a warp tile: fragments of both from a stage, and the sums of their products in registers.
//
// Those of one type, of which an mma takes what ldmatrix loads. Weights have a specialisation (sm80_weights.cuh), which stands before
// sm80_matmul.cuh.
#pragma once

#include "layout.cuh"
#include "ptx/sm80.cuh"
#include "sm80_elements.cuh"
#include "sm80_operand.cuh"
#include "types.cuh"

namespace autokernel::sm80 {

template <typename Problem, typename S, int kProducts, typename = void>
struct Factors {
  using Input = typename Problem::Input;
  using Sum = typename Mma<Input>::Sum;

  static constexpr int kBlocksM = S::kWarpTileM / kBlock;
  static constexpr int kBlocksN = S::kWarpTileN / kBlock;
  static constexpr int kBlocksOfOne = kBlocksN / kProducts;

  static constexpr bool kTransposeA = kTransposesA<Problem>;
  using OperandA = Operand<sizeof(Input), S::kTileM, S::kTileK, S::kThreads, kTransposeA>;
  using OperandB = Operand<sizeof(Input), S::kColumns, S::kTileK, S::kThreads, !Problem::kTransposeB>;

  struct Fragments {
    uint32_t a[kBlocksM][4];
    uint32_t b[kBlocksN][4];  // two 8-wide fragments of two registers each
  };

  // Where a lane of the warp whose tile begins there finds fragments.
  struct Lane {
    uint32_t a, b;
    __device__ __forceinline__ Lane(int row, int column)
        : a(OperandA::lane_offset_a(row)), b(OperandB::lane_offset_b(column)) {}
  };

  __device__ __forceinline__ static void load(Fragments& fragments, uint32_t stage, Lane lane, int step) {
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
      const uint32_t address = OperandA::fragment_address(stage, lane.a, i, step);
      if constexpr (kTransposeA) {
        ptx::ldmatrix_x4_trans(fragments.a[i], address);
      } else {
        ptx::ldmatrix_x4(fragments.a[i], address);
      }
    }
#pragma unroll
    for (int j = 0; j < kBlocksN; ++j) {
      const uint32_t tile = stage + S::kTileBytesA + j / kBlocksOfOne * S::kTileBytesB;
      const uint32_t address = OperandB::fragment_address(tile, lane.b, j % kBlocksOfOne, step);
      if constexpr (Problem::kTransposeB) {
        ptx::ldmatrix_x4(fragments.b[j], address);
      } else {
        ptx::ldmatrix_x4_trans(fragments.b[j], address);
      }
    }
  }

  template <typename Args>
  struct Sums {
    static constexpr bool kOfGroups = false;  // which are summed apart
    using Whole = WholeSums<Sum, kBlocksM, 2 * kBlocksN>;
    Sum fragments[kBlocksM][2 * kBlocksN][4] = {};

    __device__ __forceinline__ Sums(const Args&, int, int) {}

    __device__ __forceinline__ void multiply(const Fragments& factors, int) {
#pragma unroll
      for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
        for (int column = 0; column < 2 * kBlocksN; ++column) {
          const int j = i % 2 == 0 ? column : 2 * kBlocksN - 1 - column;  // serpentine: the turn reuses a fragment
          Mma<Input>::multiply(fragments[i][j], factors.a[i], factors.b[j / 2][j % 2 * 2], factors.b[j / 2][j % 2 * 2 + 1]);
        }
      }
    }

    __device__ __forceinline__ Whole whole() { return Whole(fragments); }
  };
};

}  // namespace autokernel::sm80
