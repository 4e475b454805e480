// The reference every kernel is held against: one thread an element, fp64 accumulation, the epilogue in fp32.
//
// It shares nothing with the fast kernels but the epilogue or body and the element types, so that an indexing mistake in one
// cannot hide in the other. The result is fp32 whatever the problem's output type: it is not rounded.
#pragma once

#include "batch.cuh"
#include "body.cuh"
#include "epilogue.cuh"
#include "layout.cuh"
#include "types.cuh"

namespace autokernel::reference {

constexpr int kTile = 16;  // a block computes kTile x kTile elements through shared memory
constexpr int kThreads = kTile * kTile;

__device__ __forceinline__ float to_f32(bf16 value) { return __uint_as_float(uint32_t(value.bits) << 16); }
__device__ __forceinline__ float to_f32(f16 value) { return ptx::f16_to_f32(value.bits); }
__device__ __forceinline__ float to_f32(f32 value) { return value; }
// The upper half of an f16.
__device__ __forceinline__ float to_f32(e5m2 value) { return ptx::f16_to_f32(uint16_t(value.bits << 8)); }
// The digits of an f16 whose exponents are 8 less; there is no infinity, and one NaN of each sign.
__device__ __forceinline__ float to_f32(e4m3 value) {
  const uint32_t magnitude = value.bits & 0x7f;
  if (magnitude == 0x7f) return __uint_as_float(0x7fffffff);
  return 256.0f * ptx::f16_to_f32(uint16_t(magnitude << 7 | (value.bits & 0x80) << 8));
}

// Whether a launch passes scales of the other product's second factor.
template <typename Args, typename = void>
constexpr bool kHasSecondScales = false;
template <typename Args>
constexpr bool kHasSecondScales<Args, decltype(void(&Args::scales2))> = true;

// Whether groups of a second factor have zero points, which a launch then passes.
template <typename Problem, typename = void>
constexpr bool kHasZeros = false;
template <typename Problem>
constexpr bool kHasZeros<Problem, decltype(void(Problem::kZeros))> = Problem::kZeros;

// What a second factor holds: elements of the first one's type, or those that the problem says.
template <typename Problem, typename = void>
struct SecondOf {
  using Element = typename Problem::Input;
  static constexpr int kGroup = 0;
};
template <typename Problem>
struct SecondOf<Problem, decltype(void(Problem::kGroup))> {
  using Element = typename Problem::Weight;
  static constexpr int kGroup = Problem::kGroup;
};

// A second factor.
template <typename Element>
struct Factor {
  const Element* data;
  int64_t ld;
};

// Number `k` of a row; what is packed has one of its own (packed4.cuh).
template <typename Element>
__device__ __forceinline__ float number_at(const Element* row, int64_t k) {
  return to_f32(row[k]);
}

// The scale of number `k` of row `column` of a product's second factor.
template <typename Problem, typename Args>
__device__ __forceinline__ float scale_of(const Args& args, int product, int64_t column, int64_t k) {
  using Second = SecondOf<Problem>;
  if constexpr (Second::kGroup == 0) {
    return 1.0f;
  } else {
    const auto* scales = static_cast<const typename Problem::Scale*>(args.scales);
    int64_t ld = args.ldscales;
    if constexpr (kHasSecondScales<Args>) {
      if (product == 1) scales = static_cast<const typename Problem::Scale*>(args.scales2), ld = args.ldscales2;
    }
    return to_f32(scales[k / Second::kGroup * ld + column]);
  }
}

// What is subtracted from number `k` of row `column` of a product's second factor.
template <typename Problem, typename Args>
__device__ __forceinline__ float zero_of(const Args& args, int product, int64_t column, int64_t k) {
  if constexpr (kHasZeros<Problem>) {
    const auto* zeros = static_cast<const int8_t*>(args.zeros);
    int64_t ld = args.ldzeros;
    if constexpr (kHasSecondScales<Args>) {
      if (product == 1) zeros = static_cast<const int8_t*>(args.zeros2), ld = args.ldzeros2;
    }
    return static_cast<float>(zeros[k / SecondOf<Problem>::kGroup * ld + column]);
  } else {
    return 0.0f;
  }
}

// The scales of the blocks of both factors that number `k` of a row and of a column lies in; 1 where none have scales.
template <typename Problem, typename = void>
struct ScalesOfBlocks {
  template <typename Args>
  __device__ __forceinline__ static double at(const Args&, int, int64_t, int64_t, int64_t) {
    return 1.0;
  }
};
template <typename Problem>
struct ScalesOfBlocks<Problem, decltype(void(Problem::kBlock))> {
  template <typename Args>
  __device__ __forceinline__ static double at(const Args& args, int product, int64_t row, int64_t column, int64_t k) {
    const auto* scales = static_cast<const float*>(args.scales);
    int64_t ld = args.ldscales;
    if constexpr (kHasSecondScales<Args>) {
      if (product == 1) scales = static_cast<const float*>(args.scales2), ld = args.ldscales2;
    }
    const int64_t of_k = k / Problem::kBlock;
    const float of_row = static_cast<const float*>(args.a_scales)[row * args.lda_scales + of_k];
    return double(of_row) * double(scales[column / Problem::kBlock * ld + of_k]);
  }
};

// The row of A that row `row` of C is of; -1 where an index says one that A does not have.
template <typename Args>
__device__ __forceinline__ int64_t row_of_a(const Args& args, int64_t row, bool inside) {
  if constexpr (kGathersA<Args>) {
    const int32_t of_a = inside ? static_cast<const int32_t*>(args.a_index)[row] : -1;
    return of_a < args.a_rows ? of_a : -1;
  } else {
    return row;
  }
}

// What a row's reductions have of a block's columns.
template <typename Body, int kCount = body::kStatistics<Body>>
struct Reduced {
  static_assert(Body::kPartColumns == kTile, "a part is what a block holds of a row");
  float terms[kCount];

