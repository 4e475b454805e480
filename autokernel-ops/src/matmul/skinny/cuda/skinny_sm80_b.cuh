// The second factor, streamed from where it lies into the registers of mma.sync.
//
// mma multiplies any 16 elements of K, in any order, if both factors have the same ones. So lanes take what they can load:
//
// B stored as [k, n]: rows that lie kWordElements apart begin at the same place within a word, whatever the stride. A warp
// has the rows of one such class, of which it multiplies the words as they are; its columns are those of the other warps
// moved by less than a word, and its sums are put where they belong in the end. Each lane holds, of four of its rows, the same
// eight columns: pairs along K are two halves of two rows. What a word holds beside its row is summed into no column of C.
//
// B stored as [n, k]: a lane holds eight elements of K of a row, from two words that overlap the neighbour's, shifted.
#pragma once

#include "copy_rows.cuh"
#include "ptx/permute.cuh"
#include "skinny_sm80_schedule.cuh"
#include "skinny_sm80_words.cuh"
#include "types.cuh"

namespace autokernel::skinny_sm80 {

// Elements of two pairs as a pair: their lower halves, or their upper ones.
__device__ __forceinline__ uint32_t lower_halves(uint32_t first, uint32_t second) { return ptx::permute<0x5410>(first, second); }
__device__ __forceinline__ uint32_t upper_halves(uint32_t first, uint32_t second) { return ptx::permute<0x7632>(first, second); }

// What a warp multiplies of B, step after step: the columns from `column` on, a multiple of a word's elements.
template <typename S, bool kRowsAreK>
class StreamOfB;

// B stored as [k, n].
template <typename S>
class StreamOfB<S, true> {
 public:
  static constexpr int kMmas = 1;   // of a fragment, in a step
  static constexpr int kRows = 4;   // of a lane, in a step
  static constexpr int kLanes = 8;  // of a row
  using Words = uint4[S::kWords];

  __device__ __forceinline__ StreamOfB(const void* b, int64_t ld, int column, int n, int k)
      : operand_(b, ld, k, n), ld_(ld), n_(n), k_(k) {
    const int warp = threadIdx.x / kWarpSize, lane = threadIdx.x % kWarpSize;
    row_of_warp_ = warp % kWordElements + warp / kWordElements * S::kBlockK;
    const int row_in_warp = lane % 4 * kRows * kWordElements;
    const uint16_t* const row = static_cast<const uint16_t*>(b) + (row_of_warp_ + row_in_warp) * ld;
    shift_ = behind_word(row);
    column_of_warp_ = column - shift_;
    word_ = row + column_of_warp_ + lane / 4 * kWordElements;
    whole_steps_ = whole_steps_of_warp();
  }

  // Steps that have elements of K.
  __device__ __forceinline__ int steps() const {
    const int left = static_cast<int>(ceil_div<int64_t>(k_, S::kBlockK)) - threadIdx.x / kWarpSize / kWordElements;
    return left > 0 ? ceil_div(left, S::kWarps / kWordElements) : 0;
  }

  // The step behind the last of those whose words may all be loaded without a look at where they lie; the first one is looked at.
  __device__ __forceinline__ int whole_steps() const { return whole_steps_; }

  // Whether all words of the warp's next step may be loaded.
  __device__ __forceinline__ bool is_whole() const {
    const int last = row_of_warp_ + S::kBlockK - kWordElements;
    if (last >= k_) return false;
    const bool is_in_rows = column_of_warp_ >= 0 && column_of_warp_ + S::kTileN <= n_;
    return is_in_rows || operand_.holds(operand_.begin + row_of_warp_ * ld_ + column_of_warp_,
                                        (last - row_of_warp_) * ld_ + S::kTileN);
  }

  // Requests the words of the next step, which is a whole one.
  __device__ __forceinline__ void load_whole(Words& words) {
    const int64_t pitch = kWordElements * ld_;
#pragma unroll
    for (int i = 0; i < S::kWords; ++i) words[i] = load_word(word_ + i % kRows * pitch + i / kRows * kLanes * kWordElements);
    row_of_warp_ += S::kStepK;
    word_ += S::kStepK * ld_;
  }

  // Requests the words of the next step.
  __device__ __forceinline__ void load(Words& words) {
    const int64_t pitch = kWordElements * ld_;
    if (is_whole()) {
#pragma unroll
      for (int i = 0; i < S::kWords; ++i) words[i] = load_word(word_ + i % kRows * pitch + i / kRows * kLanes * kWordElements);
    } else {
      const int lane = threadIdx.x % kWarpSize;
      const int row = row_of_warp_ + lane % 4 * kRows * kWordElements, column = column_of_warp_ + lane / 4 * kWordElements;
#pragma unroll
      for (int i = 0; i < S::kWords; ++i) {
        const int moved = i / kRows * kLanes * kWordElements;
        const int count = row + i % kRows * kWordElements < k_ ? n_ : 0;
        words[i] = load_word_of_row(word_ + i % kRows * pitch + moved, column + moved, count, operand_);
      }
    }
    row_of_warp_ += S::kStepK;
    word_ += S::kStepK * ld_;
  }

