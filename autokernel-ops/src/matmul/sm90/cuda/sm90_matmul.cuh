// C = epilogue(A * B), or what a body makes of it, on Hopper: TMA in, wgmma, TMA out, warp-specialised and persistent.
//
// One warpgroup produces (one of its threads drives TMA; all copy what TMA cannot gather), the others consume. A ring of stages with full and empty
// mbarriers connects them, and the producer runs ahead into the next tile while the consumers store the last one.
//   cooperative   the consumers share a tile, kTileM / kConsumers rows each
//   ping-pong     two consumers take whole tiles in turn: one stores while the other multiplies
//   cluster       2 or 4 CTAs with neighbouring tiles load a slice each of the operand they share and multicast it
//   swapped       wgmma computes the tile transposed, so that a tile of few rows needs no padding to 64
//   two products  of the same A: half of a tile of B is one second factor's, half the other's, and so are the sums, from
//                 which the body makes one element
//   split K       the CTAs of a cluster multiply a share of K each, one tile a cluster, and add up: small grids. How many
//                 CTAs, the launch says: 1 for whole tiles as without it
//   stream K      clusters share the tiles of the last, part-filled wave, and hand sums on through a workspace
//
// The rules that a schedule keeps are listed in docs/schedules.md and asserted by their names in sm90_schedule.cuh. How
// the kernel is launched (threads, shared memory, clusters, the boxes of the tensor maps) is decided in one place, the
// launch plan of the emitted file, which also prints struct Args.
//
// The grid is any positive multiple of the cluster size; with args.split_k above 1 it is a cluster of so many CTAs for each
// tile. Raster::group counts clusters. m, n and k are at most 2^31 - 2^16, so that the coordinates of a cluster that hangs
// over the edge fit an int. a_map, which a gathered A has none of, and b_map are read only when k > 0, c_map only when c_is_mapped is 1 and
// n * sizeof(Output) is a multiple of 16: TMA stores clip a row at whole 16-byte units, which would write past a ragged n.
#pragma once

#include "batch.cuh"
#include "body.cuh"
#include "epilogue.cuh"
#include "fast_math.cuh"
#include "raster.cuh"
#include "sm90_epilogue.cuh"
#include "sm90_mainloop.cuh"
#include "sm90_producer.cuh"
#include "sm90_rows.cuh"
#include "sm90_schedule.cuh"
#include "sm90_shares.cuh"
#include "sm90_split_k.cuh"
#include "sm90_stream_k.cuh"

namespace autokernel::sm90 {

// Args::c_is_mapped is 0 where C's base, row stride or row length is no multiple of 16 bytes: TMA cannot store it.
// With two products args.b2_map is that of the second one's B. A batch asks for its header, which says how it is walked over.
template <typename Problem, typename Schedule, typename Args, typename Body = body::None, int kProducts = 1,
          typename Batch = batch::None>
struct Matmul : Geometry<Problem, Schedule, kProducts> {
  using G = Geometry<Problem, Schedule, kProducts>;
  using Output = typename G::Output;
  using Walk = sm90::Walk<G, Batch>;
  using Store = Epilogue<Problem, G, Body, Args, Batch>;
  static_assert(Batch::kMany != batch::Many::kGroups || !G::kSplits, "groups_are_walked_over");

