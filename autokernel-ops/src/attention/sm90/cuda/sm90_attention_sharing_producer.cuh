// The producer of shares: a warp that has the copy engine bring keys and values, in whatever order they lie, a lane for each copy
// of a block. A warp's copies are issued lane by lane: where they are many, all warps of a warpgroup share them.
#pragma once

#include "ptx/sm90_tma_3d.cuh"
#include "ptx/sm90_tma_4d.cuh"
#include "ptx/sm90_tma_prefetch.cuh"
#include "sm90_attention_boxes.cuh"
#include "sm90_attention_packed.cuh"

namespace autokernel::attention {

template <typename G>
struct SharingProducer {
  using Sequences = typename G::Sequences;
  static constexpr int kBoxes = G::kTileKeys / G::kBoxKeys;
  static_assert(kBoxes <= kWarpSize, "a lane has one");
  // Each has copies of every block, without which it would fall a lap behind, which parities do not tell.
  static constexpr int kWarps = kBoxes % kWarpsPerWarpgroup == 0 ? kWarpsPerWarpgroup : 1;
  static constexpr int kBoxesOfWarp = kBoxes / kWarps;

  static constexpr bool kLooksUp = Sequences::kKeys == Keys::kPaged;

  Shared<G> shared;
  int warp;
  Cursor<G::kStages> key_cursor;
  Cursor<G::kStages> value_cursor;

  __device__ __forceinline__ SharingProducer(const Shared<G>& shared, int warp) : shared(shared), warp(warp) {}

  // In the order in which consumers use them: keys from the last block of a piece to its first, and the values of a block
  // behind the keys of the next. Where a block lies is asked for while the copies of the one before wait for their stages; of the first
  // block, which is at `first`, before.
  template <typename Args>
  __device__ __forceinline__ void run(const Args& args, const Share<G>& share, const Box& first) {
    bool is_first = true;
    share.for_each_piece(args, [&](const auto& piece) {
      if (piece.blocks.count() == 0) return;
      if (piece.from != 0 && warp == 0) prefetch_queries<G>(args, share.line, piece);
      // What one tile reads nobody reads again.
      const bool is_read_once = share.line.tiles(piece.sequence) == 1;
      const auto policy = is_read_once ? ptx::L2Policy::kEvictFirst : ptx::L2Policy::kEvictNormal;
      Box next = kLooksUp && is_first ? first : own_box(args, piece, piece.blocks.last - 1);
      is_first = false;
      load_keys(args, piece, next, policy);
      Box behind = box_behind(args, piece, piece.blocks.last - 1);
#pragma unroll 1
      for (int block = piece.blocks.last - 2; block >= piece.blocks.first; --block) {
        const Box of_values = next;
        next = behind;
        load_keys(args, piece, next, policy);
        behind = box_behind(args, piece, block);
        load_values(args, piece, of_values, policy);
      }
      load_values(args, piece, next, policy);
    });
  }

  // Brings the first queries, and the first block of keys and values of a share, to L2. Where that block is, as far as this lane goes.
  template <typename Args, typename Batch>
  __device__ __forceinline__ Place prefetch(const Args& args, const Share<G>& share, const Batch& sequences) const {
    return first_place(args, share, sequences, [&](const auto& piece, const Place& place) {
      if (warp == 0) prefetch_queries<G>(args, share.line, piece);
      const Box own = box_at(place);
      prefetch_block<G::kHeadPanels>(args.k_map, piece.group, own);
      prefetch_block<G::kValuePanels>(args.v_map, piece.group, own);
    });
  }
  template <typename Args>
  __device__ __forceinline__ Place first_place(const Args& args, const Share<G>& share) const {
    return first_place(args, share, Known<Sequences>(), [](const auto&, const Place&) {});
  }

  // What the table says now, past L1, which may have what it said as a guess.
  __device__ __forceinline__ static Box box_at(const Place& place) {
    return place.box(AsGuess());
  }

