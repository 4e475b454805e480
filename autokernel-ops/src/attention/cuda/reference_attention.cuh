// The reference every attention kernel is held against: a block a query, in fp64. It shares nothing with the fast kernels but
// the element types and where sequences begin and end. Results are fp32 whatever the types of the outputs: they are not rounded.
#pragma once

#include "attention_sequences.cuh"

namespace autokernel::reference_attention {

constexpr int kThreads = 256;

__device__ __forceinline__ double widen(bf16 value) { return __uint_as_float(uint32_t(value.bits) << 16); }
__device__ __forceinline__ double widen(f16 value) { return ptx::f16_to_f32(value.bits); }

// Sequences of which the tensors say all.
struct Whole {
  static constexpr bool kPackedQueries = false;
  static constexpr attention::Keys kKeys = attention::Keys::kWhole;
};

// A query and the keys of its head.
template <typename Problem, typename Sequences, typename Args>
struct Query {
  using Input = typename Problem::Input;
  const Args& args;
  attention::Sequence sequence;
  int head;
  int query;  // of the sequence
  const Input* q;

  // Whether it sees a key: both are aligned at their ends.
  __device__ bool sees(int key) const {
    const long long distance = (long long)query + sequence.keys - sequence.queries - key;
    if (Problem::kCausal && distance < 0) return false;
    return Problem::kWindow == 0 || (distance < Problem::kWindow && -distance < Problem::kWindow);
  }

  // Where a key's row begins, or that of its value.
  __device__ const Input* row(const void* of, int64_t outer, int64_t of_head, int64_t of_row, int key) const {
    const int group = head / (args.heads / args.groups);
    const Input* const rows = static_cast<const Input*>(of) + group * of_head;
    if constexpr (Sequences::kKeys == attention::Keys::kPaged) {
      const int* const pages = static_cast<const int*>(args.table) + sequence.number * args.table_row;
      return rows + pages[key / Sequences::kPage] * outer + key % Sequences::kPage * of_row;
    } else {
      return rows + sequence.number * outer + (sequence.first_key + key) * of_row;
    }
  }
  __device__ const Input* k(int key) const { return row(args.k, outer_of_keys(), args.k_head, args.k_row, key); }
  __device__ const Input* v(int key) const { return row(args.v, outer_of_values(), args.v_head, args.v_row, key); }

  // From one sequence to the next, or from page to page.
  __device__ int64_t outer_of_keys() const {
    if constexpr (Sequences::kKeys == attention::Keys::kPacked) return 0;
    else if constexpr (Sequences::kKeys == attention::Keys::kPaged) return args.k_page;
    else return args.k_batch;
  }
  __device__ int64_t outer_of_values() const {
    if constexpr (Sequences::kKeys == attention::Keys::kPacked) return 0;
    else if constexpr (Sequences::kKeys == attention::Keys::kPaged) return args.v_page;
    else return args.v_batch;
  }

  __device__ double score(int key) const {
    double sum = 0.0;
    const Input* const of_key = k(key);
    for (int i = 0; i < Problem::kHeadDim; ++i) sum += widen(q[i]) * widen(of_key[i]);
    if constexpr (Problem::kScored) {
      const float place = query + sequence.keys - sequence.queries;
      return Problem::score(Problem::of_head(args, head), float(sum), float(sequence.number), float(head), place, float(key));
    } else {
      return sum * double(Problem::kScale);
    }
  }
};

template <typename Problem, typename Sequences = Whole, typename Args>
__device__ __forceinline__ void attend(const Args& args) {
  using Input = typename Problem::Input;
  __shared__ double weights[kThreads];
  const int row = blockIdx.x % args.queries;
  const int head = blockIdx.x / args.queries % args.heads;
  int number = blockIdx.x / args.queries / args.heads;
  int64_t in_q = head * args.q_head + row * args.q_row;
  int64_t in_out = head * args.out_head + row * args.out_row;
  attention::Sequence sequence = attention::sequence_at<Sequences>(args, number);
  if constexpr (Sequences::kPackedQueries) {
    while (row < sequence.first_query || row - sequence.first_query >= sequence.queries) {
      if (++number == args.batch) return;  // of no sequence
      sequence = attention::sequence_at<Sequences>(args, number);
    }
  } else {
    in_q += number * args.q_batch;
    in_out += number * args.out_batch;
  }
  const int keys = sequence.keys;
  const Query<Problem, Sequences, Args> of{args, sequence, head, row - sequence.first_query,
                                           static_cast<const Input*>(args.q) + in_q};

  // The largest score. A score that is no number must not be passed over; a query that sees no key has none.
  double largest = -__builtin_huge_val();
  for (int key = threadIdx.x; key < keys; key += kThreads) {
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
  for (int first = 0; first < keys && any; first += kThreads) {
    const int key = first + threadIdx.x;
    __syncthreads();
    weights[threadIdx.x] = key < keys && of.sees(key) ? exp(of.score(key) - largest) : 0.0;
    __syncthreads();
    for (int i = 0; i < kThreads && first + i < keys; ++i) {
      total += weights[i];
      if (threadIdx.x < Problem::kValueDim && weights[i] != 0.0) {
        sum += weights[i] * widen(of.v(first + i)[threadIdx.x]);
      }
    }
  }
  if (threadIdx.x < Problem::kValueDim) {
    static_cast<float*>(args.out)[in_out + threadIdx.x] = any ? float(sum / total) : 0.0f;
  }
  if constexpr (Problem::kLse) {
    float* lse = static_cast<float*>(args.lse) + head * args.lse_head + row;
    if constexpr (!Sequences::kPackedQueries) lse += number * args.lse_batch;
    if (threadIdx.x == 0) *lse = any ? float(largest + log(total)) : -__builtin_huge_valf();
  }
}

}  // namespace autokernel::reference_attention
