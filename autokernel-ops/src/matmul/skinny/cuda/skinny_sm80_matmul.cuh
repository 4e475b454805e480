// C = epilogue(A * B), or what a body makes of it, for few rows of A: factors that begin anywhere are read where they lie, on
// every GPU from sm_80 on.
//
// What costs is to read B once. A block computes kTileM x kColumns of C; its warps share K, so that each streams parts of B
// of its own into registers (skinny_sm80_b.cuh), kStages steps ahead, with no barrier between them, and multiplies by mma.sync,
// of which B takes the longer side. A's rows come through shared memory (skinny_sm80_a.cuh). In the end the warps' sums are added
// in their order, kMmaN rows at a time.
//
// Most blocks stay for the whole launch: A's rows are brought once where shared memory holds all of K, and the next tile's first words
// are on their way while sums are added.
//
// What a schedule means and the rules that it keeps are in skinny_sm80_schedule.cuh. The emitted file prints struct Args.
#pragma once

#include "body.cuh"
#include "epilogue.cuh"
#include "fast_math.cuh"
#include "ptx/sm80.cuh"
#include "raster.cuh"
#include "skinny_sm80_a.cuh"
#include "skinny_sm80_b.cuh"
#include "skinny_sm80_schedule.cuh"
#include "types.cuh"

namespace autokernel::skinny_sm80 {

// Args: a is [m, k], b [k, n] or with Problem::kTransposeB [n, k], c [m, n], all row-major. Bases are aligned to elements, leading
// dimensions count elements and may be any number >= the row length. m, n and k are at most 2^31 - 2^16.
template <typename Problem, typename Schedule, typename Args, typename Body = body::None>
struct Matmul : Shape<Schedule, !Problem::kTransposeB, Body::kRegisters> {
  using S = Shape<Schedule, !Problem::kTransposeB, Body::kRegisters>;
  using Input = typename Problem::Input;
  using Output = typename Problem::Output;
  static_assert(sizeof(Input) == kElementBytes, "factors_have_16_bits");

  using B = StreamOfB<S, !Problem::kTransposeB>;
  using A = SharedA<S, !Problem::kTransposeB>;
  using Sums = float[S::kFragments][S::kGroups][4];

  // Whether a block computes tile after tile: beside a body, lanes that shift have no registers for what that takes.
  static constexpr bool kStays = !(Problem::kTransposeB && Body::kExists);

  __device__ __forceinline__ static void run(const Args& args) {
    extern __shared__ __align__(16) uint8_t shared_memory[];
    uint16_t* const shared = reinterpret_cast<uint16_t*>(shared_memory);
    float* const shared_sums = reinterpret_cast<float*>(shared_memory + S::kBytesA);
    ptx::wait_for_previous_grids();
    const int n = Problem::kKnownN > 0 ? Problem::kKnownN : args.n;
    const int k = Problem::kKnownK > 0 ? Problem::kKnownK : args.k;
    const int tiles_m = static_cast<int>(ceil_div<int64_t>(args.m, S::kTileM));
    const int tiles_n = static_cast<int>(ceil_div<int64_t>(n, S::kColumns));
    const auto place = [&](int tile) -> body::Index {
      const TileCoord at = tile_coord(tile, tiles_m, tiles_n, raster_of(args));
      return {at.m * S::kTileM, at.n * S::kColumns};
    };

    int tile = blockIdx.x, staged_row = -1;
    body::Index first = place(tile);
    B b(args.b, args.ldb, first.column, n, k);
    typename B::Words words[S::kStages];
    request(words, b);
#pragma unroll 1
    for (;;) {
      Sums sums = {};
      multiply(sums, words, args, b, first.row, staged_row, k, shared);
      const body::Index here = first;
      tile += gridDim.x;
      const bool is_last = tile >= tiles_m * tiles_n;
      const auto begin_next = [&] {
        if (is_last) return;
        first = place(tile);
        b = B(args.b, args.ldb, first.column, n, k);
        request(words, b);
      };
      if constexpr (kStays && !Body::kExists) begin_next();  // a body has the registers of words
      finish(sums, args, b, here, n, shared_sums);
      if (!kStays || is_last) return;
      if constexpr (kStays && Body::kExists) begin_next();
    }
  }

 private:
  // Requests the words of a tile's first steps.
  __device__ __forceinline__ static void request(typename B::Words (&words)[S::kStages], B& b) {
    if constexpr (!Problem::kTransposeB) {
      if (b.is_whole() && S::kStages <= b.whole_steps()) {
#pragma unroll
        for (int stage = 0; stage < S::kStages; ++stage) b.load_whole(words[stage]);
        return;
      }
    }
    const int steps = b.steps();
#pragma unroll
    for (int stage = 0; stage < S::kStages; ++stage) {
      if (stage < steps) b.load(words[stage]);
    }
  }

