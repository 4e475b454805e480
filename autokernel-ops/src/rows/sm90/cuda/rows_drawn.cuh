// Rows that teams draw from a counter of the launch, so that who is faster takes more of them: the multiprocessors of a GPU do not
// read and write equally fast, and of equal shares the slowest decides.
//
// The first rows of a team are its own: those that fill its ring, and in a cluster one more. From then on the team's leader,
// a warp, draws, in the cluster's first block, a number ahead of what is requested, so that nobody waits for the counter; it
// tells the leaders in the other blocks a turn ahead too.
//
// A leader draws until it has a number behind the last row. So there are as many draws as rows to draw and leaders, and who has
// the last one leaves the counter at zero, as the next launch must find it.
#pragma once

#include "ptx/atomic.cuh"
#include "rows_reduce.cuh"

namespace autokernel::rows {

// What the leaders of a team tell each other: as many numbers in turn as it takes until who tells them knows that all have taken
// the first. They take a turn's while others reduce, and have by the first reduction of the next; who tells knows of that in
// the turn behind it.
struct Told {
  static constexpr int kNumbers = 4;

  uint32_t numbers[kNumbers];
  uint64_t arrivals[kNumbers];

  __device__ __forceinline__ void init() {
    for (uint64_t& arrival : arrivals) ptx::mbarrier_init(ptx::shared_address(&arrival), 1);
  }
};

// The rows of a team of kBlocks blocks behind the first kStages, for its leader in each block.
template <int kBlocks, int kStages>
struct Draws {
  uint32_t drawn;  // by a lane of the first block: of the next number that is told

  // Rows before the first that is drawn, of `step` teams.
  __device__ __forceinline__ static uint32_t own(uint32_t step) { return (kStages + (kBlocks > 1)) * step; }
  __device__ __forceinline__ static bool is_first() { return kBlocks == 1 || ptx::cluster_rank() == 0; }
  __device__ __forceinline__ static bool is_lane(int lane) { return threadIdx.x % kWarpSize == lane; }

  __device__ __forceinline__ void draw(void* counter) {
    if (is_first() && is_lane(0)) drawn = ptx::fetch_add_relaxed(static_cast<uint32_t*>(counter), 1);
  }

  // What the team takes kStages turns after `turn`; `rows` or more if nothing. `first` is the team's first row. All lanes call it.
  __device__ __forceinline__ uint32_t next(void* counter, Told& told, uint32_t turn, uint32_t first, uint32_t step,
                                           uint32_t rows) {
    const uint32_t ahead = own(step) + __shfl_sync(0xffffffffu, drawn, 0);
    uint32_t number = ahead;
    if constexpr (kBlocks > 1) {
      number = turn > 0 ? take(told, turn) : first + kStages * step;
      const uint32_t at = (turn + 1) % Told::kNumbers;
      const uint32_t slot = ptx::shared_address(&told.numbers[at]), arrival = ptx::shared_address(&told.arrivals[at]);
      if (is_lane(0)) ptx::mbarrier_arrive_expect_bytes(arrival, sizeof(uint32_t));
      const int lane = threadIdx.x % kWarpSize, peer = lane % kBlocks;  // of every lane, as addresses may be computed ahead
      const uint32_t to = ptx::peer_address(slot, peer), counted = ptx::peer_address(arrival, peer);
      if (is_first() && lane < kBlocks) store_peer_counted(to, __uint_as_float(ahead), counted);
    }
    if (ahead < rows) draw(counter);
    return number;
  }

  // Behind the last turn, in which there was no row any more.
  __device__ __forceinline__ void finish(void* counter, Told& told, uint32_t turn, uint32_t step, uint32_t rows) {
    // No block may end that is still told something.
    if (kBlocks > 1 && turn > 0) take(told, turn);
    const uint32_t shared = rows > own(step) ? rows - own(step) : 0;
    if (is_first() && is_lane(0) && drawn == shared + step - 1) {
      ptx::fetch_add_relaxed(static_cast<uint32_t*>(counter), 0u - (drawn + 1));
    }
  }

 private:
  // What was told in the turn before.
  __device__ __forceinline__ static uint32_t take(Told& told, uint32_t turn) {
    const uint32_t at = turn % Told::kNumbers;
    ptx::mbarrier_wait(ptx::shared_address(&told.arrivals[at]), (turn - 1) / Told::kNumbers % 2);
    uint32_t number;
    const uint32_t slot = ptx::shared_address(&told.numbers[at]);
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(number) : "r"(slot) : "memory");
    return number;
  }
};

}  // namespace autokernel::rows
