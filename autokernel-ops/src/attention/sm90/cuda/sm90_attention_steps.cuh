// What grows by one step a head from key to key, as a slope does (ALiBi), added to scores by the tensor cores: as one more step of depth
// of Q K^T, whose rows of Q are the step, in three parts of 8 bits, and whose rows of K the number of the key in its block, three times.
//
// What the first key of a block has stays outside: it is one number a row, by which `Softmax::descend` moves its shift.
#pragma once

#include "sm90_attention_geometry.cuh"

namespace autokernel::attention {

template <typename G>
struct Steps {
  static_assert(G::kTileKeys <= 256, "a bf16 has the number of each key");
  static constexpr int kPieceBytes = 16;  // of a row: eight numbers, half of a depth
  static constexpr int kDepthBytes = 2 * kPieceBytes;
  static constexpr int kPieces = ptx::kSwizzledRowBytes / kPieceBytes;

  uint32_t table;

  __device__ __forceinline__ explicit Steps(const Shared<G>& shared) : table(shared.steps()) {}

  // Where the steps of a consumer lie in rows, and the numbers of keys.
  __device__ __forceinline__ static int of_consumer(int consumer) { return (consumer + 1) * kDepthBytes; }
  static constexpr int kOfKeys = 0;

  // Numbers of keys, and zeros. By all threads of a block.
  __device__ __forceinline__ void fill() const {
    for (int at = threadIdx.x; at < G::kStepRows * kPieces; at += G::kThreads) {
      const int key = at / kPieces, piece = at % kPieces;
      const float number = piece == kOfKeys ? static_cast<float>(key) : 0.0f;
      store(key, piece, number, number, number);
    }
    ptx::fence_async_proxy();
  }

  // Sets the step of a consumer's rows. By its warpgroup, which has read the one before; it waits at `barrier`.
  __device__ __forceinline__ void set(int consumer, float step, int barrier) const {
    ptx::named_barrier_wait(barrier, kWarpgroupSize);
    const int row = threadIdx.x % kWarpgroupSize;
    const float first = rounded(step), second = rounded(step - first);
    if (row < kRowsOfWarpgroup) store(row, of_consumer(consumer) / kPieceBytes, first, second, step - first - second);
    ptx::fence_async_proxy();
    ptx::named_barrier_wait(barrier, kWarpgroupSize);
  }

 private:
  __device__ __forceinline__ static float rounded(float x) { return __uint_as_float(__float_as_uint(x) & 0xffff0000u); }

  __device__ __forceinline__ void store(int row, int piece, float first, float second, float third) const {
    const int swizzled = piece ^ row % ptx::kSwizzleRows;
    const uint4 numbers = {pack2<bf16>(first, second), pack2<bf16>(third, 0.0f), 0, 0};
    store_shared(table + row * ptx::kSwizzledRowBytes + swizzled * kPieceBytes, numbers);
  }
};

}  // namespace autokernel::attention
