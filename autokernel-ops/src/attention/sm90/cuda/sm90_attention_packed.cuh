// Packed rows on chip: queries where wgmma reads them.
#pragma once

#include "attention_packed.cuh"
#include "sm90_attention_geometry.cuh"

namespace autokernel::attention {

template <typename P, typename Q, typename S>
struct SharingGeometry : Geometry<P, Q, S> {
  static constexpr bool kMovesSeldom = false;  // shares take the registers that branches would keep
  static_assert(!S::kSteps, "shifts would have to be told");
  static constexpr int kBoxKeys = S::kBoxKeys;  // of one copy: some keys of a page
  static constexpr int kSlotBytes = 4;
};

__device__ __forceinline__ uint4 load_global(const void* address) {
  uint4 v;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(address));
  return v;
}

// Brings the queries of a piece to L2. By a warp.
template <typename G, typename Args, typename Piece>
__device__ __forceinline__ void prefetch_queries(const Args& args, const Line<G>& line, const Piece& piece) {
  constexpr int kRowBytes = G::kHeadDim * int{sizeof(typename G::Input)};
  constexpr int kLines = ceil_div(kRowBytes, 128);
  const int rows = min(line.rows(piece.sequence) - piece.first_row, G::kTileQueries);
#pragma unroll 1
  for (int at = threadIdx.x % kWarpSize; at < rows * kLines; at += kWarpSize) {
    const auto row = PackedRows<G>::at(piece, line.sharing, piece.first_row + at / kLines);
    const char* const begin = static_cast<const char*>(args.q) + row.in_q(args) * int64_t{sizeof(typename G::Input)};
    asm volatile("prefetch.global.L2 [%0];" ::"l"(begin + at % kLines * 128));
  }
}

// Brings the queries of a consumer's rows to where wgmma reads them; zeros for rows that are not there. By the warpgroup.
template <typename G, typename Args>
__device__ __forceinline__ void load_queries(const Args& args, const PackedRows<G>& rows, uint32_t destination) {
  using Input = typename G::Input;
  constexpr int kPieces = G::kHeadDim / 8;  // of 16 bytes, of a row
  constexpr int kPiecesOfPanel = kPanel / 8;
  const char* const q = static_cast<const char*>(args.q);
#pragma unroll 4
  for (int at = threadIdx.x % kWarpgroupSize; at < kRowsOfWarpgroup * kPieces; at += kWarpgroupSize) {
    const int row = at / kPieces, piece = at % kPieces;
    uint4 words = {0, 0, 0, 0};
    if (row < rows.count) words = load_global(q + rows.at(row).in_q(args) * int64_t{sizeof(Input)} + piece * 16);
    const int swizzled = (piece % kPiecesOfPanel ^ row % kPiecesOfPanel) * 16;
    const int panel = piece / kPiecesOfPanel * G::kQueryPanelBytes;
    store_shared(destination + panel + row * ptx::kSwizzledRowBytes + swizzled, words);
  }
}

}  // namespace autokernel::attention
