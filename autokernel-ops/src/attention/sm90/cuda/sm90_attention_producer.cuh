// The producer: one thread that has the copy engine bring queries, keys and values.
#pragma once

#include "sm90_attention_packed_walk.cuh"
#include "sm90_attention_query_copies.cuh"
#include "sm90_attention_walk.cuh"

namespace autokernel::attention {

template <typename G, bool kPaged = G::Sequences::kKeys == Keys::kPaged>
struct Producer {
  using Sequences = typename G::Sequences;
  static constexpr int kThreads = Walk<G>::kLeaders;

  Shared<G> shared;
  Walk<G> walk;
  QueryCopies<G> queries;
  Cursor<G::kStages> key_cursor;
  Cursor<G::kStages> value_cursor;

  __device__ __forceinline__ explicit Producer(const Shared<G>& shared) : shared(shared), walk(shared), queries(shared) {}

  template <typename Args>
  __device__ __forceinline__ void run(const Args& args) {
    walk.lead(args, [&](const Tile& tile, const auto& blocks) { load(args, tile, blocks); });
  }

 private:
  // Keys run from the last block to the first, so that blocks with a mask at their end come first; the values of a block
  // come after the keys of the next, as they are used.
  template <typename Args, typename Blocks>
  __device__ __forceinline__ void load(const Args& args, const Tile& tile, const Blocks& blocks) {
    if (blocks.count() == 0) return;
    load_keys(args, tile, blocks.last - 1);
    queries.load(args, tile);
    for (int block = blocks.last - 2; block >= blocks.first; --block) {
      load_keys(args, tile, block);
      load_values(args, tile, block + 1);
    }
    load_values(args, tile, blocks.first);
  }

  template <typename Args>
  __device__ __forceinline__ void load_keys(const Args& args, const Tile& tile, int block) {
    load_block<G::kHeadPanels>(args.k_map, shared.key_barriers(), shared.keys(key_cursor.stage), key_cursor, tile,
                               block);
  }

  template <typename Args>
  __device__ __forceinline__ void load_values(const Args& args, const Tile& tile, int block) {
    load_block<G::kValuePanels>(args.v_map, shared.value_barriers(), shared.values(value_cursor.stage), value_cursor,
                                tile, block);
  }

  template <int kPanels>
  __device__ __forceinline__ static void load_block(const TensorMap& map, const Barriers& barriers,
                                                    uint32_t destination, Cursor<G::kStages>& cursor, const Tile& tile,
                                                    int block) {
    const uint32_t full = barriers.full(cursor.stage);
    ptx::mbarrier_wait(barriers.empty(cursor.stage), cursor.parity ^ 1);
    ptx::mbarrier_arrive_expect_bytes(full, kPanels * G::kKeyPanelBytes);
#pragma unroll
    for (int panel = 0; panel < kPanels; ++panel) {
      copy(map, destination + panel * G::kKeyPanelBytes, full, panel, tile.sequence.first_key + block * G::kTileKeys, tile);
    }
    cursor.advance();
  }

  // Rows of packed keys that lie behind a sequence's last are those of the next.
  __device__ __forceinline__ static void copy(const TensorMap& map, uint32_t to, uint32_t full, int panel, int row, const Tile& tile) {
    if constexpr (Sequences::kKeys == Keys::kPacked) {
      ptx::tma_load_3d(map, to, full, panel * kPanel, row, tile.key_head);
    } else {
      ptx::tma_load_4d(map, to, full, panel * kPanel, row, tile.key_head, tile.sequence.number);
    }
  }
};

}  // namespace autokernel::attention