  __device__ __forceinline__ Reduced() {
#pragma unroll
    for (int i = 0; i < kCount; ++i) terms[i] = Body::identity(i);
  }
  __device__ __forceinline__ void take(const typename Body::Outputs& outputs) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) terms[i] = outputs.values[Body::kOutputs + i];
  }
  // All lanes of the warp come here.
  template <typename Args>
  __device__ __forceinline__ void leave(const Args& args, int row, int column, bool inside) const {
    const body::Parts<Body> parts{static_cast<float*>(args.parts), args.m, args.n};
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      float part = terms[i];
#pragma unroll
      for (int mask = 1; mask < kTile; mask *= 2) part = Body::combine(i, part, __shfl_xor_sync(~0u, part, mask));
      if (inside && threadIdx.x % kTile == 0) parts.leave(i, column / kTile, row, part);
    }
  }
};
template <typename Body>
struct Reduced<Body, 0> {
  template <typename Outputs>
  __device__ __forceinline__ void take(const Outputs&) {}
  template <typename Args>
  __device__ __forceinline__ void leave(const Args&, int, int, bool) const {}
};

// Where this was the last tile of its rows, number `tile` of them, finishes these. All threads of the block come here.
template <typename Body, typename Args>
__device__ __forceinline__ void bring_together(const Args& args, int tile) {
  if constexpr (body::kStatistics<Body> > 0) {
    constexpr int kWarps = kThreads / kWarpSize;
    const int warp = threadIdx.x / kWarpSize;
    __syncthreads();  // all parts of the tile are left
    if (!body::arrive<kWarps>(args, tile, warp, ceil_div(args.n, kTile))) return;
    body::bring_together<Body, kWarps>(args, body::TileRows<kTile>::of(tile, args.m), args.n, warp);
  }
}

