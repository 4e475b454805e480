// Attention forward on Hopper: one producer that has the copy engine fill rings of keys and values, and one to three
// consumers that multiply, each 64 queries against all keys that they see, with the softmax on the way (FlashAttention-3,
// Shah et al. 2024).
#pragma once

#include "sm90_attention_consumer.cuh"
#include "sm90_attention_paged_producer.cuh"
#include "sm90_attention_producer.cuh"

namespace autokernel::attention {

template <typename Problem, typename Sequences, typename Schedule, typename Args>
struct Attention {
  using G = Geometry<Problem, Sequences, Schedule>;
  static constexpr int kThreads = G::kThreads;
  static_assert(Shared<G>::kBytes <= Schedule::kSharedBytes, "the launch asks for as much shared memory");

  __device__ __forceinline__ static void run(const Args& args) {
    extern __shared__ uint8_t memory[];
    const Shared<G> shared(memory);
    const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / kWarpgroupSize, 0);
    if (threadIdx.x == 0) {
      ptx::prefetch_tensor_map(args.q_map);
      if (are_mapped<Sequences>(args)) {
        ptx::prefetch_tensor_map(args.k_map);
        ptx::prefetch_tensor_map(args.v_map);
      }
      shared.init_barriers();
    }
    if constexpr (G::kSteps) Steps<G>(shared).fill();
    __syncthreads();
    ptx::wait_for_previous_grids();

    if (warpgroup == 0) {
      ptx::release_registers<G::kProducerRegisters>();
      if (threadIdx.x < Producer<G>::kThreads) Producer<G>(shared).run(args);
    } else {
      ptx::claim_registers<G::kConsumerRegisters>();
      Consumer<G>(shared, warpgroup - 1).run(args);
    }
  }
};

}  // namespace autokernel::attention
