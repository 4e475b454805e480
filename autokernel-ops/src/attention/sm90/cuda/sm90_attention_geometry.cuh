// Sizes that follow from problem and schedule, and where things lie in shared memory.
#pragma once

#include "attention_sequences.cuh"
#include "attention_softmax.cuh"
#include "ptx/sm90.cuh"
#include "ptx/sm90_descriptor.cuh"

namespace autokernel::attention {

constexpr int kPanel = 64;            // elements of a swizzled row
constexpr int kDepth = 16;            // wgmma's K
constexpr int kSlots = 2;             // tiles that the producer is ahead

__device__ __forceinline__ void store_shared(uint32_t address, uint4 v) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

__device__ __forceinline__ void store_shared(uint32_t address, int4 v) {
  asm volatile("st.shared.v4.s32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
__device__ __forceinline__ int4 load_shared(uint32_t address) {
  int4 v;
  asm volatile("ld.shared.v4.s32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(address)
               : "memory");
  return v;
}

// By each warp of those that have read what a barrier guards.
__device__ __forceinline__ void release(uint32_t barrier) {
  if (threadIdx.x % kWarpSize == 0) ptx::mbarrier_arrive(barrier);
}

template <typename P, typename Q, typename S>
struct Geometry {
  using Problem = P;
  using Sequences = Q;
  using Schedule = S;
  using Input = typename Problem::Input;
  static_assert(sizeof(Input) == 2, "attention multiplies 16-bit elements");

  static constexpr int kConsumers = S::kConsumers;
  static constexpr int kTileQueries = kConsumers * kRowsOfWarpgroup;
  static constexpr int kTileKeys = S::kTileKeys;
  static constexpr int kStages = S::kStages;
  static constexpr bool kPingPong = S::kPingPong;
  static constexpr int kExpByFma = S::kExpByFma;
  // Bodies that have exponentials by FMA call functions, which are to run beside the exponentials of the other row: branches would
  // keep the two apart. Wide values leave no registers for what branches keep.
  static constexpr bool kMovesSeldom = kExpByFma == 0 && Problem::kValueDim <= 128;
  // Copies fill what lies behind a tensor's end with zeros, but not what lies behind that of a sequence.
  static constexpr bool kClearsValues = Sequences::kKeys != Keys::kWhole;
  static constexpr int kHeadDim = Problem::kHeadDim;
  static constexpr int kValueDim = Problem::kValueDim;
  static_assert(kTileKeys % kDepth == 0 && kTileKeys <= 256, "tile_keys_fit_wgmma");
  static_assert(kHeadDim % kDepth == 0 && kValueDim % kDepth == 0 && kValueDim <= 256, "dims_fit_wgmma");

  static constexpr int kThreads = (1 + kConsumers) * kWarpgroupSize;
  static constexpr int kProducerRegisters = kConsumers == 1 ? 56 : kConsumers == 2 ? 40 : 32;
  static constexpr int kConsumerRegisters = kConsumers == 1 ? 248 : kConsumers == 2 ? 232 : 160;

  // Of what consumers are told of a tile: its number, or where the device alone knows how long sequences are all of it.
  static constexpr int kSlotBytes = Sequences::kAreWhole ? 4 : 32;

  // Operands lie in panels of one swizzled row each; what a panel has beyond the dimension arrives as zeros.
  static constexpr int kHeadPanels = (kHeadDim + kPanel - 1) / kPanel;
  static constexpr int kValuePanels = (kValueDim + kPanel - 1) / kPanel;
  static constexpr int kQueryPanelBytes = kRowsOfWarpgroup * ptx::kSwizzledRowBytes;
  static constexpr int kKeyPanelBytes = kTileKeys * ptx::kSwizzledRowBytes;
  static constexpr int kQueryBytes = kHeadPanels * kQueryPanelBytes;  // of one consumer
  static constexpr int kKeyBytes = kHeadPanels * kKeyPanelBytes;      // of one stage
  static constexpr int kValueBytes = kValuePanels * kKeyPanelBytes;

  // Whether what is added to scores is one more step of depth of their product: see sm90_attention_steps.cuh.
  static constexpr bool kSteps = S::kSteps;
  static_assert(!kSteps || (kMovesSeldom && DtypeOf<Input>::value == Dtype::kBf16), "shifts are told, and parts are of 8 bits");
  static constexpr int kStepRows = kTileKeys > kRowsOfWarpgroup ? kTileKeys : kRowsOfWarpgroup;
};

// A ring of stages, each with a barrier that says it is full and one that says it is free again.
struct Barriers {
  uint32_t first;
  int stages;

  __device__ __forceinline__ uint32_t full(int stage) const { return first + stage * 8; }
  __device__ __forceinline__ uint32_t empty(int stage) const { return first + (stages + stage) * 8; }
};

// Queries of each consumer, then a ring of keys and one of values, then barriers and what is told of the next tiles.
template <typename G>
struct Shared {
  static constexpr int kKeysAt = G::kConsumers * G::kQueryBytes;
  static constexpr int kValuesAt = kKeysAt + G::kStages * G::kKeyBytes;
  static constexpr int kStepsAt = kValuesAt + G::kStages * G::kValueBytes;
  static constexpr int kBarriersAt = kStepsAt + (G::kSteps ? G::kStepRows * ptx::kSwizzledRowBytes : 0);
  static constexpr int kBarrierBytes = (G::kConsumers + 2 * G::kStages + kSlots) * 2 * 8;
  static constexpr int kSlotsAt = kBarriersAt + kBarrierBytes;
  static constexpr int kBytes = kSlotsAt + kSlots * G::kSlotBytes + ptx::kSwizzledAtomBytes;  // with what aligns the base

  uint32_t base;

  __device__ __forceinline__ explicit Shared(const void* memory)
      : base(ptx::align_to_atom(ptx::shared_address(memory))) {}

  __device__ __forceinline__ uint32_t queries(int consumer) const { return base + consumer * G::kQueryBytes; }
  __device__ __forceinline__ uint32_t keys(int stage) const { return base + kKeysAt + stage * G::kKeyBytes; }
  __device__ __forceinline__ uint32_t values(int stage) const { return base + kValuesAt + stage * G::kValueBytes; }

  __device__ __forceinline__ uint32_t steps() const { return base + kStepsAt; }

  __device__ __forceinline__ Barriers query_barriers() const { return {base + kBarriersAt, G::kConsumers}; }
  __device__ __forceinline__ Barriers key_barriers() const {
    return {query_barriers().empty(G::kConsumers), G::kStages};
  }
  __device__ __forceinline__ Barriers value_barriers() const { return {key_barriers().empty(G::kStages), G::kStages}; }

  __device__ __forceinline__ Barriers slot_barriers() const { return {value_barriers().empty(G::kStages), kSlots}; }
  __device__ __forceinline__ uint32_t slot(int number) const { return base + kSlotsAt + number * G::kSlotBytes; }

  __device__ __forceinline__ void init_barriers() const {
    init(query_barriers(), kWarpsPerWarpgroup);
    init(key_barriers(), kWarpsPerWarpgroup * G::kConsumers);
    init(value_barriers(), kWarpsPerWarpgroup * G::kConsumers);
    init(slot_barriers(), kWarpsPerWarpgroup * G::kConsumers);
    ptx::fence_mbarrier_init();
  }

 private:
  // Each warp that reads a stage releases it.
  __device__ __forceinline__ static void init(const Barriers& barriers, int readers) {
    for (int stage = 0; stage < barriers.stages; ++stage) {
      ptx::mbarrier_init(barriers.full(stage), 1);
      ptx::mbarrier_init(barriers.empty(stage), readers);
    }
  }
};

// A place in a ring. It runs on from tile to tile; `parity` flips with each lap, as the barriers' phases do.
template <int kStages>
struct Cursor {
  int stage = 0;
  uint32_t parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

}  // namespace autokernel::attention
