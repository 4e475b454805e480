// From accumulators to memory.
#pragma once

#include "attention_softmax.cuh"
#include "attention_tiles.cuh"

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

// The rows of a consumer: queries of one head.
template <typename Sequences>
struct RowsOfHead {
  using Row = RowOf<Sequences>;
  static constexpr int kHeads = 1;
  static constexpr bool kFill = true;  // what a tile has of rows, but for the last one's
  Tile tile;
  int first_query;

  __device__ __forceinline__ int query(int row) const { return first_query + row_of_thread() + 8 * row; }
  __device__ __forceinline__ int head(int) const { return tile.head; }

  template <typename Args>
  __device__ __forceinline__ bool is_there(const Args&, int row) const {
    return query(row) < tile.sequence.queries;
  }
  // Where results lie, in elements: those of the head, and a row from there.
  template <typename Args>
  __device__ __forceinline__ int64_t out(const Args& args) const {
    return Row{tile.sequence, 0, tile.head}.in_out(args);
  }
  template <typename Args>
  __device__ __forceinline__ int64_t out_of_row(const Args& args, int row) const {
    return query(row) * args.out_query;
  }
  template <typename Args>
  __device__ __forceinline__ int64_t lse(const Args& args) const {
    return Row{tile.sequence, 0, tile.head}.in_lse(args);
  }
  template <typename Args>
  __device__ __forceinline__ int lse_of_row(const Args&, int row) const {
    return query(row);
  }
};

// Stores the rows of a warpgroup, rounded. Rows lie on 16 bytes; those that are not there are left out.
template <typename G, typename Args, typename Rows>
__device__ __forceinline__ void store_rows(const Args& args, const Rows& rows, const float (&out)[G::kValueDim / 2]) {
  using Input = typename G::Input;
  char* const base = static_cast<char*>(args.out) + rows.out(args) * int64_t{sizeof(Input)};
#pragma unroll
  for (int row = 0; row < kRowsOfThread; ++row) {
    char* const line = base + rows.out_of_row(args, row) * int64_t{sizeof(Input)};
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
      const int own = piece + threadIdx.x % 4;
      if (rows.is_there(args, row) && own < G::kValueDim / 8) store_global(line + own * 16, words);
    }
  }
}

// Stores the logarithm of each row's sum of exponentials.
template <typename Args, typename Rows, typename Softmax>
__device__ __forceinline__ void store_lse(const Args& args, const Rows& rows, const Softmax& softmax) {
  if (threadIdx.x % 4 != 0) return;
  float* const base = static_cast<float*>(args.lse) + rows.lse(args);
#pragma unroll
  for (int row = 0; row < kRowsOfThread; ++row) {
    if (rows.is_there(args, row)) base[rows.lse_of_row(args, row)] = softmax.log_sum_exp(row);
  }
}

// Of rows of which this block has seen all keys.
template <typename G, typename Args, typename Rows, typename Softmax, int kSums>
__device__ __forceinline__ void store_results(const Args& args, const Rows& rows, const Softmax& softmax,
                                              float (&sums)[kSums]) {
  const float inverse[kRowsOfThread] = {softmax.inverse_sum(0), softmax.inverse_sum(1)};
  scale_rows(sums, inverse);
  store_rows<G>(args, rows, sums);
  if constexpr (G::Problem::kLse) store_lse(args, rows, softmax);
}

}  // namespace autokernel::attention
