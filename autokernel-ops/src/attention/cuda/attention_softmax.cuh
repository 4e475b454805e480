// Softmax of scores that arrive block by block: maxima and sums so far, and how to rescale what was summed before.
#pragma once

#include "attention_keys.cuh"
#include "attention_weights.cuh"
#include "types.cuh"

namespace autokernel::attention {

constexpr int kRowsOfWarpgroup = 64;  // 16 of each warp, one below the other
constexpr int kRowsOfThread = 2;      // of an accumulator: 8 rows apart

// The first row of an accumulator that a thread has.
__device__ __forceinline__ int row_of_thread() {
  return threadIdx.x % kWarpgroupSize / kWarpSize * 16 + threadIdx.x % kWarpSize / 4;
}

// Of the four threads that hold a row.
template <typename T, typename Max>
__device__ __forceinline__ T row_max(T value, Max max) {
  value = max(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return max(value, __shfl_xor_sync(0xffffffffu, value, 2));
}

__device__ __forceinline__ float row_sum(float value) {
  value += __shfl_xor_sync(0xffffffffu, value, 1);
  return value + __shfl_xor_sync(0xffffffffu, value, 2);
}

// Where scores of a block are whole.
struct NoBase {
  __device__ __forceinline__ float operator()(int) const { return 0.0f; }
};

// What a thread knows of its two rows. Scores are what is in the accumulator, before they are scaled; `scale` is positive and contains
// log2(e), so that weights are powers of two: 2^(score * scale - shift).
//
// `shift` is the largest score, scaled, of when it last moved. It moves to a larger one when weights would grow beyond 2^kSlack, which is
// seldom, and what was summed before is rescaled then alone: weights round by the same share whatever their size.
//
// With kScored a body made the scores, perhaps of -1e30 where it hides a key: see `exact`. All scores of a row may be -inf.
//
// Of eight weights kExpByFma are computed by `exp2_by_fma`. A score that is no number shows in the others then, as the largest.
//
// Without kMovesSeldom shifts move with every block, by straight code that keeps nothing of them.
//
// With kBounded scores are from -1 to 1, as of a soft cap, whose factor `scale` then contains: shifts need not move (`add_within`).
//
// With kClimbs what is added to scores grows by the same from key to key, and those of a block stand without what its first key has:
// `shift` is as much less, and follows from block to block (`descend`), while `max` is a whole score.
template <typename Input, bool kScored, int kExpByFma, bool kMovesSeldom, bool kBounded, bool kClimbs>
struct Softmax {
  static constexpr float kLargest = 0x1p28f;
  static constexpr float kSlack = 8.0f;
  // A shift so small that any score moves it, and weights of -inf are zero.
  static constexpr float kNone = -0x1p127f;
  // Weights of bf16 have the range of fp32: they may be small.
  static constexpr float kLeast = DtypeOf<Input>::value == Dtype::kBf16 ? -64.0f : 0.0f;

  // What `add_within` keeps to, of which fp16 has no room for any cap that is in use.
  static constexpr bool kMayStayWithin = kBounded && DtypeOf<Input>::value == Dtype::kBf16;
  static constexpr float kRoom = 64.0f;
  static constexpr float kWidest = 80.0f;

  float scale;
  float max[kRowsOfThread];  // the score of `shift`
  float shift[kRowsOfThread] = {kNone, kNone};
  float scale_of_row[kRowsOfThread];
  float sum[kRowsOfThread] = {0.0f, 0.0f};  // of this thread's columns alone
  bool by_bits = false;                     // the same for a warp: see `largest_by_bits`
  float climb = 0.0f;                       // with kClimbs: from block to block

  __device__ __forceinline__ explicit Softmax(float scale) : scale(scale) {
    if constexpr (kMovesSeldom) max[0] = max[1] = kNegativeInfinity;
#pragma unroll
    for (float& of_row : scale_of_row) of_row = scale;
  }

  // Turns scores into weights, in place. Where that is true sums so far must be multiplied by `correction`, of the whole warp. With
  // kMasked a row may have no score but -inf, and its weights are zero. Rows that no thread of the warp has stay as they are. With kClimbs
  // `base(row)` is what the first key of the block has.
  template <bool kFirst, bool kMasked, typename Rows, int kScores, typename Base = NoBase>
  __device__ __forceinline__ bool add(float (&scores)[kScores], float (&correction)[kRowsOfThread], const Rows& rows, Base base = {}) {
    if constexpr (kMovesSeldom) {
      return add_seldom<kFirst, kMasked>(scores, correction, rows, base);
    } else {
      for_each_row(rows, [&](int row) {
        const float largest = largest_of(scores, row, kFirst ? scores[2 * row] : greater(max[row], scores[2 * row]));
        const float from = (kMasked || kScored) && largest == kNegativeInfinity ? 0.0f : largest;
        const float scale_here = kScored ? exact(from) : scale;
        if constexpr (!kFirst) {
          correction[row] = exp2_approximate((max[row] - from) * scale);
          sum[row] *= correction[row];
        }
        max[row] = largest;
        weigh<kFirst>(scores, row, scale_here, from * scale_here);
      });
      return true;
    }
  }

  // The same where `is_narrow`: there is one shift for all rows, so that nothing waits for a largest score and nothing is rescaled.
  //
  // It is `scale` - kRoom, or zero where that is less: weights are 2^kRoom at most, and the largest of a row is 2^-(2 * scale - kRoom) at
  // least, which is 2^-96. So sums of 2^20 keys are below 2^84, and fp32 holds those of values below 2^43; values of less than 2^-30
  // may lose digits.
  template <bool kFirst, typename Rows, int kScores>
  __device__ __forceinline__ void add_within(float (&scores)[kScores], const Rows& rows) {
    for_each_row(rows, [&](int row) { weigh<kFirst, true>(scores, row, scale, shift_within()); });
  }

  // The same of exponents in place of scores, as `SmallCap` computes them for all rows.
  template <bool kFirst, int kScores>
  __device__ __forceinline__ void add_exponents(float (&exponents)[kScores]) {
#pragma unroll
    for (int row = 0; row < kRowsOfThread; ++row) {
      float total = 0.0f;
#pragma unroll
      for (int i = 0; i < kScores; i += 4) {
#pragma unroll
        for (int pair = 0; pair < 2; ++pair) {
          float& exponent = exponents[i + 2 * row + pair];
          total += exponent = exp2_approximate(exponent);
        }
      }
      sum[row] = kFirst ? total : sum[row] + total;
    }
  }

  // After all of them.
  __device__ __forceinline__ void end_within() { max[0] = max[1] = shift_within() / scale; }

  // What the first key of the next block has is less by `climb`.
  __device__ __forceinline__ void descend() {
#pragma unroll
    for (int row = 0; row < kRowsOfThread; ++row) shift[row] = fmaf(climb, scale_of(row), shift[row]);
  }

  __device__ __forceinline__ float shift_within() const {
    static_assert(kMayStayWithin, "bounds, and weights with the range of fp32");
    return fmaxf(scale - kRoom, 0.0f);
  }
  __device__ __forceinline__ bool is_narrow() const { return kMayStayWithin && scale <= kWidest; }

  // The scale of scores whose largest is `from`. Where their product is so large that its rounding alone would be more than powers
  // of two can hold, as of a row from which a body hides all keys, a power of two, by which it is not rounded: other scores of such
  // a row than the largest are too far from it to count by either.
  __device__ __forceinline__ float exact(float from) const {
    const float exact = __uint_as_float(__float_as_uint(scale) & 0x7f800000u) * 0.5f;
    return fabsf(from * scale) < kLargest ? scale : exact;
  }

  // Which unit computes the weight with that number among a row's.
  __device__ __forceinline__ static constexpr bool is_by_fma(int number) { return number * kExpByFma % 8 < kExpByFma; }

  // Sums over whole rows, when all blocks are added.
  __device__ __forceinline__ void finish() {
#pragma unroll
    for (int row = 0; row < kRowsOfThread; ++row) sum[row] = row_sum(sum[row]);
  }

  // 1 / sum; 0 for a row that sees no key.
  __device__ __forceinline__ float inverse_sum(int row) const { return sum[row] == 0.0f ? 0.0f : 1.0f / sum[row]; }

  // The natural logarithm of the sum of all exponentials of scaled scores; -inf for a row that sees no key.
  __device__ __forceinline__ float log_sum_exp(int row) const {
    return sum[row] == 0.0f ? kNegativeInfinity : fmaf(max[row], scale * kLn2, logf(sum[row]));
  }

 private:
  template <typename Rows, typename Use>
  __device__ __forceinline__ static void for_each_row(const Rows& rows, Use use) {
#pragma unroll
    for (int row = 0; row < kRowsOfThread; ++row) {
      if constexpr (!Rows::kFill) {
        if (row >= rows.rows_of_warp()) break;
      }
      use(row);
    }
  }

  // The same where shifts move seldom. With a body threads say whether one does of what they have of a row, so that what it has in all is
  // found where it does alone; without one that is no faster.
  template <bool kFirst, bool kMasked, typename Rows, int kScores, typename Base>
  __device__ __forceinline__ bool add_seldom(float (&scores)[kScores], float (&correction)[kRowsOfThread], const Rows& rows, Base base) {
    constexpr bool kOwn = kScored && !kFirst;
    float largest[kRowsOfThread];
    if (!kFirst && by_bits) {
      for_each_row(rows, [&](int row) { largest[row] = largest_by_bits<kOwn>(scores, row); });
    } else {
      for_each_row(rows, [&](int row) { largest[row] = largest_of<kOwn>(scores, row, kNegativeInfinity); });
    }
    bool moves[kRowsOfThread] = {false, false};
    for_each_row(rows, [&](int row) {
      moves[row] = kFirst || moves_by(row, largest[row]);
    });
    const bool moved = kFirst || __any_sync(0xffffffffu, moves[0] || moves[1]);
    if (moved) {
      bool bits_serve = true;
      for_each_row(rows, [&](int row) {
        if constexpr (kOwn) {
          largest[row] = row_max(largest[row], greater);
          moves[row] = moves_by(row, largest[row]);
        }
        correction[row] = moves[row] ? move<kFirst, kMasked>(row, largest[row], base) : 1.0f;
        bits_serve = bits_serve && shift[row] >= -kSlack && (!kClimbs || climb >= 0.0f);
      });
      by_bits = __all_sync(0xffffffffu, bits_serve);
    }
    for_each_row(rows, [&](int row) { weigh<kFirst>(scores, row, scale_of(row), shift[row]); });
    return moved;
  }

  __device__ __forceinline__ bool moves_by(int row, float largest) const {
    return !(fmaf(largest, scale_of(row), -shift[row]) <= kSlack) || (kScored && max[row] == kNegativeInfinity);
  }

  __device__ __forceinline__ float scale_of(int row) const { return kScored ? scale_of_row[row] : scale; }

  // Makes weights of a row's scores, and adds them up: with kShowsNan a NaN too whose weight is computed by FMA.
  template <bool kFirst, bool kShowsNan = false, int kScores>
  __device__ __forceinline__ void weigh(float (&scores)[kScores], int row, float scale_here, float shift_here) {
    float total = 0.0f;
#pragma unroll
    for (int i = 0; i < kScores; i += 4) {
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        float& score = scores[i + 2 * row + pair];
        score = fmaf(score, scale_here, -shift_here);
        if (!is_by_fma(i / 2 + pair)) {
          score = exp2_approximate(score);
        } else {
          if constexpr (kShowsNan) total = fmaf(score = max_or_nan(score, kLeastExponent), 0.0f, total);
          score = exp2_by_fma<kShowsNan>(score);
        }
      }
      total += scores[i + 2 * row];
      total += scores[i + 2 * row + 1];
    }
    sum[row] = kFirst ? total : sum[row] + total;
  }

  __device__ __forceinline__ static float greater(float x, float y) {
    return kExpByFma == 0 ? fmaxf(x, y) : max_or_nan(x, y);
  }

  // Of a row, or with kOwn of what a thread has of it.
  template <bool kOwn = false, int kScores>
  __device__ __forceinline__ static float largest_of(const float (&scores)[kScores], int row, float least) {
    float largest = least;
#pragma unroll
    for (int i = 0; i < kScores; i += 4) largest = greater(greater(largest, scores[i + 2 * row]), scores[i + 2 * row + 1]);
    if constexpr (kOwn) return largest;
    return row_max(largest, [](float x, float y) { return greater(x, y); });
  }

  // The same by half as many instructions, or zero where that is larger: a maximum of three integers is one, and positive numbers, with
  // what is none above them, are ordered as their bits. It serves where scores of zero do not move the shift.
  template <bool kOwn, int kScores>
  __device__ __forceinline__ static float largest_by_bits(const float (&scores)[kScores], int row) {
    const auto greater = [](int x, int y) { return ::max(x, y); };
    int largest = 0;
#pragma unroll
    for (int i = 0; i < kScores; i += 4) {
      largest = greater(greater(largest, __float_as_int(scores[i + 2 * row])), __float_as_int(scores[i + 2 * row + 1]));
    }
    if constexpr (kOwn) return __int_as_float(largest);
    return __int_as_float(row_max(largest, greater));
  }

  // Weights are relative to the score `largest` from now on. What sums so far must be multiplied by.
  template <bool kFirst, bool kMasked, typename Base>
  __device__ __forceinline__ float move(int row, float largest, Base base) {
    const bool is_none = (kMasked || kScored) && largest == kNegativeInfinity;
    if (largest < 0.0f && largest * scale > kLeast) largest = 0.0f;
    if constexpr (kScored) scale_of_row[row] = exact(is_none ? 0.0f : largest);
    const float lower = kClimbs ? shift[row] - largest * scale : (max[row] - largest) * scale;
    const float correction = kFirst || is_none ? 1.0f : exp2_approximate(lower);
    if constexpr (!kFirst) sum[row] *= correction;
    max[row] = kClimbs ? largest + base(row) : largest;
    shift[row] = is_none ? kNone : largest * scale_of(row);
    return correction;
  }
};

// Multiplies each row of an accumulator.
template <int kRegisters>
__device__ __forceinline__ void scale_rows(float (&d)[kRegisters], const float (&factor)[kRowsOfThread]) {
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) d[i] *= factor[i / 2 % 2];
}

