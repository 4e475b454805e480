// The first factor's rows of a tile, a stretch of K at a time, in shared memory: in the order in which StreamOfB brings the
// other factor's elements of K.
#pragma once

#include "skinny_sm80_schedule.cuh"
#include "skinny_sm80_words.cuh"

namespace autokernel::skinny_sm80 {

template <typename S, bool kRowsAreK>
struct SharedA {
  static constexpr int kWarpElements = kWarpSize * kWordElements;  // of a word of each lane
  static constexpr int kWordsOfLane = ceil_div(S::kTileK / kWordElements + 1, kWarpSize);  // of a row, as it begins anywhere
  static constexpr int kWordsAtOnce = min_of(kWordsOfLane, 4);                             // that a lane requests, of each of
  static constexpr int kRowsAtOnce = max_of(1, min_of(ceil_div(S::kTileM, S::kWarps), 4 / kWordsAtOnce));

  // Where element `k` of the stretch lies in row `row`.
  __device__ __forceinline__ static int place(int row, uint32_t k) {
    if constexpr (kRowsAreK) return row * S::kPitchA + k % kWordElements * S::kClassPitch + k / kWordElements;
    return row * S::kPitchA + k;
  }

  // Brings the elements from `begin` on of the rows of `operand` that begin at `a`, `rows` or fewer of `k`. Behind the last of
  // both there are zeros, as far as groups of kMmaN rows and blocks of kBlockK elements reach.
  __device__ __forceinline__ static void stage(uint16_t* shared, const Span& operand, const uint16_t* a, int64_t ld, int rows,
                                               int begin, int k) {
    const int lane = threadIdx.x % kWarpSize;
    const int blocks = min(static_cast<int>(ceil_div<int64_t>(k - begin, S::kBlockK)), S::kTileK / S::kBlockK);
    const int end = blocks * S::kBlockK;
    // Rows that there are not stay zero from the first stretch on, which no other one is longer than.
    const int filled = min(begin > 0 ? rows : S::kTileM, S::kTileM);
#pragma unroll 1
    for (int first = threadIdx.x / kWarpSize; first < filled; first += kRowsAtOnce * S::kWarps) {
#pragma unroll 1
      for (int behind = 0; behind - kWordElements < end; behind += kWordsAtOnce * kWarpElements) {
        uint4 words[kRowsAtOnce][kWordsAtOnce];
#pragma unroll
        for (int i = 0; i < kRowsAtOnce; ++i) {
          const int row = first + i * S::kWarps;
          const uint16_t* const elements = a + row * ld;
          const int of_lane = begin + behind + lane * kWordElements - behind_word(elements + begin);
#pragma unroll
          for (int w = 0; w < kWordsAtOnce; ++w) {
            const int at = of_lane + w * kWarpElements;
            words[i][w] = load_word_of_row(elements + at, at, row < rows ? k : 0, operand);
          }
        }
#pragma unroll
        for (int i = 0; i < kRowsAtOnce; ++i) {
          const int row = first + i * S::kWarps;
          const int of_lane = behind + lane * kWordElements - behind_word(a + row * ld + begin);
#pragma unroll
          for (int w = 0; w < kWordsAtOnce; ++w) {
            if (row < filled) store_word(shared, row, of_lane + w * kWarpElements, words[i][w], k - begin, end);
          }
        }
      }
    }
  }

  // The fragments of rows `group` * kMmaN and on, of the step that is `step` steps behind the stretch's first: two registers for
  // each of B's.
  __device__ __forceinline__ static void load(uint32_t (&b)[kRowsAreK ? 1 : 2][2], const uint16_t* shared, int group, int step) {
    const int warp = threadIdx.x / kWarpSize, lane = threadIdx.x % kWarpSize;
    const uint16_t* const row = shared + (group * kMmaN + lane / 4) * S::kPitchA;
    if constexpr (kRowsAreK) {
      const int block = warp / kWordElements + step * (S::kWarps / kWordElements);
      const int at = warp % kWordElements * S::kClassPitch + block * kMmaK + lane % 4 * 4;
      const uint2 pairs = *reinterpret_cast<const uint2*>(row + at);
      b[0][0] = pairs.x;
      b[0][1] = pairs.y;
    } else {
      const int at = (warp + step * S::kWarps) * S::kWarpK + lane % 4 * kWordElements;
      const uint4 pairs = *reinterpret_cast<const uint4*>(row + at);
      b[0][0] = pairs.x;
      b[0][1] = pairs.y;
      b[1][0] = pairs.z;
      b[1][1] = pairs.w;
    }
  }

 private:
  // The elements of a word from `first` on that are among the `end` of the stretch, of which `count` are K's.
  __device__ __forceinline__ static void store_word(uint16_t* shared, int row, int first, const uint4& word, int count, int end) {
#pragma unroll
    for (int i = 0; i < kWordElements; ++i) {
      const int at = first + i;
      const uint32_t element = at < count ? quarter(word, i / 2) >> 16 * (i % 2) : 0;
      if (at >= 0 && at < end) shared[place(row, at)] = static_cast<uint16_t>(element);
    }
  }
};

}  // namespace autokernel::skinny_sm80
