// The producer where an index says which row of A each row of C is of.
//
// TMA of sm_90 gathers no rows, and boxes of one row take 5 to 17 times as long as one of 128. So all threads of the producing
// warpgroup copy rows of A, 16 bytes at a time, to where TMA would have swizzled them, which takes no longer than TMA; a warp, another
// one at each stage, drives TMA for B before it copies. Their copies are of the generic proxy, and wgmma reads by the async one: consumers fence in between, as producers that
// wait for their copies to fence fill the ring late.
//
// A row that A does not have, as an index may say, is zero. The CTAs of a cluster do not share A.
#pragma once

#include "ptx/cp_async.cuh"
#include "sm90_matmul.cuh"

namespace autokernel::sm90 {

// The problem of which Args::a_index says which of the args.a_rows of A are multiplied.
template <typename Problem>
struct Gathered : Problem {};

// A producer all of whose threads walk and copy takes more than one thread that drives TMA. With two consumers 128 * (72 + 2 * 216) = 64512 of the SM's registers are used.
template <typename Problem, typename Schedule, int kProducts>
struct Geometry<Gathered<Problem>, Schedule, kProducts> : Geometry<Problem, Schedule, kProducts> {
  static constexpr int kProducerRegisters = 72;
  static constexpr int kConsumerRegisters = 216;
  static_assert(Schedule::kConsumers <= 2, "gathered_rows_take_registers");
  static_assert(Schedule::kClusterN == 1, "gathered_rows_are_not_shared");
};

template <typename Problem, typename Schedule, int kProducts>
constexpr bool kThreadsCopyA<Geometry<Gathered<Problem>, Schedule, kProducts>> = true;

// The rows of a tile of A, of each of which eight threads copy a unit of 16 bytes each: a warp four at once. So that a thread need not
// hold all of its own, each lane holds some of its warp's, and tells the others.
template <typename G>
struct GatheredRows {
  static constexpr int kUnits = kSwizzleBytes / kTmaUnitBytes;  // of a row of a stage
  static constexpr int kOfWarp = kWarpSize / kUnits;            // rows that a warp copies side by side
  static constexpr int kAtOnce = kWarpsPerWarpgroup * kOfWarp;  // and the warpgroup
  static constexpr int kPasses = ceil_div(G::kTileM, kAtOnce);
  static constexpr int kHeld = kWarpSize / kOfWarp;             // passes whose rows lanes hold one of each
  static constexpr int kElementBytes = sizeof(typename G::Input);
  static constexpr int kNone = -1;
  static_assert(kAtOnce % kSwizzleRows == 0, "a thread's rows all lie at the same place of the swizzle pattern");

  const uint8_t* data;  // this thread's unit of row 0, at k = 0
  int64_t pitch;
  int64_t left;         // bytes that a row has from that unit on
  int rows[ceil_div(kPasses, kHeld)];  // of A, that this lane holds

  template <typename Args>
  __device__ __forceinline__ GatheredRows(const Args& args, int k)
      : data(static_cast<const uint8_t*>(args.a) + unit() * kTmaUnitBytes),
        pitch(args.lda * kElementBytes),
        left(int64_t{k} * kElementBytes - unit() * kTmaUnitBytes) {}

  __device__ __forceinline__ static int unit() { return threadIdx.x % kUnits; }
  __device__ __forceinline__ static int lane() { return threadIdx.x % kWarpSize; }
  // The row of the tile that this thread copies first, then each kAtOnce-th behind it.
  __device__ __forceinline__ static int first() { return threadIdx.x / kUnits; }

  // Those of the rows of C from `begin` on that lie before `end`.
  template <typename Args>
  __device__ __forceinline__ void seek(const Args& args, int begin, int end) {
    const auto* const index = static_cast<const int32_t*>(args.a_index);
    const int held = begin + threadIdx.x / kWarpSize * kOfWarp + lane() % kOfWarp + lane() / kOfWarp * kAtOnce;
#pragma unroll
    for (int i = 0; i < ceil_div(kPasses, kHeld); ++i) {
      const int of_c = held + i * kHeld * kAtOnce;
      const int row = of_c < end ? __ldg(index + of_c) : kNone;
      rows[i] = row >= 0 && row < args.a_rows ? row : kNone;
    }
  }

