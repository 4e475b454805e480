// The producer of shares: a warp that has the copy engine bring keys and values, in whatever order they lie, a lane for each copy
// of a block.
#pragma once

#include "ptx/sm90_tma_3d.cuh"
#include "ptx/sm90_tma_4d.cuh"
#include "ptx/sm90_tma_prefetch.cuh"
#include "sm90_attention_packed.cuh"

namespace autokernel::attention {

template <typename G>
struct SharingProducer {
  using Sequences = typename G::Sequences;
  static constexpr int kBoxes = G::kTileKeys / G::kBoxKeys;
  static_assert(kBoxes <= kWarpSize, "a lane has one");

  Shared<G> shared;
  Cursor<G::kStages> key_cursor;
  Cursor<G::kStages> value_cursor;

  __device__ __forceinline__ explicit SharingProducer(const Shared<G>& shared) : shared(shared) {}

  // In the order in which consumers use them: keys from the last block of a piece to its first, and the values of a block
  // behind the keys of the next.
  template <typename Args>
  __device__ __forceinline__ void run(const Args& args, const Share<G>& share) {
    share.for_each_piece(args, [&](const auto& piece) {
      if (piece.blocks.count() == 0) return;
      if (piece.from != 0) prefetch_queries<G>(args, share.line, piece);
      // What one tile reads nobody reads again.
      const bool is_read_once = share.line.tiles(piece.sequence) == 1;
      const auto policy = is_read_once ? ptx::L2Policy::kEvictFirst : ptx::L2Policy::kEvictNormal;
      load_keys(args, piece, piece.blocks.last - 1, policy);
#pragma unroll 1
      for (int block = piece.blocks.last - 2; block >= piece.blocks.first; --block) {
        load_keys(args, piece, block, policy);
        load_values(args, piece, block + 1, policy);
      }
      load_values(args, piece, piece.blocks.first, policy);
    });
  }

  // Brings the first queries, and the first block of keys and values of a share, to L2.
  template <typename Args, typename Batch>
  __device__ __forceinline__ static void prefetch(const Args& args, const Share<G>& share, const Batch& sequences) {
    share.while_pieces(args, sequences, [&](const auto& piece) {
      if (piece.blocks.count() == 0) return true;
      prefetch_queries<G>(args, share.line, piece);
      prefetch_block<G::kHeadPanels>(args, args.k_map, piece, piece.blocks.last - 1);
      prefetch_block<G::kValuePanels>(args, args.v_map, piece, piece.blocks.last - 1);
      return false;
    });
  }

 private:
  template <int kPanels, typename Args, typename Piece>
  __device__ __forceinline__ static void prefetch_block(const Args& args, const TensorMap& map, const Piece& piece,
                                                        int block) {
    const int lane = threadIdx.x % kWarpSize;
    if (lane >= kBoxes) return;
    const Box from = box_at(args, piece, block * G::kTileKeys + lane * G::kBoxKeys, AsGuess());
#pragma unroll
    for (int panel = 0; panel < kPanels; ++panel) {
      if constexpr (Sequences::kKeys == Keys::kPacked) {
        ptx::tma_prefetch_3d(map, panel * kPanel, from.row, piece.group);
      } else {
        ptx::tma_prefetch_4d(map, panel * kPanel, from.row, piece.group, from.matrix);
      }
    }
  }

  template <typename Args, typename Piece>
  __device__ __forceinline__ void load_keys(const Args& args, const Piece& piece, int block, ptx::L2Policy policy) {
    load_block<G::kHeadPanels>(args, args.k_map, shared.key_barriers(), shared.keys(key_cursor.stage), key_cursor,
                               piece, block, policy);
  }

  template <typename Args, typename Piece>
  __device__ __forceinline__ void load_values(const Args& args, const Piece& piece, int block, ptx::L2Policy policy) {
    load_block<G::kValuePanels>(args, args.v_map, shared.value_barriers(), shared.values(value_cursor.stage),
                                value_cursor, piece, block, policy);
  }

  template <int kPanels, typename Args, typename Piece>
  __device__ __forceinline__ static void load_block(const Args& args, const TensorMap& map, const Barriers& barriers,
                                                    uint32_t destination, Cursor<G::kStages>& cursor,
                                                    const Piece& piece, int block, ptx::L2Policy policy) {
    const uint32_t full = barriers.full(cursor.stage);
    const int lane = threadIdx.x % kWarpSize;
    const bool has_box = lane < kBoxes;
    Box from;
    if (has_box) from = box_at(args, piece, block * G::kTileKeys + lane * G::kBoxKeys, ForGood());
    ptx::mbarrier_wait(barriers.empty(cursor.stage), cursor.parity ^ 1);
    if (lane == 0) ptx::mbarrier_arrive_expect_bytes(full, kPanels * G::kKeyPanelBytes);
    __syncwarp();
    if (has_box) {
#pragma unroll
      for (int panel = 0; panel < kPanels; ++panel) {
        const uint32_t to = destination + panel * G::kKeyPanelBytes + lane * G::kBoxKeys * ptx::kSwizzledRowBytes;
        if constexpr (Sequences::kKeys == Keys::kPacked) {
          ptx::tma_load_3d(map, to, full, panel * kPanel, from.row, piece.group);
        } else {
          ptx::tma_load_4d(map, to, full, panel * kPanel, from.row, piece.group, from.matrix, policy);
        }
      }
    }
    __syncwarp();
    cursor.advance();
  }

  // Where keys lie: a row, of which sequence or page.
  struct Box {
    int row;
    int matrix;
  };

  template <typename Args, typename Piece, typename Reading>
  __device__ __forceinline__ static Box box_at(const Args& args, const Piece& piece, int key, Reading reading) {
    if constexpr (Sequences::kKeys == Keys::kPaged) {
      // What lies behind the last key has no page, and arrives as zeros.
      constexpr int kNoPage = -1;
      const int32_t* const pages = static_cast<const int32_t*>(args.table) + piece.sequence.number * args.table_row;
      const int page = key < piece.sequence.keys ? reading.load(pages + key / Sequences::kPage) : kNoPage;
      return {key % Sequences::kPage, page};
    } else {
      return {piece.sequence.first_key + key, piece.sequence.number};
    }
  }
};

}  // namespace autokernel::attention