  __device__ __forceinline__ static void run(const Args& args) {
    const int n = Problem::kKnownN > 0 ? Problem::kKnownN : args.n;
    const int k = Problem::kKnownK > 0 ? Problem::kKnownK : args.k;
    const OutputView<Output> c{static_cast<Output*>(args.c), args.ldc, args.m, n};
    if (k == 0) {
      ptx::wait_for_previous_grids();
      return fill_all(args, c);
    }

    extern __shared__ uint8_t shared_memory[];
    const auto shared = SharedLayout<G>::at(shared_memory);
    if (threadIdx.x == 0) {
      if constexpr (!kThreadsCopyA<G>) ptx::prefetch_tensor_map(args.a_map);
      ptx::prefetch_tensor_map(args.b_map);
      if constexpr (kProducts == 2) ptx::prefetch_tensor_map(args.b2_map);
      Store::prefetch(args);
      init_ring(shared);
    }
    if constexpr (body::kLoads<Body>) OperandLoad<G, Body>::init(shared);
    sync_cluster();  // no CTA may load into, or release a stage of, a peer whose barriers are not there yet

    // Up to here nothing in global memory was touched: the prologue overlaps the end of the grid before this one. That
    // grid does not invite this one earlier: blocks that then start wherever a multiprocessor is free have neighbours
    // that share no operand, which costs memory-bound shapes up to 16 %.
    ptx::wait_for_previous_grids();

    const Walk walk(args, n, k);
    // Broadcast, so that the compiler knows that the role does not differ within a warp.
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / kWarpgroupSize, 0);
    if (warpgroup == 0) {
      // Registers are allotted evenly at launch; the producer needs few, the accumulators many.
      if constexpr (G::kMoveRegisters) ptx::release_registers<G::kProducerRegisters>();
      if constexpr (body::kStatistics<Body> > 0) {
        const int warp = __shfl_sync(~0u, threadIdx.x / kWarpSize, 0);
        if (warp == 0) {
          if (threadIdx.x == 0) produce(args, shared, walk);
        } else if (warp <= kTurns) {
          RowsOfTiles<G, Body>::follow(args, walk, n, warp - 1);
        }
      } else {
        if (kThreadsCopyA<G> || threadIdx.x == 0) produce(args, shared, walk);
      }
      if (walk.is_split()) SplitK<G>::attend();
    } else {
      if constexpr (G::kMoveRegisters) ptx::claim_registers<G::kConsumerRegisters>();
      consume(args, shared, walk, c, warpgroup - 1);
    }
    if constexpr (G::kClusterSize > 1) ptx::cluster_sync();  // a peer may still release stages of this CTA
  }

 private:
  static constexpr int kTurns = G::kPingPong ? 2 : 1;

  __device__ __forceinline__ static void consume(const Args& args, const SharedLayout<G>& shared,
                                                 const Walk& walk, const OutputView<Output>& c, int consumer) {
    const int turn = G::kPingPong ? consumer : 0;
    const int first = G::kPingPong ? 0 : consumer * G::kBlocksOfOne * kBlockM;  // on the side of the blocks
    const int warp = threadIdx.x / kWarpSize % kWarpsPerWarpgroup;
    const int consumer_warp = consumer * kWarpsPerWarpgroup + warp;
    // The row length again: where a known n is ragged, the TMA stores compile away.
    const bool with_tma = args.c_is_mapped != 0 && c.columns % (kTmaUnitBytes / sizeof(Output)) == 0;
    Store epilogue(args, c, with_tma, shared.staging(consumer_warp));
    if constexpr (body::kLoads<Body>) {
      epilogue.load_by(shared.loaded(consumer_warp * G::kEpilogueBuffers), SplitK<G>::finishes(walk, consumer_warp));
    }
    const int warp_of_tile = G::kPingPong ? warp : consumer_warp;
    RowsOfTiles<G, Body> rows{turn};
    RingCursor<G::kStages> cursor;
    cursor.skip(turn * walk.step(walk.first()).k_blocks.count);  // ping-pong: the stages of the other's first step

    for (int number = walk.first() + turn * walk.stride(); number < walk.count(); number += walk.stride() * kTurns) {
      const auto [tile, k_blocks] = walk.step(number);
      const auto pass_turn = [&] {
        const bool other_has_one = number + walk.stride() < walk.count();
        if (G::kPingPong && other_has_one) Turns::pass_to(1 - consumer);
        if constexpr (Body::kExists) epilogue.request_operands(walk.origin(walk.step(number).tile), first + warp * kWarpRows);
      };
      if constexpr (Body::kExists) epilogue.begin_operands(walk.origin(tile), first + warp * kWarpRows);
      if (G::kPingPong && number != walk.first()) Turns::wait(consumer);  // the very first turn needs no leave

      Accumulators<G> acc;  // not cleared: the first wgmma overwrites them
      if constexpr (Body::kExists) {
        // What the body made of the tile before would be carried around the loop, in moves between wgmmas.
#pragma unroll
        for (int block = 0; block < G::kBlocks; ++block) ptx::forget_accumulators(acc[block]);
      }
      multiply_tile<G>(acc, shared, cursor, k_blocks.count, first, pass_turn);  // the turn passes before the store begins
      cursor.skip((kTurns - 1) * walk.k_blocks.count);  // what lies between two steps of one is a whole tile

      bool owns = true;  // of the tile what this warp has summed
      if constexpr (G::kSplits) {
        if (walk.is_split()) {
          const SplitK<G> split(shared, consumer_warp, walk.split_k);
          owns = split.reduce(acc);
          if (!owns && body::kStatistics<Body> == 0) return;
        }
      }
      if constexpr (G::kStreamK) {
        const StreamK<G> stream(args, warp_of_tile);
        if (walk.hands_on(number)) {
          stream.hand_on(acc);
          continue;
        }
        if (walk.finishes(number)) stream.finish(acc, walk.cluster() - walk.first_contributor());
      }

      const auto origin = walk.origin(tile);
      if (owns) {
        epilogue.enter(args, origin);
        WholeSums<G> sums(acc);
#pragma unroll
        for (int block = 0; block < G::kBlocksOfOne; ++block) {
          const int offset = first + block * kBlockM + warp * kWarpRows;
          const int row = origin.m + (G::kSwapAB ? 0 : offset);
          const int column = origin.n + (G::kSwapAB ? offset : 0);
          if constexpr (kProducts == 2) {
            epilogue.store_block(sums.blocks[block], row, column, second_sums<G>(sums, block));
          } else {
            epilogue.store_block(sums.blocks[block], row, column);
          }
        }
      }
      rows.left(args, walk, number, origin.m, c.columns, warp_of_tile);
    }
    epilogue.finish();
  }