  // Rows of `fragment` are columns of B, its columns the elements of K that SharedA has in their order.
  __device__ __forceinline__ void fragment(uint32_t (&a)[kMmas][4], const Words& words, int fragment, int) const {
    const uint4* const rows = words + fragment / kRows * kRows;
    uint32_t of_row[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) of_row[i] = quarter(rows[i], fragment % kRows);
    a[0][0] = lower_halves(of_row[0], of_row[1]);
    a[0][1] = upper_halves(of_row[0], of_row[1]);
    a[0][2] = lower_halves(of_row[2], of_row[3]);
    a[0][3] = upper_halves(of_row[2], of_row[3]);
  }

  // The column of C, from the tile's first one on, that row lane / 4 + 8 * half of a fragment is; outside of the tile for some.
  __device__ __forceinline__ int column(int fragment, int half) const {
    const int lane = threadIdx.x % kWarpSize;
    return fragment / kRows * (kLanes * kWordElements) + lane / 4 * kWordElements + fragment % kRows * 2 + half - shift_;
  }

 private:
  __device__ __forceinline__ int whole_steps_of_warp() const {
    const bool is_in_rows = column_of_warp_ >= 0 && column_of_warp_ + S::kTileN <= n_;
    // Where rows follow each other, what lies behind the end of one is the next one's.
    if (!is_in_rows && (operand_.is_empty() || ld_ < S::kTileN)) return 0;
    const int rows = k_ - (is_in_rows ? 0 : 1) - (row_of_warp_ + S::kBlockK - kWordElements);
    return rows > 0 ? ceil_div(rows, S::kStepK) : 0;
  }

  Span operand_;
  int64_t ld_;
  const uint16_t* word_;  // the lane's first one of the next step
  int row_of_warp_;       // its first row
  int column_of_warp_;    // below 0 where the first word begins before the row
  int whole_steps_;
  int shift_;
  int n_, k_;
};

// B stored as [n, k].
template <typename S>
class StreamOfB<S, false> {
 public:
  static constexpr int kMmas = 2;
  static constexpr int kHalves = 2;  // rows of a fragment that a lane holds
  using Words = uint4[S::kWords];    // two for each

  __device__ __forceinline__ StreamOfB(const void* b, int64_t ld, int column, int n, int k)
      : operand_(b, ld, n, k), ld_(ld), rows_(n - column), k_(k) {
    row_ = operand_.begin + (column + threadIdx.x % kWarpSize / 4) * ld;
    of_warp_ = threadIdx.x / kWarpSize * S::kWarpK;
  }

  __device__ __forceinline__ int steps() const {
    const int left = static_cast<int>(ceil_div<int64_t>(k_, S::kBlockK)) - threadIdx.x / kWarpSize;
    return left > 0 ? ceil_div(left, S::kWarps) : 0;
  }

  __device__ __forceinline__ void load(Words& words) {
    const int of_lane = of_warp_ + threadIdx.x % 4 * kWordElements;
    if (rows_ >= S::kTileN && of_warp_ > 0 && of_warp_ + S::kWarpK + kWordElements <= k_) {
#pragma unroll
      for (int i = 0; i < S::kWords; ++i) {
        const uint16_t* const row = row_ + i / 2 * kMmaN * ld_;
        words[i] = load_word(row + of_lane - behind_word(row) + i % 2 * kWordElements);
      }
    } else {
#pragma unroll
      for (int i = 0; i < S::kWords; ++i) {
        const uint16_t* const row = row_ + i / 2 * kMmaN * ld_;
        const int first = of_lane - behind_word(row) + i % 2 * kWordElements;
        const int count = static_cast<int>(threadIdx.x % kWarpSize / 4) + i / 2 * kMmaN < rows_ ? k_ : 0;
        words[i] = load_word_of_row(row + first, first, count, operand_);
      }
    }
    of_warp_ += S::kStepK;
  }

  // Of K's last block, of the step that it is in, what is not K's is zero: whatever it is, it would be multiplied.
  __device__ __forceinline__ void fragment(uint32_t (&a)[kMmas][4], const Words& words, int fragment, int step) const {
    const int first = threadIdx.x / kWarpSize * S::kWarpK + step * S::kStepK, left = k_ - first - threadIdx.x % 4 * kWordElements;
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
      const int i = fragment * kHalves + half;
      const uint4 row = pad_rows::shifted<uint16_t>(words[2 * i], words[2 * i + 1], behind_word(row_ + i * kMmaN * ld_));
#pragma unroll
      for (int pair = 0; pair < kWordElements / 2; ++pair) {
        const uint32_t elements = quarter(row, pair);
        const uint32_t kept = left >= 2 * pair + 2 ? elements : left == 2 * pair + 1 ? elements & 0xffff : 0;
        a[pair / 2][half + pair % 2 * 2] = kept;
      }
    }
  }

  __device__ __forceinline__ int column(int fragment, int half) const {
    return fragment * kMmaM + threadIdx.x % kWarpSize / 4 + half * kMmaN;
  }

 private:
  Span operand_;
  int64_t ld_;
  const uint16_t* row_;  // the lane's first one
  int of_warp_;          // the first element of K of the warp's next step
  int rows_, k_;
};

}  // namespace autokernel::skinny_sm80
