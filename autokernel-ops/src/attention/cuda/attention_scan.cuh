// Which sequence of a batch has a place, where how many places each has the device alone knows.
#pragma once

#include "ptx/warp.cuh"
#include "types.cuh"

namespace autokernel::attention {

constexpr uint32_t kAllLanes = 0xffffffffu;

// Neighbouring sequences of a batch, one a lane, and the places of each: of a whole warp.
struct Window {
  int first;       // of the sequences
  int64_t own;     // places of the lane's
  int64_t up_to;   // and of all in the window up to it

  // `places(number)` is how many a sequence has; there are `batch` of them.
  template <typename Places>
  __device__ __forceinline__ Window(int first, int batch, Places places) : first(first) {
    const int lane = threadIdx.x % kWarpSize;
    own = first + lane < batch ? places(first + lane) : 0;
    up_to = own;
#pragma unroll
    for (int distance = 1; distance < kWarpSize; distance *= 2) {
      const int64_t other = __shfl_up_sync(kAllLanes, static_cast<long long>(up_to), distance);
      if (lane >= distance) up_to += other;
    }
  }

  __device__ __forceinline__ int behind() const { return first + kWarpSize; }
  __device__ __forceinline__ int64_t all() const { return of(up_to, kWarpSize - 1); }

  // The sequence that has a place, which is then counted from the sequence's first; or none of these.
  static constexpr int kNone = -1;
  __device__ __forceinline__ int find(int64_t& place) const {
    const uint32_t is_behind = __ballot_sync(kAllLanes, up_to > place);
    if (is_behind == 0) return kNone;
    const int found = ptx::count_bits(~is_behind);  // sums only grow from lane to lane
    place -= of(up_to - own, found);
    return first + found;
  }

 private:
  __device__ __forceinline__ static int64_t of(int64_t number, int lane) {
    return __shfl_sync(kAllLanes, static_cast<long long>(number), lane);
  }
};

}  // namespace autokernel::attention