  // Multiplies a tile, whose first words were requested. `staged_row`: the first of the rows of A that are in shared memory with all
  // of K, below 0 where none are.
  __device__ __forceinline__ static void multiply(Sums& sums, typename B::Words (&words)[S::kStages], const Args& args, B& b, int row,
                                                  int& staged_row, int k, uint16_t* shared) {
    const Span of_a(args.a, args.lda, args.m, k);
    const uint16_t* const a = of_a.begin + row * args.lda;
    const int rows = args.m - row, steps = b.steps();
    const bool is_there = staged_row == row;
    staged_row = k <= S::kTileK ? row : -1;
    int step = 0;
#pragma unroll 1
    for (int64_t begin = 0; begin < k; begin += S::kTileK) {
      if (begin > 0) __syncthreads();  // all have read the stretch before
      if (!is_there) {
        A::stage(shared, of_a, a, args.lda, rows, static_cast<int>(begin), k);
        __syncthreads();
      }
      int first = 0;
      if constexpr (!Problem::kTransposeB) {
        // Nothing branches here: behind a branch a warp would wait for all words that it has requested.
        const int whole_steps = b.whole_steps();
#pragma unroll 1
        for (; first < S::kSteps && step + 2 * S::kStages <= whole_steps; first += S::kStages) {
#pragma unroll
          for (int stage = 0; stage < S::kStages; ++stage, ++step) {
            multiply_step(sums, words[stage], b, shared, step, first + stage);
            b.load_whole(words[stage]);
          }
        }
      }
#pragma unroll 1
      for (; first < S::kSteps && step < steps; first += S::kStages) {
#pragma unroll
        for (int stage = 0; stage < S::kStages; ++stage, ++step) {
          if (step < steps) multiply_step(sums, words[stage], b, shared, step, first + stage);
          if (step + S::kStages < steps) b.load(words[stage]);
        }
      }
    }
  }

  // Step `step`, which is number `in_stretch` of those whose elements of A are there.
  __device__ __forceinline__ static void multiply_step(Sums& sums, const typename B::Words& words, const B& b, const uint16_t* shared,
                                                       int step, int in_stretch) {
    uint32_t of_b[S::kFragments][B::kMmas][4];
#pragma unroll
    for (int fragment = 0; fragment < S::kFragments; ++fragment) b.fragment(of_b[fragment], words, fragment, step);
#pragma unroll
    for (int group = 0; group < S::kGroups; ++group) {
      uint32_t of_a[B::kMmas][2];
      A::load(of_a, shared, group, in_stretch);
#pragma unroll
      for (int mma = 0; mma < B::kMmas; ++mma) {
#pragma unroll
        for (int fragment = 0; fragment < S::kFragments; ++fragment) {
          ptx::mma_m16n8k16<Input>(sums[fragment][group], of_b[fragment][mma], of_a[mma][0], of_a[mma][1]);
        }
      }
    }
  }

  // Adds what the warps have of each element, and stores it.
  __device__ __forceinline__ static void finish(const Sums& sums, const Args& args, const B& b, body::Index first, int n,
                                                float* shared) {
    constexpr int kOfWarp = kMmaN * S::kPitchOfSums;
    const int warp = threadIdx.x / kWarpSize, lane = threadIdx.x % kWarpSize;
#pragma unroll
    for (int group = 0; group < S::kGroups; ++group) {
      const int row = first.row + group * kMmaN;
      if (row >= args.m) break;
      __syncthreads();  // all have read what was there before
#pragma unroll
      for (int fragment = 0; fragment < S::kFragments; ++fragment) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int column = b.column(fragment, i / 2);
          if (column < 0 || column >= S::kColumns) continue;
          shared[warp * kOfWarp + (lane % 4 * 2 + i % 2) * S::kPitchOfSums + column] = sums[fragment][group][i];
        }
      }
      __syncthreads();
      for (int element = threadIdx.x; element < kMmaN * S::kColumns; element += S::kThreads) {
        const body::Index in_tile{element / S::kColumns, element % S::kColumns};
        const body::Index at{row + in_tile.row, first.column + in_tile.column};
        if (at.row >= args.m || at.column >= n) continue;
        float sum = 0.0f;
#pragma unroll
        for (int other = 0; other < S::kWarps; ++other) {
          sum += shared[other * kOfWarp + in_tile.row * S::kPitchOfSums + in_tile.column];
        }
        store(args, at, sum);
      }
    }
  }

  __device__ __forceinline__ static void store(const Args& args, body::Index at, float sum) {
    const auto staged = [&](float value) {
      static_cast<Output*>(args.c)[at.row * args.ldc + at.column] = from_f32<Output>(Problem::epilogue(value));
    };
    if constexpr (Body::kExists) {
      // Emitted for every body, and what is never referenced is an error.
      static_assert(Body::template kWords<body::Fragment<false>::template Input> >= 0);
      body::apply_to_element<Body>(args, at, staged, sum);
    } else {
      staged(sum);
    }
  }
};

}  // namespace autokernel::skinny_sm80
