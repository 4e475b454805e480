// What becomes of the rows of a piece: results, or a part of them where other blocks of the grid see keys of theirs too.
#pragma once

#include "attention_packed.cuh"
#include "attention_partials.cuh"
#include "attention_store.cuh"

namespace autokernel::attention {

// Of shared memory.
__device__ __forceinline__ void store_flag(uint32_t address, bool flag) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(uint32_t{flag}) : "memory");
}
__device__ __forceinline__ bool load_flag(uint32_t address) {
  uint32_t flag;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(flag) : "r"(address) : "memory");
  return flag != 0;
}

__device__ __forceinline__ void wait_for_warpgroup(int barrier) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(kWarpgroupSize) : "memory");
}

// Of a warpgroup, whose rows are one of `kBands` bands of 64 that a tile has.
template <typename G, int kBands>
struct Finish {
  using Input = typename G::Input;
  using Rows = PackedRows<G>;
  using Parts = Partials<kRowsOfWarpgroup, G::kValueDim, kBands>;

  Parts parts;
  uint32_t verdict;  // in shared memory: whether the warpgroup came last to a tile
  int barrier;       // of the warpgroup

  template <typename Args>
  __device__ __forceinline__ Finish(const Args& args, int band, uint32_t verdict, int barrier)
      : parts(args, band), verdict(verdict), barrier(barrier) {}

  template <typename Args, typename Piece, typename Softmax, int kSums>
  __device__ __forceinline__ void run(const Args& args, const Owners& owners, const Piece& piece, const Rows& rows,
                                      const Softmax& softmax, float (&sums)[kSums]) const {
    if (owners.count > 1) {
      leave(rows, softmax, sums, piece.before != 0);
      if (is_last(owners)) combine(args, rows, softmax.scale, owners);
      return;
    }
    store_results<G>(args, rows, softmax, sums);
  }

 private:
  template <typename Softmax, int kSums>
  __device__ __forceinline__ void leave(const Rows& rows, const Softmax& softmax, const float (&sums)[kSums],
                                        bool begun_before) const {
    float* const part = parts.part(blockIdx.x, begun_before);
#pragma unroll
    for (int row = 0; row < kRowsOfThread; ++row) {
      if (!rows.is_there(row)) continue;
      const int number = row_of_thread() + 8 * row;
      float* const line = part + number * G::kValueDim + threadIdx.x % 4 * 2;
#pragma unroll
      for (int i = 0; i < kSums; i += 4) store_l2(line + 2 * i, {sums[i + 2 * row], sums[i + 2 * row + 1]});
      if (threadIdx.x % 4 == 0) store_l2(Parts::state(part, number), {softmax.max[row], softmax.sum[row]});
    }
  }

  // Whether the parts of all others are there. Who is last leaves the counter at zero.
  __device__ __forceinline__ bool is_last(const Owners& owners) const {
    meet();  // what one thread says is of what all wrote
    if (threadIdx.x % kWarpgroupSize == 0) {
      uint32_t* const counter = parts.counter(owners.first);
      const bool last = ptx::fetch_add_ordered(counter, 1) == static_cast<uint32_t>(owners.count - 1);
      if (last) *counter = 0;
      store_flag(verdict, last);
    }
    meet();
    return load_flag(verdict);
  }

  template <typename Args>
  __device__ __forceinline__ void combine(const Args& args, const Rows& rows, float scale, const Owners& owners) const {
    parts.combine(owners.first, owners.count, rows.count, scale, [&](int row, int column, const float4& out, float lse) {
      const auto at = rows.at(row);
      uint2 words = {pack2<Input>(out.x, out.y), pack2<Input>(out.z, out.w)};
      *reinterpret_cast<uint2*>(static_cast<Input*>(args.out) + at.in_out(args) + column) = words;
      if constexpr (G::Problem::kLse) {
        if (column == 0) static_cast<float*>(args.lse)[at.in_lse(args)] = lse;
      }
    });
  }

  __device__ __forceinline__ void meet() const { wait_for_warpgroup(barrier); }
};

}  // namespace autokernel::attention
