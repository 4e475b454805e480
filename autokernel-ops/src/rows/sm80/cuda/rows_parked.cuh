// Rows that registers do not hold: a thread has kVectors of its vectors there and kParked in shared memory, each of which only it
// accesses, so that no barrier is needed. What neither holds is read again in each pass, as rows that begin anywhere are.
//
// Shared memory has what was read, or with kParksKept what the first pass kept of it, where that is less.
#pragma once

#include "rows_sm80.cuh"

namespace autokernel::rows {

template <typename Problem, typename Schedule, typename Args>
struct ParkedRows : Rows<Problem, Schedule, Args> {
  using Base = Rows<Problem, Schedule, Args>;
  using Team = typename Base::Team;
  using Values = typename Base::Values;
  using Reduced = typename Base::Reduced;
  using Row = typename Base::template Row<Cut::kWhole>;
  using Inputs = typename Base::template Inputs<Base::kVector>;
  using Kept = typename Base::template Kept<Base::kVector>;
  static constexpr int kParked = Schedule::kParked;
  // Vectors that are on their way from shared memory together.
  static constexpr int kGroup = Schedule::kGroup;
  static constexpr bool kParksKept = Schedule::kParksKept;
  static_assert(Base::kRowsPerBlock == 1 && Base::kBlocksPerRow == 1, "schedule rule `parked`: a block takes a row");
  static_assert(kParked % kGroup == 0, "whole groups");

  using Slots = rows::Prefetch<Base::kThreads, kParked, Inputs>;
  static constexpr int kSlotBytes = kParksKept ? int(sizeof(Kept)) : int(sizeof(Inputs));
  static constexpr int kSharedBytes = Base::kThreads * kParked * kSlotBytes;

  struct Group {
    Inputs inputs[kGroup];
    Kept kept[kGroup];
  };

  // The vector with which a parked one begins, of all threads.
  __device__ __forceinline__ static int start_of(int parked) {
    return (Base::kVectors + parked) * Base::kThreadsPerRow;
  }

  // Requests all that is parked as it is read.
  __device__ __forceinline__ static void request(const Row& row) {
#pragma unroll
    for (int parked = 0; parked < kParked; ++parked) {
      Inputs inputs;  // only where its fields lie
      Problem::template visit<kEveryPass>(row.places, inputs, [&](auto& packed, auto place) {
        Slots::request(parked, inputs, packed, place, row.span(start_of(parked), 0));
      });
    }
    Slots::commit();
  }

  // Where this thread's numbers of what it kept of a vector are, beside those of its neighbours.
  __device__ __forceinline__ static uint32_t slot(int parked, int number) {
    extern __shared__ __align__(kMostAccessBytes) char slots[];
    const int before = (parked * kSlotBytes + number * 4) * Base::kThreads;
    return ptx::shared_address(slots) + before + threadIdx.x * kMostAccessBytes;
  }

  __device__ __forceinline__ static void park(int parked, const Kept& kept) {
    const auto* numbers = reinterpret_cast<const float*>(&kept);
#pragma unroll
    for (int number = 0; number < kSlotBytes / 4; number += 4) {
      asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(slot(parked, number)), "f"(numbers[number]),
                   "f"(numbers[number + 1]), "f"(numbers[number + 2]), "f"(numbers[number + 3])
                   : "memory");
    }
  }

  __device__ __forceinline__ static void collect(int parked, Kept& kept) {
    auto* numbers = reinterpret_cast<float*>(&kept);
#pragma unroll
    for (int number = 0; number < kSlotBytes / 4; number += 4) {
      asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(numbers[number]), "=f"(numbers[number + 1]), "=f"(numbers[number + 2]),
                     "=f"(numbers[number + 3])
                   : "r"(slot(parked, number))
                   : "memory");
    }
  }

  template <int kPass>
  __device__ __forceinline__ static void load(const Row& row, int start, Group& group) {
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      Problem::template visit<kPass>(row.places, group.inputs[i], [&](auto& packed, auto place) {
        rows::load<true>(packed, place, row.span(start, i));
      });
    }
  }

  template <int kPass>
  __device__ __forceinline__ static void collect(const Row& row, int first, Group& group) {
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      if constexpr (kParksKept) {
        collect(first + i, group.kept[i]);
      } else {
        auto& inputs = group.inputs[i];
        Problem::template visit<kPass>(row.places, inputs,
                                       [&](auto& packed, auto) { Slots::collect(first + i, inputs, packed); });
      }
    }
  }

  template <int kPass, bool kHeld>
  __device__ __forceinline__ static void elements(const Row& row, int start, Group& group, const Values& values,
                                                  Reduced& reduced) {
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      Problem::template elements<kPass, kHeld, true>(row.places, row.span(start, i), group.inputs[i], group.kept[i],
                                                     values, reduced);
    }
  }

  // Pass kPass of what is parked.
  template <int kPass>
  __device__ __forceinline__ static void parked(const Row& row, const Values& values, Reduced& reduced) {
    constexpr bool kParks = kParksKept && kPass == 0;
    if constexpr (kPass == 0 && !kParksKept) Slots::wait();
#pragma unroll 1
    for (int first = 0; first < kParked; first += kGroup) {
      Group group;
      if constexpr (kParks) {
        load<kPass>(row, start_of(first), group);
      } else {
        collect<kPass>(row, first, group);
      }
      elements<kPass, kParksKept>(row, start_of(first), group, values, reduced);
      if constexpr (kParks) {
#pragma unroll
        for (int i = 0; i < kGroup; ++i) park(first + i, group.kept[i]);
      }
    }
  }

  // Pass kPass of what is held nowhere.
  template <int kPass>
  __device__ __forceinline__ static void rest(const Row& row, const Values& values, Reduced& reduced) {
#pragma unroll 1
    for (int start = start_of(kParked); start < row.vectors; start += Base::kThreadsPerRow) {
      Inputs inputs;
      Kept kept;
      Problem::template visit<kPass>(row.places, inputs, [&](auto& packed, auto place) {
        rows::load<true>(packed, place, row.span(start, 0));
      });
      Problem::template elements<kPass, false, true>(row.places, row.span(start, 0), inputs, kept, values, reduced);
    }
  }

  // Pass kPass and all behind it.
  template <int kPass, typename Held>
  __device__ __forceinline__ static void passes(const Args& args, const Row& row, Team& team, Held& held,
                                                Values& values) {
    Problem::template between<kPass>(args, row.index, Team::member() == 0, values);
    if constexpr (kPass < Problem::kPasses) {
      Reduced reduced;
      Base::template elements<kPass, true>(row, 0, held, values, reduced);
      parked<kPass>(row, values, reduced);
      rest<kPass>(row, values, reduced);
      Problem::template reduce<kPass>(args, team, reduced, values);
      passes<kPass + 1>(args, row, team, held, values);
    }
  }

  __device__ __forceinline__ static void run(const Args& args) {
    static_assert(Problem::kJoined < 0, "schedule rule `parked`: a pass each");
    __shared__ typename Team::Scratch scratch;
    Team team{scratch};
    if constexpr (Schedule::kCluster > 0) ptx::wait_for_previous_grids();
    if (args.columns % Base::kVector != 0 || !Problem::is_aligned(args)) {
      return Base::template rows<false, Cut::kRagged>(args, team);
    }
    const Row row(args, blockIdx.x, true);
    typename Base::template Held<Cut::kWhole, true> held;
    Values values;
    if constexpr (!kParksKept) request(row);
    Base::template load<kEveryPass, true>(row, 0, held);
    passes<0>(args, row, team, held, values);
  }
};

}  // namespace autokernel::rows
