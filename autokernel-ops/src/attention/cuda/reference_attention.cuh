// The reference every attention kernel is held against: a block a query, in fp64. It shares nothing with the fast kernels but
// the element types. Results are fp32 whatever the types of the outputs: they are not rounded.
#pragma once

#include "types.cuh"

namespace autokernel::reference_attention {

constexpr int kThreads = 256;

__device__ __forceinline__ double widen(bf16 value) { return __uint_as_float(uint32_t(value.bits) << 16); }
__device__ __forceinline__ double widen(f16 value) { return ptx::f16_to_f32(value.bits); }

// A query and the keys of its head.
template <typename Problem, typename Args>
struct Query {
  using Input = typename Problem::Input;
  const Args& args;
  int batch;
  int head;
  int query;
  const Input* q;
  const Input* k;
  const Input* v;

  // Whether it sees a key: both are aligned at their ends.
  __device__ bool sees(int key) const {
    const long long distance = (long long)query + args.keys - args.queries - key;
    if (Problem::kCausal && distance < 0) return false;
    return Problem::kWindow == 0 || (distance < Problem::kWindow && -distance < Problem::kWindow);
  }

  __device__ double score(int key) const {
    double sum = 0.0;
    for (int i = 0; i < Problem::kHeadDim; ++i) sum += widen(q[i]) * widen(k[key * args.k_row + i]);
    if constexpr (Problem::kScored) {
      const float place = query + args.keys - args.queries;
      return Problem::score(Problem::of_head(args, head), float(sum), float(batch), float(head), place, float(key));
    } else {
      return sum * double(Problem::kScale);
    }
  }
};

template <typename Problem, typename Args>
__device__ __forceinline__ void attend(const Args& args) {
  using Input = typename Problem::Input;
  __shared__ double weights[kThreads];
  const int query = blockIdx.x % args.queries;
  const int head = blockIdx.x / args.queries % args.heads;
  const int batch = blockIdx.x / args.queries / args.heads;
  const int group = head / (args.heads / args.groups);
  const Query<Problem, Args> of{
      args, batch, head, query,
      static_cast<const Input*>(args.q) + batch * args.q_batch + head * args.q_head + query * args.q_row,
      static_cast<const Input*>(args.k) + batch * args.k_batch + group * args.k_head,
      static_cast<const Input*>(args.v) + batch * args.v_batch + group * args.v_head};

  // The largest score. A score that is no number must not be passed over; a query that sees no key has none.
  double largest = -__builtin_huge_val();
  for (int key = threadIdx.x; key < args.keys; key += kThreads) {
    if (!of.sees(key)) continue;
    const double score = of.score(key);
    largest = score > largest || score != score ? score : largest;
  }
  weights[threadIdx.x] = largest;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      const double other = weights[threadIdx.x + half];
      if (other > weights[threadIdx.x] || other != other) weights[threadIdx.x] = other;
    }
  }
  __syncthreads();
  largest = weights[0];
  const bool any = largest != -__builtin_huge_val();

  // Each thread sums one element of the values, over as many keys at a time as there are threads.
  double sum = 0.0;
  double total = 0.0;
  for (int first = 0; first < args.keys && any; first += kThreads) {
    const int key = first + threadIdx.x;
    __syncthreads();
    weights[threadIdx.x] = key < args.keys && of.sees(key) ? exp(of.score(key) - largest) : 0.0;
    __syncthreads();
    for (int i = 0; i < kThreads && first + i < args.keys; ++i) {
      total += weights[i];
      if (threadIdx.x < Problem::kValueDim && weights[i] != 0.0) {
        sum += weights[i] * widen(of.v[(first + i) * args.v_row + threadIdx.x]);
      }
    }
  }
  if (threadIdx.x < Problem::kValueDim) {
    float* const out = static_cast<float*>(args.out) + batch * args.out_batch + head * args.out_head;
    out[query * args.out_row + threadIdx.x] = any ? float(sum / total) : 0.0f;
  }
  if constexpr (Problem::kLse) {
    float* const lse = static_cast<float*>(args.lse) + batch * args.lse_batch + head * args.lse_head;
    if (threadIdx.x == 0) lse[query] = any ? float(largest + log(total)) : -__builtin_huge_valf();
  }
}

}  // namespace autokernel::reference_attention
