// Rows of which several blocks of the grid saw some keys each: what they leave of them, and how that becomes results.
//
// A block leaves two parts at most: of the tile that begins in its share and ends in another's, and of the one that began
// before. Who comes last to a tile puts its parts together, in their order whoever that is, so results repeat bit by bit.
#pragma once

#include "attention_weights.cuh"
#include "ptx/atomic.cuh"
#include "types.cuh"

namespace autokernel::attention {

// Past L1, which no other multiprocessor sees and where nothing is read again.
__device__ __forceinline__ void store_l2(float* address, float2 v) {
  asm volatile("st.global.cg.v2.f32 [%0], {%1, %2};" ::"l"(address), "f"(v.x), "f"(v.y) : "memory");
}
__device__ __forceinline__ float2 load_l2(const float2* address) {
  float2 v;
  asm volatile("ld.global.cg.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(address) : "memory");
  return v;
}
__device__ __forceinline__ float4 load_l2(const float4* address) {
  float4 v;
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(address)
               : "memory");
  return v;
}

// The parts of `kRows` rows of a tile, of which each consumer has as many.
template <int kRows, int kValueDim, int kConsumers>
struct Partials {
  static constexpr int kPartFloats = kRows * (kValueDim + 2);
  static constexpr int kBytesOfBlock = 2 * kConsumers * kPartFloats * int{sizeof(float)};
  static constexpr int kPiece = 4;  // elements that a thread puts together at once
  static constexpr int kPieces = kValueDim / kPiece;

  static constexpr int kAtOnce = 16;  // parts that a thread reads before it uses the first

  float* parts;  // this consumer's of block 0
  uint32_t* counters;

  template <typename Args>
  __device__ __forceinline__ Partials(const Args& args, int consumer)
      : parts(static_cast<float*>(args.partials) + 2 * consumer * kPartFloats),
        counters(static_cast<uint32_t*>(args.counters) + consumer) {}

  // Sums by rows, and behind them of each row the largest score and the sum of weights.
  __device__ __forceinline__ float* part(int block, bool begun_before) const {
    return parts + int64_t{block} * (2 * kConsumers * kPartFloats) + begun_before * kPartFloats;
  }
  __device__ __forceinline__ static float* state(float* part, int row) { return part + kRows * kValueDim + 2 * row; }
  __device__ __forceinline__ uint32_t* counter(int block) const { return counters + block * kConsumers; }

  // Puts the parts together that `count` blocks from `first` on left of the first `rows` rows, and calls
  // `store(row, column, elements, log-sum-exp)`. `scale` contains log2(e). By a warpgroup.
  template <typename Store>
  __device__ __forceinline__ void combine(int first, int count, int rows, float scale, Store store) const {
    for (int at = threadIdx.x % kWarpgroupSize; at < rows * kPieces; at += kWarpgroupSize) {
      const int row = at / kPieces, column = at % kPieces * kPiece;
      float largest = kNegativeInfinity, sum = 0.0f;
      float4 out = {0.0f, 0.0f, 0.0f, 0.0f};
      for (int begun = 0; begun < count; begun += kAtOnce) {
        float2 states[kAtOnce];
        float4 values[kAtOnce];
        const float before = largest;
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          states[i] = {kNegativeInfinity, 0.0f};
          values[i] = {0.0f, 0.0f, 0.0f, 0.0f};
          if (begun + i >= count) continue;
          float* const of_block = part(first + begun + i, begun + i != 0);
          states[i] = load_l2(reinterpret_cast<const float2*>(state(of_block, row)));
          values[i] = load_l2(reinterpret_cast<const float4*>(of_block + row * kValueDim + column));
        }
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) largest = fmaxf(largest, states[i].x);
        const float kept = weight(before, largest, scale);
        sum *= kept;
        out = {out.x * kept, out.y * kept, out.z * kept, out.w * kept};
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          const float of_part = weight(states[i].x, largest, scale);
          const float4& v = values[i];
          sum = fmaf(of_part, states[i].y, sum);
          out = {fmaf(of_part, v.x, out.x), fmaf(of_part, v.y, out.y), fmaf(of_part, v.z, out.z), fmaf(of_part, v.w, out.w)};
        }
      }
      const float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
      out = {out.x * inverse, out.y * inverse, out.z * inverse, out.w * inverse};
      store(row, column, out, sum == 0.0f ? kNegativeInfinity : fmaf(largest, scale * kLn2, logf(sum)));
    }
  }

 private:
  // Of what was summed up to the score `of`, where the largest one is another; nothing of what saw no key.
  __device__ __forceinline__ static float weight(float of, float largest, float scale) {
    return of == kNegativeInfinity ? 0.0f : exp2_approximate((of - largest) * scale);
  }
};

}  // namespace autokernel::attention
