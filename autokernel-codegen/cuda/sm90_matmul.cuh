// C = epilogue(A * B) on Hopper: TMA in, wgmma, TMA out, warp-specialised and persistent.
//
// One warpgroup produces (one of its threads drives TMA), the others consume. A ring of stages with full and empty
// mbarriers connects them, and the producer runs ahead into the next tile while the consumers store the last one.
//   cooperative   the consumers share a tile, kTileM / kConsumers rows each
//   ping-pong     two consumers take whole tiles in turn: one stores while the other multiplies
//   cluster       2 or 4 CTAs with neighbouring tiles load a slice each of the operand they share and multicast it
//   swapped       wgmma computes the tile transposed, so that a tile of few rows needs no padding to 64
//   split K       the CTAs of a cluster multiply a share of K each, one tile a cluster, and add up: small grids
//
// Rust mirrors everything below: the rules and sizes in `schedule/sm90.rs`, the launch and the tensor maps in
// `gpu/sm90.rs` of the runtime. sharing = kPingPong ? 1 : kConsumers.
//
// Rules (static_asserts of Geometry, same names). Rust is stricter in two: accumulators_fit_registers takes 16 less for
// an epilogue that calls tanh, whose temporaries would spill; and raster_group_in_range, 1 <= Raster::group <= 1024,
// is about a launch argument. It has no tile_k_is_one_swizzle_row, as it always emits kTileK = 64.
//   tile_k_is_one_swizzle_row                kTileK == 64
//   consumers_one_to_three                   1 <= kConsumers <= 3
//   ping_pong_takes_two_consumers            kPingPong implies kConsumers == 2
//   tile_m_splits_into_wgmma_blocks          64 <= kTileM <= 256, kTileM % (64 * sharing) == 0
//   tile_n_is_a_wgmma_width                  16 <= kTileN <= 256, kTileN % 8 == 0
//     or, with kSwapAB, in their place
//   swapped_tile_n_splits_into_wgmma_blocks  64 <= kTileN <= 256, kTileN % (64 * sharing) == 0
//   swapped_tile_m_is_a_wgmma_width          8 <= kTileM <= 256, kTileM % 8 == 0
//   row_major_b_takes_whole_swizzle_rows     not kTransposeB implies kTileN % 64 == 0
//   accumulators_fit_registers               kTileM * kTileN / (128 * sharing) <= 192, or <= 128 with kSplitK > 1,
//                                              or <= 96 with 3 consumers
//   stages_two_to_sixteen                    2 <= kStages <= 16
//   cluster_of_one_two_or_four_in_a_row      kClusterM or kClusterN is 1, the other 1, 2 or 4
//   cluster_slices_b_in_whole_swizzle_atoms  kTileN % (kClusterM * (kTransposeB ? 8 : 64)) == 0
//   cluster_slices_a_in_whole_swizzle_atoms  kTileM % (kClusterN * 8) == 0
//   split_k_one_to_eight                     kSplitK is 1, 2, 4 or 8
//   split_k_is_cooperative_without_multicast kSplitK > 1 implies not kPingPong and kClusterM * kClusterN == 1
//   split_k_divides_the_consumer_warps       4 * kConsumers % kSplitK == 0
//   split_k_partials_fit_the_ring            kTileM * kTileN * 4 * (kSplitK - 1) / kSplitK
//                                              <= kStages * (kTileM + kTileN) * 128
//   shared_memory_fits                       kSharedBytes <= 232448
//
// Shared memory, bytes. A store box has h rows of w bytes: h = 16 and w = the largest of 128, 64, 32, 16 that divides
// kTileN * sizeof(Output); with kSwapAB w = 16 * sizeof(Output) and h = the largest multiple of 8 up to 64 that divides
// kTileM:
//   total(buffers) = 1024 + kStages * (kTileM + kTileN) * 128 + kConsumers * buffers * 4 * h * w + 16 * kStages
//   kSharedBytes = total(2) if that is at most 232448, else total(1)
//
// Launch: kThreads = 128 * (1 + kConsumers), kMinBlocks = 1, cluster (kClusterM * kClusterN * kSplitK, 1, 1). The grid
// is any positive multiple of the cluster size; min(SMs / cluster size, clusters) * cluster size fills the device,
// where cluster size = kClusterM * kClusterN * kSplitK and
// clusters = ceil(m / (kTileM * kClusterM)) * ceil(n / (kTileN * kClusterN)) < 2^31. With kSplitK > 1 the grid is
// exactly clusters * kSplitK < 2^31. Raster::group counts clusters. m, n and k are at most 2^31 - 2^16, so that the
// coordinates of a cluster that hangs over the edge fit an int.
//
// Tensor maps: dims and box innermost first, element strides 1, no interleave, zeros out of bounds. The L2
// promotion of loads is free: it changes speed alone.
//   a              dims {k, m}  stride lda * 2               box {64, kTileM / kClusterN}  128-byte swizzle
//   b, transposed  dims {k, n}  stride ldb * 2               box {64, kTileN / kClusterM}  128-byte swizzle
//   b, row-major   dims {n, k}  stride ldb * 2               box {64, 64}                  128-byte swizzle
//   c              dims {n, m}  stride ldc * sizeof(Output)  box {w / sizeof(Output), h}  w-byte swizzle (16: none)
// a and b are read only when k > 0, c only when store_with_tma is 1 and n * sizeof(Output) is a multiple of 16:
// TMA stores clip a row at whole 16-byte units, which would write past a ragged n.
#pragma once