// Tile `tile` of a product, row by row, of the `args.m` rows from `first_row` on. Leading dimensions count elements. With two products args.b2 is multiplied as args.b is.
template <typename Problem, typename Body, int kProducts, typename Args>
__device__ __forceinline__ void matmul_tile(const Args& args, int64_t tile, int first_row = 0) {
  using Input = typename Problem::Input;
  // The extents come from the launch even where they are known: a wrong constant cannot hide in both kernels.
  static_assert(Problem::kKnownN >= 0 && Problem::kKnownK >= 0, "0: given at launch");
  __shared__ float a_tile[kTile][kTile + 1];  // + 1: no bank conflict when a column is read
  __shared__ float b_tile[kProducts][kTile][kTile + 1];

  const auto* a = static_cast<const Input*>(args.a);
  using Second = typename SecondOf<Problem>::Element;
  Factor<Second> factors[kProducts] = {{static_cast<const Second*>(args.b), args.ldb}};
  if constexpr (kProducts == 2) factors[1] = {static_cast<const Second*>(args.b2), args.ldb2};
  auto* c = static_cast<float*>(args.c);
  const int x = threadIdx.x % kTile;
  const int y = threadIdx.x / kTile;
  const int64_t tiles_n = ceil_div<int64_t>(args.n, kTile);
  const int64_t row = first_row + tile / tiles_n * kTile + y;
  const int64_t rows = int64_t{first_row} + args.m;
  const int64_t column = tile % tiles_n * kTile + x;
  const int64_t gathered = row_of_a(args, row, row < rows);
  double sums[kProducts] = {};
  for (int k0 = 0; k0 < args.k; k0 += kTile) {
    const bool a_inside = row < rows && gathered >= 0 && k0 + x < args.k;
    const int64_t a_offset = kTransposesA<Problem> ? int64_t(k0 + x) * args.lda + row : gathered * args.lda + k0 + x;
    a_tile[y][x] = a_inside ? to_f32(a[a_offset]) : 0.0f;
    const bool b_inside = column < args.n && k0 + y < args.k;
#pragma unroll
    for (int product = 0; product < kProducts; ++product) {
      const auto [b, ldb] = factors[product];
      if constexpr (Problem::kTransposeB) {
        const float number = b_inside ? number_at(b + column * ldb, k0 + y) : 0.0f;
        b_tile[product][y][x] = b_inside ? number - zero_of<Problem>(args, product, column, k0 + y) : 0.0f;
      } else {
        b_tile[product][y][x] = b_inside ? number_at(b + int64_t(k0 + y) * ldb, column) : 0.0f;
      }
    }
    __syncthreads();
#pragma unroll
    for (int product = 0; product < kProducts; ++product) {
      double of_tile = 0.0;
#pragma unroll
      for (int k = 0; k < kTile; ++k) of_tile += double(a_tile[y][k]) * double(b_tile[product][k][x]);
      // Groups are of whole tiles along K.
      const bool is_scaled = SecondOf<Problem>::kGroup > 0 && column < args.n;
      if (is_scaled) of_tile *= double(scale_of<Problem>(args, product, column, k0));
      if (row < rows && column < args.n) of_tile *= ScalesOfBlocks<Problem>::at(args, product, row, column, k0);
      sums[product] += of_tile;
    }
    __syncthreads();
  }
  const bool inside = row < rows && column < args.n;
  Reduced<Body> reduced;
  if (inside) {
    const float value = Problem::epilogue(static_cast<float>(sums[0]));
    float* const to = c + row * args.ldc + column;
    if constexpr (Body::kExists) {
      const body::Index at{static_cast<int>(row), static_cast<int>(column)};
      const auto store = [&](float staged) { *to = staged; };
      if constexpr (kProducts == 2) {
        reduced.take(body::apply_to_element<Body>(args, at, store, value, static_cast<float>(sums[1])));
      } else {
        reduced.take(body::apply_to_element<Body>(args, at, store, value));
      }
    } else {
      *to = value;
    }
  }
  reduced.leave(args, static_cast<int>(row), static_cast<int>(column), inside);
  bring_together<Body>(args, static_cast<int>(tile / tiles_n));
}

// Any grid of blocks of kThreads threads: each takes tile after tile, of a batch product after product.
template <typename Problem, typename Body = body::None, int kProducts = 1, typename Batch = batch::None, typename Args>
__device__ __forceinline__ void matmul(const Args& args) {
  const int64_t tiles = ceil_div<int64_t>(args.m, kTile) * ceil_div<int64_t>(args.n, kTile);
  const int64_t first = int64_t(blockIdx.y) * gridDim.x + blockIdx.x;
  const int64_t step = int64_t(gridDim.x) * gridDim.y;
  if constexpr (Batch::kMany == batch::Many::kNone) {
    for (int64_t tile = first; tile < tiles; tile += step) matmul_tile<Problem, Body, kProducts>(args, tile);
  } else if constexpr (Batch::kMany == batch::Many::kGroups) {
    // Rows of a group as those of a product: offsets that are out of order or range begin where the group before ends.
    const int32_t* const offsets = Batch::offsets(args);
    int begin = min(max(offsets[0], 0), args.m);
    for (int group = 0; group < args.groups; ++group) {
      const int end = max(begin, min(offsets[group + 1], args.m));
      Args seen = Batch::of(args, group);
      seen.m = end - begin;
      for (int64_t tile = first; tile < ceil_div<int64_t>(seen.m, kTile) * ceil_div<int64_t>(args.n, kTile); tile += step) {
        matmul_tile<Problem, Body, kProducts>(seen, tile, begin);
      }
      begin = end;
    }
  } else {
    for (int64_t tile = first; tile < tiles * args.batch; tile += step) {
      matmul_tile<Problem, Body, kProducts>(Batch::of(args, tile / tiles), tile % tiles);
    }
  }
}

}  // namespace autokernel::reference
