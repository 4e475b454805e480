// The producer of keys in pages: a warp, of which each lane has the copy engine bring its part of every block. The first brings queries.
#pragma once

#include "sm90_attention_boxes.cuh"
#include "sm90_attention_producer.cuh"

namespace autokernel::attention {

template <typename G>
struct Producer<G, true> {
  static constexpr int kThreads = kWarpSize;
  static constexpr int kBoxKeys = G::Schedule::kBoxKeys;  // of one copy: some keys of a page
  static constexpr int kBoxes = G::kTileKeys / kBoxKeys;
  static_assert(Walk<G>::kLeaders == kWarpSize && kBoxes <= kWarpSize, "a lane has one");

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
  // In the order of other producers. The page of a block is asked for while the copies of the one before wait for their stages.
  template <typename Args, typename Blocks>
  __device__ __forceinline__ void load(const Args& args, const Tile& tile, const Blocks& blocks) {
    if (blocks.count() == 0) return;
    Box next = own_box(args, tile, blocks.last - 1);
    load_keys(args, tile, next);
    Box behind = box_behind(args, tile, blocks, blocks.last - 1);
    if (threadIdx.x == 0) queries.load(args, tile);
    __syncwarp();
#pragma unroll 1
    for (int block = blocks.last - 2; block >= blocks.first; --block) {
      const Box of_values = next;
      next = behind;
      load_keys(args, tile, next);
      behind = box_behind(args, tile, blocks, block);
      load_values(args, tile, of_values);
    }
    load_values(args, tile, next);
  }

  template <typename Args>
  __device__ __forceinline__ void load_keys(const Args& args, const Tile& tile, const Box& own) {
    load_block<G::kHeadPanels>(args.k_map, shared.key_barriers(), shared.keys(key_cursor.stage), key_cursor, tile, own);
  }

  template <typename Args>
  __device__ __forceinline__ void load_values(const Args& args, const Tile& tile, const Box& own) {
    load_block<G::kValuePanels>(args.v_map, shared.value_barriers(), shared.values(value_cursor.stage), value_cursor, tile, own);
  }

  // Of a block, what this lane copies: whether it does, its first key, and where that lies.
  __device__ __forceinline__ static bool has_box() { return threadIdx.x < kBoxes; }
  __device__ __forceinline__ static int own_key() { return threadIdx.x * kBoxKeys; }
  template <typename Args>
  __device__ __forceinline__ static Box own_box(const Args& args, const Tile& tile, int block) {
    if (!has_box()) return {};
    return Place::of<typename G::Sequences>(args, tile.sequence, block * G::kTileKeys + own_key()).box(ForGood());
  }
  // Of the block that comes behind that one, where there is one.
  template <typename Args, typename Blocks>
  __device__ __forceinline__ static Box box_behind(const Args& args, const Tile& tile, const Blocks& blocks, int block) {
    return block > blocks.first ? own_box(args, tile, block - 1) : Box{};
  }

  template <int kPanels>
  __device__ __forceinline__ static void load_block(const TensorMap& map, const Barriers& barriers, uint32_t destination,
                                                    Cursor<G::kStages>& cursor, const Tile& tile, const Box& own) {
    const uint32_t full = barriers.full(cursor.stage);
    ptx::mbarrier_wait(barriers.empty(cursor.stage), cursor.parity ^ 1);
    // Bytes of others may arrive before that: the phase ends behind it.
    if (threadIdx.x == 0) ptx::mbarrier_arrive_expect_bytes(full, kPanels * G::kKeyPanelBytes);
    __syncwarp();
    if (has_box()) {
#pragma unroll
      for (int panel = 0; panel < kPanels; ++panel) {
        const uint32_t to = destination + panel * G::kKeyPanelBytes + own_key() * ptx::kSwizzledRowBytes;
        ptx::tma_load_4d(map, to, full, panel * kPanel, own.row, tile.key_head, own.matrix);
      }
    }
    __syncwarp();
    cursor.advance();
  }
};

}  // namespace autokernel::attention