#include "epilogue.cuh"
#include "raster.cuh"
#include "sm90_epilogue.cuh"
#include "sm90_mainloop.cuh"
#include "sm90_producer.cuh"
#include "sm90_schedule.cuh"
#include "sm90_split_k.cuh"
#include "sm90_tiles.cuh"

namespace autokernel::sm90 {

// Mirrored by Rust, field by field.
struct Args {
  TensorMap a;
  TensorMap b;
  TensorMap c;
  void* c_ptr;
  int64_t ldc;  // elements
  int m;
  int n;
  int k;
  Raster raster;
  int store_with_tma;  // 0: C's base, row stride or row length is no multiple of 16 bytes
};

template <typename Problem, typename Schedule>
struct Matmul : Geometry<Problem, Schedule> {
  using G = Geometry<Problem, Schedule>;
  using Output = typename G::Output;

  __device__ __forceinline__ static void run(const Args& args) {
    const int n = Problem::kKnownN > 0 ? Problem::kKnownN : args.n;
    const int k = Problem::kKnownK > 0 ? Problem::kKnownK : args.k;
    const OutputView<Output> c{static_cast<Output*>(args.c_ptr), args.ldc, args.m, n};
    if (k == 0) {
      ptx::wait_for_previous_grids();
      return fill(c);
    }

    extern __shared__ uint8_t shared_memory[];
    const auto shared = SharedLayout<G>::at(shared_memory);
    if (threadIdx.x == 0) {
      ptx::prefetch_tensor_map(args.a);
      ptx::prefetch_tensor_map(args.b);
      if (args.store_with_tma) ptx::prefetch_tensor_map(args.c);
      init_ring(shared);
    }
    sync_cluster();  // no CTA may load into, or release a stage of, a peer whose barriers are not there yet

    // Up to here nothing in global memory was touched: the prologue overlaps the end of the grid before this one. That
    // grid does not invite this one earlier: blocks that then start wherever a multiprocessor is free have neighbours
    // that share no operand, which costs memory-bound shapes up to 16 %.
    ptx::wait_for_previous_grids();

    const TileWalk<G> walk(args.m, n, args.raster);
    const KBlocks k_blocks = k_blocks_of<G>(k);
    // Broadcast, so that the compiler knows that the role does not differ within a warp.
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / kWarpgroupSize, 0);
    if (warpgroup == 0) {
      // Registers are allotted evenly at launch; the producer needs few, the accumulators many.
      if constexpr (G::kMoveRegisters) ptx::release_registers<G::kProducerRegisters>();
      if (threadIdx.x == 0) produce(args.a, args.b, shared, walk, k_blocks);
      if constexpr (G::kSplitK > 1) SplitK<G>::attend();
    } else {
      if constexpr (G::kMoveRegisters) ptx::claim_registers<G::kConsumerRegisters>();
      consume(args, shared, walk, c, k_blocks.count, warpgroup - 1);
    }
    if constexpr (G::kClusterSize > 1) ptx::cluster_sync();  // a peer may still release stages of this CTA
  }

 private:
  __device__ __forceinline__ static void consume(const Args& args, const SharedLayout<G>& shared,
                                                 const TileWalk<G>& walk, const OutputView<Output>& c, int k_blocks,
                                                 int consumer) {
    constexpr int kTurns = G::kPingPong ? 2 : 1;
    const int turn = G::kPingPong ? consumer : 0;
    const int first = G::kPingPong ? 0 : consumer * G::kBlocks * kBlockM;  // on the side of the blocks
    const int warp = threadIdx.x / kWarpSize % kWarpsPerWarpgroup;
    const int consumer_warp = consumer * kWarpsPerWarpgroup + warp;
    // The row length again: where a known n is ragged, the TMA stores compile away.
    const bool with_tma = args.store_with_tma != 0 && c.columns % (kTmaUnitBytes / sizeof(Output)) == 0;
    Epilogue<Problem, G> epilogue(args.c, c, with_tma, shared.staging(consumer_warp));
    RingCursor<G::kStages> cursor;
    cursor.skip(turn * k_blocks);  // ping-pong: the stages of the other's first tile

    for (int tile = walk.first() + turn * walk.stride(); tile < walk.count(); tile += walk.stride() * kTurns) {
      const auto pass_turn = [&] {
        const bool other_has_one = tile + walk.stride() < walk.count();
        if (G::kPingPong && other_has_one) Turns::pass_to(1 - consumer);
      };
      if (G::kPingPong && tile != walk.first()) Turns::wait(consumer);  // the very first turn needs no leave

      Accumulators<G> acc;  // not cleared: the first wgmma overwrites them
      multiply_tile<G>(acc, shared, cursor, k_blocks, first, pass_turn);  // the turn passes before the store begins
      cursor.skip((kTurns - 1) * k_blocks);

      if constexpr (G::kSplitK > 1) {
        const SplitK<G> split(shared, consumer_warp);
        if (!split.reduce(acc)) return;
      }

      const TileCoord origin = walk.origin(tile);
#pragma unroll
      for (int block = 0; block < G::kBlocks; ++block) {
        const int offset = first + block * kBlockM + warp * kWarpRows;
        epilogue.store_block(acc[block], origin.m + (G::kSwapAB ? 0 : offset),
                             origin.n + (G::kSwapAB ? offset : 0));
      }
    }
    epilogue.finish();
  }

  // K = 0: the product is zero and there is no operand to load.
  __device__ __forceinline__ static void fill(const OutputView<Output>& c) {
    const Output value = from_f32<Output>(Problem::epilogue(0.0f));
    for (int64_t row = blockIdx.x; row < c.rows; row += gridDim.x) {
      for (int column = threadIdx.x; column < c.columns; column += G::kThreads) c.data[row * c.ld + column] = value;
    }
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
