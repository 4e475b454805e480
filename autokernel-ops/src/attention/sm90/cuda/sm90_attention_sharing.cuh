// Attention forward on Hopper where the blocks of the grid share the keys of each tile: for few queries on many keys, and for
// sequences whose lengths the device alone knows. Consumers multiply as in sm90_attention.cuh.
#pragma once

#include "sm90_attention_sharing_consumer.cuh"
#include "sm90_attention_sharing_producer.cuh"

namespace autokernel::attention {

template <typename Problem, typename Sequences, typename Schedule, typename Args>
struct SharingAttention {
  using G = SharingGeometry<Problem, Sequences, Schedule>;
  static constexpr int kThreads = G::kThreads;
  static_assert(SharingConsumer<G>::kSharedBytes <= Schedule::kSharedBytes, "the launch asks for as much shared memory");
  static_assert(SharingConsumer<G>::Parts::kBytesOfBlock == Schedule::kPartialBytes, "the workspace has as many");

  __device__ __forceinline__ static void run(const Args& args) {
    extern __shared__ uint8_t memory[];
    const Shared<G> shared(memory);
    const int warpgroup = __shfl_sync(kAllLanes, threadIdx.x / kWarpgroupSize, 0);
    if (threadIdx.x == 0) {
      if (are_mapped<Sequences>(args)) {
        ptx::prefetch_tensor_map(args.k_map);
        ptx::prefetch_tensor_map(args.v_map);
      }
      shared.init_barriers();
    }
    __syncthreads();
    ptx::wait_for_previous_grids();
    const Share<G> share(args);

    if (warpgroup == 0) {
      ptx::release_registers<G::kProducerRegisters>();
      if (threadIdx.x == 0) SharingProducer<G>(shared).run(args, share);
    } else {
      ptx::claim_registers<G::kConsumerRegisters>();
      SharingConsumer<G>(args, shared, warpgroup - 1).run(args, share);
    }
  }
};

}  // namespace autokernel::attention