  // K = 0: every product is zero and there is no operand to load.
  __device__ __forceinline__ static void fill_all(const Args& args, const OutputView<Output>& c) {
    if constexpr (Batch::kMany == batch::Many::kNone) {
      if constexpr (body::kStatistics<Body> > 0) {
        fill_parts(args, c);
      } else {
        fill(args, c, blockIdx.x);
      }
    } else {
      Tiles<G, Batch>::for_each(args, c, [](const Args& seen, const OutputView<Output>& of_one, int first) {
        fill(seen, of_one, first + int64_t{blockIdx.x});
      });
    }
  }

  __device__ __forceinline__ static void fill(const Args& args, const OutputView<Output>& c, int64_t row) {
    const float zero = Problem::epilogue(0.0f);
    const Output value = from_f32<Output>(zero);
    for (; row < c.rows; row += gridDim.x) {
      for (int column = threadIdx.x; column < c.columns; column += G::kThreads) {
        Output* const to = c.data + row * c.ld + column;
        if constexpr (Body::kExists) {
          const body::Index at{static_cast<int>(row), column};
          const auto store = [&](float staged) { body::store(to, staged); };
          if constexpr (kProducts == 2) {
            body::apply_to_element<Body>(args, at, store, zero, zero);
          } else {
            body::apply_to_element<Body>(args, at, store, zero);
          }
        } else {
          *to = value;
        }
      }
    }
  }

  // The same where rows are reduced.
  __device__ __forceinline__ static void fill_parts(const Args& args, const OutputView<Output>& c) {
    const float zero = Problem::epilogue(0.0f);
    reduce_rows_alone<G, Body>(args, c.columns, [&](int row, int part) {
      body::leave_part<Body>(args, row, part, c.columns, [&](int column) {
        Output* const to = c.data + row * c.ld + column;
        const auto store = [&](float staged) { body::store(to, staged); };
        if constexpr (kProducts == 2) {
          return body::apply_to_element<Body>(args, body::Index{row, column}, store, zero, zero);
        } else {
          return body::apply_to_element<Body>(args, body::Index{row, column}, store, zero);
        }
      });
    });
  }

  __device__ __forceinline__ static void sync_cluster() {
    if constexpr (G::kClusterSize > 1) {
      ptx::cluster_sync();
    } else {
      __syncthreads();
    }
  }
};

}  // namespace autokernel::sm90
