// What a warp multiplies: its rows of queries with blocks of keys, and the weights that follow with values, by mma.sync.
//
// Sums of an mma lie as those of a wgmma do, so that softmax, masks and bodies are the same.
#pragma once

#include "attention_score.cuh"
#include "attention_softmax.cuh"
#include "sm80_attention_copies.cuh"

namespace autokernel::attention::sm80 {

// A warp's 16 rows of a band, and what it knows of them so far.
template <typename G, typename R>
struct Band {
  using Rows = R;
  static constexpr bool kBegins = Scores<typename G::Problem, Rows>::kBegins;
  Rows rows;
  Scores<typename G::Problem, Rows> score;
  SoftmaxOf<G> softmax;
  float sums[G::kValueDim / 2];

  template <typename Args>
  __device__ __forceinline__ Band(const Args& args, const Rows& rows, const Sequence& sequence)
      : rows(rows), score(args, rows, sequence.number, sequence.keys - sequence.queries), softmax(score.scale * kLog2E) {
#pragma unroll
    for (int row = 0; row < kRowsOfThread; ++row) softmax.max[row] = kNegativeInfinity;
#pragma unroll
    for (float& sum : sums) sum = 0.0f;
  }
};

// d += a b, of a row of fragments.
template <typename Input>
__device__ __forceinline__ void multiply(float* d, const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  float sums[4] = {d[0], d[1], d[2], d[3]};
  ptx::mma_m16n8k16<Input>(sums, a, b0, b1);
#pragma unroll
  for (int i = 0; i < 4; ++i) d[i] = sums[i];
}

template <typename G>
struct Multiplier {
  using Problem = typename G::Problem;
  using Input = typename G::Input;
  static constexpr int kScores = G::kTileKeys / 2;
  static constexpr int kWholePanels = G::kHeadDim / kPanel;

  // Where a lane reads rows of a panel with ldmatrix: its own row of 16, and the first or second half of 16 columns.
  uint32_t queries[G::kBands];
  uint32_t key_of_lane;
  uint32_t value_of_lane;

  __device__ __forceinline__ Multiplier(const Shared<G>& shared, int warpgroup) {
    const int lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize % kWarpsPerWarpgroup;
    // Fragments of A and of values: rows of two matrices one below the other, columns beside each other behind them.
    value_of_lane = place(lane % 16, lane / 16);
    // Of keys, which lie along the depth: columns first.
    key_of_lane = place(lane % 8 + lane / 16 * 8, lane / 8 % 2);
#pragma unroll
    for (int band = 0; band < G::kBands; ++band) {
      queries[band] = shared.queries(warpgroup * G::kBands + band) + warp * kFragment * kRowBytes + value_of_lane;
    }
  }

  // Adds a block of keys and its values, which `ring` has next.
  template <bool kMasked, typename Band, typename Ring, typename Keys>
  __device__ __forceinline__ void add(Band (&bands)[G::kBands], Ring& ring, const Keys& keys, int block) const {
    uint32_t weights[G::kBands][kScores / 2];
    float correction[G::kBands][kRowsOfThread];
#pragma unroll
    for (int band = 0; band < G::kBands; ++band) correction[band][0] = correction[band][1] = 1.0f;
    const uint32_t block_of_keys = ring.template next<true>();
    if (has_rows(bands)) {
      float scores[G::kBands][kScores];
#pragma unroll
      for (int band = 0; band < G::kBands; ++band) {
        of_zeros(scores[band]);
        if constexpr (Band::kBegins) bands[band].score.begin(scores[band], bands[band].rows, block * G::kTileKeys);
      }
      multiply_keys(scores, block_of_keys);
#pragma unroll
      for (int band = 0; band < G::kBands; ++band) {
        Band& of = bands[band];
        of.score.change(scores[band], of.rows, block * G::kTileKeys);
        if constexpr (kMasked) mask(scores[band], keys, of.rows, block * G::kTileKeys);
        of.softmax.template add<false, kMasked>(scores[band], correction[band], of.rows);
        pack_weights<Input>(scores[band], weights[band]);
      }
    }
    const uint32_t block_of_values = ring.template next<false>();
    if (has_rows(bands)) {
#pragma unroll
      for (int band = 0; band < G::kBands; ++band) scale_rows(bands[band].sums, correction[band]);
      multiply_values(bands, weights, block_of_values);
    }
  }

 private:
  __device__ __forceinline__ static uint32_t place(int row, int piece) {
    return row * kRowBytes + (piece ^ row % 8) * kPieceBytes;
  }

  // Where rows are few, most warps have none.
  template <typename Band>
  __device__ __forceinline__ static bool has_rows(const Band (&bands)[G::kBands]) {
    if constexpr (Band::Rows::kFill) return true;
    else return bands[0].rows.rows_of_warp() > 0;
  }

  __device__ __forceinline__ static void of_zeros(float (&scores)[kScores]) {
#pragma unroll
    for (float& score : scores) score = 0.0f;
  }