  // What a stage holds of them from `byte` on. Few instructions a copy: one warp of each scheduler makes them.
  __device__ __forceinline__ void copy(uint32_t stage, int64_t byte) const {
    const uint32_t to = stage + swizzled<kSwizzleBytes>(first() * kSwizzleBytes + unit() * kTmaUnitBytes);
    const uint8_t* const from = data + byte;
    const int64_t inside = left - byte;
    int64_t apart = pitch;
    ptx::hide_from_compiler(apart);  // products with it that are kept from stage to stage would spill
    const auto short_pitch = static_cast<uint32_t>(apart);
    if (__all_sync(~0u, inside >= kTmaUnitBytes) && short_pitch == apart) {  // one multiplication an address
      for_each_row([&](int pass, int row) {
        ptx::cp_async_if<16>(to + pass * kBytesAtOnce, from + uint64_t{static_cast<uint32_t>(row)} * short_pitch, row != kNone);
      });
      return;
    }
    const int bytes = static_cast<int>(max(int64_t{0}, min(inside, int64_t{kTmaUnitBytes})));
    for_each_row([&](int pass, int row) {
      const int read = row != kNone ? bytes : 0;
      ptx::cp_async_16(to + pass * kBytesAtOnce, read > 0 ? from + row * apart : data, read);
    });
  }

 private:
  static constexpr int kBytesAtOnce = kAtOnce * kSwizzleBytes;

  // Calls `copy` with the number of each of this thread's passes that the tile has, and the row of A.
  template <typename Copy>
  __device__ __forceinline__ void for_each_row(const Copy& copy) const {
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      const int row = __shfl_sync(~0u, rows[pass / kHeld], pass % kHeld * kOfWarp + lane() / kUnits);
      if ((pass + 1) * kAtOnce <= G::kTileM || first() + pass * kAtOnce < G::kTileM) copy(pass, row);
    }
  }
};

// The boxes of B arrive with the thread that announces them, copies of A with each of the warpgroup.
template <typename Problem, typename Schedule, int kProducts>
__device__ __forceinline__ void init_ring(const SharedLayout<Geometry<Gathered<Problem>, Schedule, kProducts>>& shared) {
  using G = Geometry<Gathered<Problem>, Schedule, kProducts>;
  for (int stage = 0; stage < G::kStages; ++stage) {
    ptx::mbarrier_init(shared.full(stage), 1 + kWarpgroupSize);
    ptx::mbarrier_init(shared.empty(stage), kEmptyArrivals<G>);
  }
  ptx::fence_mbarrier_init();
}

template <typename Problem, typename Schedule, int kProducts, int kStages>
__device__ __forceinline__ void wait_for_stage(const SharedLayout<Geometry<Gathered<Problem>, Schedule, kProducts>>& shared,
                                               const RingCursor<kStages>& cursor) {
  ptx::mbarrier_wait(shared.full(cursor.stage), cursor.parity);
  ptx::fence_async_proxy();
}

template <typename Args, typename Problem, typename Schedule, int kProducts, typename Walk>
__device__ __forceinline__ void produce(const Args& args,
                                        const SharedLayout<Geometry<Gathered<Problem>, Schedule, kProducts>>& shared,
                                        const Walk& walk) {
  using G = Geometry<Gathered<Problem>, Schedule, kProducts>;
  RingCursor<G::kStages> cursor;
  GatheredRows<G> a(args, Problem::kKnownK > 0 ? Problem::kKnownK : args.k);
  for (int number = walk.first(); number < walk.count(); number += walk.stride()) {
    const auto [tile, k_blocks] = walk.step(number);
    const auto origin = walk.origin(tile);
    a.seek(args, origin.m, walk.end_of_rows(args, origin));
#pragma unroll 1  // the producer has few registers, and a known K tempts the compiler
    for (int block = k_blocks.first; block < k_blocks.first + k_blocks.count; ++block) {
      const uint32_t full = shared.full(cursor.stage);
      ptx::mbarrier_wait(shared.empty(cursor.stage), cursor.parity ^ 1);
      if (threadIdx.x == cursor.stage % kWarpsPerWarpgroup * kWarpSize) {
        ptx::mbarrier_arrive_expect_bytes(full, G::kBBytes);
        const int k = block * G::kTileK;
        load_second_factors<G>(args, shared, origin, walk, cursor.stage, k);
      }
      __syncwarp();  // rows are told from lane to lane
      a.copy(shared.a(cursor.stage), int64_t{block} * kSwizzleBytes);
      ptx::cp_async_arrive(full);
      cursor.advance();
    }
  }
  ptx::cp_async_wait_all();  // what is copied to shared memory must not outlive the block
}

}  // namespace autokernel::sm90