 private:
  template <int kPanels>
  __device__ __forceinline__ static void prefetch_block(const TensorMap& map, int group, const Box& own) {
    if (!has_box()) return;
#pragma unroll
    for (int panel = 0; panel < kPanels; ++panel) {
      if constexpr (Sequences::kKeys == Keys::kPacked) {
        ptx::tma_prefetch_3d(map, panel * kPanel, own.row, group);
      } else {
        ptx::tma_prefetch_4d(map, panel * kPanel, own.row, group, own.matrix);
      }
    }
  }

  template <typename Args, typename Piece>
  __device__ __forceinline__ void load_keys(const Args& args, const Piece& piece, const Box& own, ptx::L2Policy policy) {
    load_block<G::kHeadPanels>(args.k_map, shared.key_barriers(), shared.keys(key_cursor.stage), key_cursor, piece.group, own,
                               policy);
  }

  template <typename Args, typename Piece>
  __device__ __forceinline__ void load_values(const Args& args, const Piece& piece, const Box& own, ptx::L2Policy policy) {
    load_block<G::kValuePanels>(args.v_map, shared.value_barriers(), shared.values(value_cursor.stage), value_cursor,
                                piece.group, own, policy);
  }

  // Of a block, what this lane copies: whether it does, its first key, and where that lies.
  __device__ __forceinline__ static bool has_box() { return threadIdx.x % kWarpSize < kBoxesOfWarp; }
  __device__ __forceinline__ int own_key() const {
    return (warp * kBoxesOfWarp + threadIdx.x % kWarpSize) * G::kBoxKeys;
  }
  template <typename Args, typename Piece>
  __device__ __forceinline__ Place own_place(const Args& args, const Piece& piece, int block) const {
    return has_box() ? Place::of<Sequences>(args, piece.sequence, block * G::kTileKeys + own_key()) : Place{};
  }
  template <typename Args, typename Piece>
  __device__ __forceinline__ Box own_box(const Args& args, const Piece& piece, int block) const {
    return own_place(args, piece, block).box(ForGood());
  }
  // Of the block that comes behind that one, where there is one.
  template <typename Args, typename Piece>
  __device__ __forceinline__ Box box_behind(const Args& args, const Piece& piece, int block) const {
    return block > piece.blocks.first ? own_box(args, piece, block - 1) : Box{};
  }

  // Calls `use(piece, place)` for the first piece that has keys, with what this lane copies first.
  template <typename Args, typename Batch, typename Use>
  __device__ __forceinline__ Place first_place(const Args& args, const Share<G>& share, const Batch& sequences, Use use) const {
    Place first{};
    share.while_pieces(args, sequences, [&](const auto& piece) {
      if (piece.blocks.count() == 0) return true;
      first = own_place(args, piece, piece.blocks.last - 1);
      use(piece, first);
      return false;
    });
    return first;
  }

  template <int kPanels>
  __device__ __forceinline__ void load_block(const TensorMap& map, const Barriers& barriers, uint32_t destination,
                                             Cursor<G::kStages>& cursor, int group, const Box& own,
                                             ptx::L2Policy policy) const {
    const uint32_t full = barriers.full(cursor.stage);
    ptx::mbarrier_wait(barriers.empty(cursor.stage), cursor.parity ^ 1);
    // Bytes of others may arrive before that: the phase ends behind it.
    if (threadIdx.x == 0) ptx::mbarrier_arrive_expect_bytes(full, kPanels * G::kKeyPanelBytes);
    __syncwarp();
    if (has_box()) {
#pragma unroll
      for (int panel = 0; panel < kPanels; ++panel) {
        const uint32_t to = destination + panel * G::kKeyPanelBytes + own_key() * ptx::kSwizzledRowBytes;
        if constexpr (Sequences::kKeys == Keys::kPacked) {
          ptx::tma_load_3d(map, to, full, panel * kPanel, own.row, group);
        } else {
          ptx::tma_load_4d(map, to, full, panel * kPanel, own.row, group, own.matrix, policy);
        }
      }
    }
    __syncwarp();
    cursor.advance();
  }
};

}  // namespace autokernel::attention