// An accumulator rounded to packed pairs: the A of a wgmma or of mma.syncs, eight sums for each 16 columns.
template <typename Input, int kScores>
__device__ __forceinline__ void pack_weights(const float (&scores)[kScores], uint32_t (&packed)[kScores / 2]) {
#pragma unroll
  for (int i = 0; i < kScores / 2; ++i) packed[i] = pack2<Input>(scores[2 * i], scores[2 * i + 1]);
}

// Sets the scores of keys that a row does not see to -inf. Column `c` of the block is key `first_key + c`.
template <typename Problem, typename Rows, int kScores>
__device__ __forceinline__ void mask(float (&scores)[kScores], const KeysOf<Problem>& keys, const Rows& rows,
                                     int first_key) {
  const int column0 = threadIdx.x % kWarpSize % 4 * 2;
#pragma unroll
  for (int row = 0; row < kRowsOfThread; ++row) {
    if constexpr (!Rows::kFill) {
      if (row >= rows.rows_of_warp()) break;
    }
    const int query = rows.query(row);
    const int first = keys.first(query) - first_key - column0;
    const int last = keys.last(query) - first_key - column0;
#pragma unroll
    for (int i = 0; i < kScores; i += 4) {
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        const int column = 2 * i + pair;
        const bool seen = column < last && (Problem::kWindow == 0 || column >= first);
        if (!seen) scores[i + 2 * row + pair] = kNegativeInfinity;
      }
    }
  }
}

// Whether scores have bounds, which a body alone gives them.
template <typename Problem, bool = Problem::kScored>
constexpr bool kIsBounded = false;
template <typename Problem>
constexpr bool kIsBounded<Problem, true> = Problem::kBounded;

// Of the kernels of a geometry.
template <typename G>
using SoftmaxOf =
    Softmax<typename G::Problem::Input, G::Problem::kScored, G::kExpByFma, G::kMovesSeldom, kIsBounded<typename G::Problem>, G::kSteps>;

}  // namespace autokernel::attention