  // `column` is even in pieces: a multiple of 16 elements.
  __device__ __forceinline__ static uint32_t at(uint32_t of_lane, int panel_bytes, int row, int column) {
    const uint32_t piece = column % kPanel * 2;
    return (of_lane ^ piece) + column / kPanel * panel_bytes + row * kRowBytes;
  }

  // Adds the products of queries and keys.
  __device__ __forceinline__ void multiply_keys(float (&scores)[G::kBands][kScores], uint32_t block) const {
    // Whole panels in a loop: unrolled, fragments of the next one would take the registers of sums.
#pragma unroll 1
    for (int panel = 0; panel < kWholePanels; ++panel) multiply_panel<kPanel>(scores, block, panel);
    if constexpr (kWholePanels != G::kHeadPanels) multiply_panel<G::kHeadDim % kPanel>(scores, block, kWholePanels);
  }

  // Adds the products of so many elements of a panel.
  template <int kElements>
  __device__ __forceinline__ void multiply_panel(float (&scores)[G::kBands][kScores], uint32_t block, int panel) const {
    const uint32_t keys = block + key_of_lane + panel * G::kKeyPanelBytes;
#pragma unroll
    for (int depth = 0; depth < kElements; depth += kFragment) {
      uint32_t a[G::kBands][4];
#pragma unroll
      for (int band = 0; band < G::kBands; ++band) {
        ptx::ldmatrix_x4(a[band], at(queries[band] + panel * G::kQueryPanelBytes, 0, 0, depth));
      }
#pragma unroll
      for (int key = 0; key < G::kTileKeys; key += kFragment) {
        uint32_t b[4];
        ptx::ldmatrix_x4(b, at(keys, 0, key, depth));
#pragma unroll
        for (int band = 0; band < G::kBands; ++band) {
          multiply<Input>(scores[band] + key / 2, a[band], b[0], b[1]);
          multiply<Input>(scores[band] + key / 2 + 4, a[band], b[2], b[3]);
        }
      }
    }
  }

  template <typename Band>
  __device__ __forceinline__ void multiply_values(Band (&bands)[G::kBands], const uint32_t (&weights)[G::kBands][kScores / 2],
                                                  uint32_t block) const {
    const uint32_t values = block + value_of_lane;
#pragma unroll
    for (int key = 0; key < G::kTileKeys; key += kFragment) {
      uint32_t a[G::kBands][4];
#pragma unroll
      for (int band = 0; band < G::kBands; ++band) {
#pragma unroll
        for (int i = 0; i < 4; ++i) a[band][i] = weights[band][key / 4 + i];
      }
#pragma unroll
      for (int column = 0; column < G::kValueDim; column += kFragment) {
        uint32_t b[4];
        ptx::ldmatrix_x4_trans(b, at(values, G::kKeyPanelBytes, key, column));
#pragma unroll
        for (int band = 0; band < G::kBands; ++band) {
          multiply<Input>(bands[band].sums + column / 2, a[band], b[0], b[1]);
          multiply<Input>(bands[band].sums + column / 2 + 4, a[band], b[2], b[3]);
        }
      }
    }
  }
};

// The softmax of the scores of some bands with some blocks of keys, and the sums of values by its weights. Of all threads.
template <typename G, typename Args, typename Band, typename Blocks>
__device__ __forceinline__ void attend(const Args& args, const Shared<G>& shared, int warpgroup, Band (&bands)[G::kBands],
                                       const Sequence& sequence, int group, const Blocks& blocks) {
  const KeysOf<typename G::Problem> keys(sequence.queries, sequence.keys);
  const Multiplier<G> multiplier(shared, warpgroup);
  Ring<G, Args> ring(args, sequence, group, shared.slots(), blocks);
#pragma unroll
  for (int band = 0; band < G::kBands; ++band) {
    const auto& rows = bands[band].rows;
    copy_rows<kRowsOfWarpgroup, G::kHeadDim, kWarpgroupSize>(
        shared.queries(warpgroup * G::kBands + band), threadIdx.x % kWarpgroupSize, [&](int row) -> const char* {
          if (row >= rows.count) return nullptr;
          return static_cast<const char*>(args.q) + 2 * rows.at(row).in_q(args);
        });
  }
  ring.begin();
  int block = blocks.last - 1;
  for (; block >= max(blocks.inner_last, blocks.first); --block) multiplier.template add<true>(bands, ring, keys, block);
  for (; block >= blocks.inner_first; --block) multiplier.template add<false>(bands, ring, keys, block);
  if constexpr (G::Problem::kWindow != 0) {
    for (; block >= blocks.first; --block) multiplier.template add<true>(bands, ring, keys, block);
  }
#pragma unroll
  for (int band = 0; band < G::kBands; ++band) bands[band].softmax.finish();
}

// Calls `use` with the bands of a warpgroup, each of which `make` makes of its number.
template <typename G, typename Make, typename Use>
__device__ __forceinline__ void with_bands(Make make, Use use) {
  using Band = decltype(make(0));
  if constexpr (G::kBands == 1) {
    Band bands[] = {make(0)};
    use(bands);
  } else {
    Band bands[] = {make(0), make(1)};
    use(bands);
  }
}

}  // namespace autokernel::attention::sm80
