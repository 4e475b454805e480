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
  static_assert(SharingConsumer<G>::PieceEnd::Parts::kBytesOfBlock == Schedule::kPartialBytes, "the workspace has as many");

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
    let_next_grids_begin();
    // Shares are found, and their first keys brought to L2, while the grid before this one ends. It may yet write how long sequences
    // are: that is guessed, and held against what memory says then.
    if constexpr (Sequences::kAreWhole) {
      const Share<G> share(args);
      const Place first = prefetch(args, shared, share, Known<Sequences>());
      ptx::wait_for_previous_grids();
      attend(args, shared, warpgroup, share, Producer::box_at(first));
    } else {
      const Guessed<Sequences> sequences(args);
      Share<G> share(args, sequences);
      Place first{};
      if (sequences.serves) first = prefetch(args, shared, share, sequences);
      ptx::wait_for_previous_grids();
      Box box = Producer::box_at(first);  // on its way while lengths are
      if (!sequences.holds(args)) {
        share = Share<G>(args);
        with_producer(shared, [&](const auto& producer) { box = Producer::box_at(producer.first_place(args, share)); });
      }
      attend(args, shared, warpgroup, share, box);
    }
  }

 private:
  using Producer = SharingProducer<G>;

  template <typename Batch>
  __device__ __forceinline__ static Place prefetch(const Args& args, const Shared<G>& shared, const Share<G>& share,
                                                   const Batch& sequences) {
    Place first{};
    with_producer(shared, [&](const auto& producer) { first = producer.prefetch(args, share, sequences); });
    return first;
  }

  __device__ __forceinline__ static void attend(const Args& args, const Shared<G>& shared, int warpgroup,
                                                const Share<G>& share, const Box& first) {
    if (warpgroup == 0) {
      ptx::release_registers<G::kProducerRegisters>();
      with_producer(shared, [&](auto& producer) { producer.run(args, share, first); });
    } else {
      ptx::claim_registers<G::kConsumerRegisters>();
      SharingConsumer<G>(args, shared, warpgroup - 1).run(args, share);
    }
  }

  // By each warp that copies.
  template <typename Use>
  __device__ __forceinline__ static void with_producer(const Shared<G>& shared, Use use) {
    const int warp = __shfl_sync(kAllLanes, threadIdx.x / kWarpSize, 0);
    Producer producer(shared, warp);
    if (warp < Producer::kWarps) use(producer);
  }

  // Their blocks take the place of those of this grid that have ended, and wait for the rest.
  __device__ __forceinline__ static void let_next_grids_begin() {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  }
};

}  // namespace autokernel::attention
