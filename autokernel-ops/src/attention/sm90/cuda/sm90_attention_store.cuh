// From accumulators to memory.
#pragma once

#include "sm90_attention_geometry.cuh"
#include "sm90_attention_softmax.cuh"
#include "sm90_attention_tiles.cuh"

namespace autokernel::attention {

// Four words a lane, of which each quad of lanes holds four pieces of 16 bytes, a word of each in every lane: afterwards
// lane t of the quad holds piece t whole.
__device__ __forceinline__ void transpose_in_quad(uint32_t (&words)[4]) {
  const int lane = threadIdx.x % 4;
#pragma unroll
  for (int bit = 1; bit <= 2; bit *= 2) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & bit) continue;
      const bool upper = lane & bit;
      const uint32_t sent = upper ? words[i] : words[i | bit];
      const uint32_t received = __shfl_xor_sync(0xffffffffu, sent, bit);
      (upper ? words[i] : words[i | bit]) = received;
    }
  }
}

__device__ __forceinline__ void store_global(void* address, const uint32_t (&words)[4]) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(words[0]), "r"(words[1]), "r"(words[2]),
               "r"(words[3])
               : "memory");
}

// Stores the rows of a warpgroup, rounded. Rows lie on 16 bytes; those behind the last query are left out.
template <typename G, typename Args>
__device__ __forceinline__ void store_rows(const Args& args, const Tile& tile, int first_query,
                                           const float (&out)[G::kValueDim / 2]) {
  using Input = typename G::Input;
  const int lane = threadIdx.x % kWarpSize;
  const int row0 = threadIdx.x % kWarpgroupSize / kWarpSize * 16 + lane / 4;
  char* const head = static_cast<char*>(args.out) +
                     (tile.batch * args.out_batch + tile.head * args.out_head) * int64_t{sizeof(Input)};
#pragma unroll
  for (int row = 0; row < kRowsOfThread; ++row) {
    const int query = first_query + row0 + 8 * row;
    char* const line = head + query * args.out_query * int64_t{sizeof(Input)};
    // Pieces of 8 columns, of which a quad exchanges four at once.
#pragma unroll
    for (int piece = 0; piece < G::kValueDim / 8; piece += 4) {
      uint32_t words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = 4 * (piece + i) + 2 * row;
        words[i] = piece + i < G::kValueDim / 8 ? pack2<Input>(out[at], out[at + 1]) : 0;
      }
      transpose_in_quad(words);
      const int own = piece + lane % 4;
      if (query < args.queries && own < G::kValueDim / 8) store_global(line + own * 16, words);
    }
  }
}

// Stores the logarithm of each row's sum of exponentials.
template <typename G, typename Args>
__device__ __forceinline__ void store_lse(const Args& args, const Tile& tile, int first_query, const Softmax& softmax) {
  const int lane = threadIdx.x % kWarpSize;
  if (lane % 4 != 0) return;
  const int row0 = threadIdx.x % kWarpgroupSize / kWarpSize * 16 + lane / 4;
  float* const head = static_cast<float*>(args.lse) + tile.batch * args.lse_batch + tile.head * args.lse_head;
#pragma unroll
  for (int row = 0; row < kRowsOfThread; ++row) {
    const int query = first_query + row0 + 8 * row;
    if (query < args.queries) head[query] = softmax.log_sum_exp(row);
  }
}

}  // namespace autokernel::attention
