// Row-wise kernels on Hopper: blocks that stay, to whose shared memory bulk copies bring row after row.
//
// A block has kRowsPerBlock teams of threads, each with rows of its own and a ring of kStages places for them. Teams do not
// wait for each other: while the threads of one reduce, another's compute. A row goes from its place to registers, and as soon
// as all threads of the team have theirs, one of them has the row copied there that comes kStages turns later. So the whole
// ring is on its way while a row is reduced and written, and no thread waits but for a row that is late. Results go to memory
// straight from registers: nobody waits for those either.
//
// The rows of a team are a share of all, or with kDraws what it draws from a counter (rows_drawn.cuh).
//
// Of kCluster blocks that share a row each brings its own part; what they reduce they tell each other as in rows_sm80, by
// stores that a barrier of the receiver counts. `Row`s lie in shared memory for the whole launch where `Problem` says so.
//
// Blocks that stay find no room beside those of the launch before. So a team lets the next launch begin when its last row is on its way,
// and the blocks of that one, as they come in the place of those that end, have their first rows brought to L2 before they wait. That is
// safe whatever runs before and behind: a block that waits goes on only when all of the launch before has ended and its writes are
// visible, so nobody overwrites what this launch reads, reads what it has yet to write, or draws from its counter; and a prefetch reads
// for nobody.
//
// Rows that are not aligned or do not fit the threads are taken as by rows_sm80, without the ring.
#pragma once

#include "rows_drawn.cuh"
#include "rows_part.cuh"
#include "rows_sm80.cuh"

namespace autokernel::rows {

template <typename Problem, typename Schedule, typename Args>
struct RingRows : Rows<Problem, Schedule, Args, Teams::kApart> {
  using Base = Rows<Problem, Schedule, Args, Teams::kApart>;
  using Team = typename Base::Team;
  using Part = rows::Part<Schedule>;
  template <Cut kCut>
  using Row = typename Base::template Row<kCut>;
  template <Cut kCut>
  using Held = typename Base::template Held<kCut, true>;
  using Inputs = typename Problem::template Inputs<Schedule::kVector>;

  static constexpr int kStages = Schedule::kStages;
  static constexpr int kTeams = Schedule::kRowsPerBlock;
  static constexpr int kThreads = Schedule::kThreadsPerRow;  // of a team
  static constexpr int kPlaceBytes = Part::kVectors * int(sizeof(Inputs));
  static constexpr int kKeptBytes = Part::kColumns * Problem::kKeptBytes;
  static constexpr int kBlockThreads = kThreads * kTeams;
  static constexpr int kSharedBytes = kKeptBytes + kTeams * kStages * kPlaceBytes;
  // Of a cluster, whose blocks wait for each other, rows are fetched meanwhile, unless the next one is waited for.
  static constexpr bool kDefers = Schedule::kCluster > 1 && kStages > 1;
  // Barriers 1 to kTeams are the reductions'.
  static constexpr int kReadBarrier = 1 + kTeams;
  static_assert(2 * kTeams < 16, "schedule rule `threads`: two barriers a team");

  // Whether rows that begin anywhere come by the ring: of one team, whose rows are known.
  static constexpr bool kShifts = kTeams == 1 && !Schedule::kDraws && Problem::kMayShift;

  // Whether two launches overlap. Short rows of many blocks an SM, for which rings that may shift `Row`s are, lose by it.
  static constexpr bool kOverlaps = !(kShifts && Problem::kKeptBytes > 0);

  // What tells that rows have come: one for each place of each team, and one for the `Row`s that are kept.
  struct Arrivals {
    uint64_t rows[kTeams][kStages];
    uint64_t kept;
  };

  using Draws = rows::Draws<Schedule::kCluster, kStages>;

  // The numbers of the rows in each place of each team, where they are drawn, and what its leaders tell each other.
  struct Drawn {
    uint32_t numbers[kTeams][kStages];
    Told told[kTeams];
  };

  // The ring of a team: a place for each row of kStages in turn, and what tells that it has come.
  struct Ring {
    uint32_t places;
    uint32_t arrivals;

    __device__ __forceinline__ uint32_t place(uint32_t turn) const { return places + turn % kStages * kPlaceBytes; }
    __device__ __forceinline__ uint32_t arrival(uint32_t turn) const {
      return arrivals + turn % kStages * sizeof(uint64_t);
    }
    __device__ __forceinline__ static uint32_t parity(uint32_t turn) { return turn / kStages % 2; }
  };

  // Where the vectors of a matrix, a field of `Inputs`, begin in a place of the ring.
  template <typename Vector>
  __device__ __forceinline__ static int offset(const Inputs& inputs, const Vector& packed) {
    return Part::kVectors * int(reinterpret_cast<const char*>(&packed) - reinterpret_cast<const char*>(&inputs));
  }

  // Has a row copied to its place of the ring, by one thread.
  template <Cut kCut>
  __device__ __forceinline__ static void request(const Args& args, int64_t number, const Ring& ring, uint32_t turn) {
    const Row<kCut> row(args, number, true);
    const uint32_t arrival = ring.arrival(turn);
    ptx::mbarrier_arrive_expect_bytes(arrival, row.piece.count * sizeof(Inputs));
    Inputs inputs;  // only where its fields lie
    Problem::template visit<kEveryPass>(row.places, inputs, [&](auto& packed, auto place) {
      Part::copy(ring.place(turn) + offset(inputs, packed), place.row + row.head, row.piece, arrival);
    });
  }

  // Has the rows brought to L2 with which a team fills its ring, by as many threads.
  __device__ __forceinline__ static void prefetch_first_rows(const Args& args) {
    const uint32_t turn = threadIdx.x % kThreads, number = first_of_team() + turn * uint32_t(Base::step());
    if (turn >= kStages || number >= args.rows) return;
    const Row<Cut::kWhole> row(args, number, true);
    Inputs inputs;  // only where its fields lie
    Problem::template visit<kEveryPass>(row.places, inputs,
                                        [&](auto&, auto place) { Part::prefetch(place.row, row.piece); });
  }

  // A row from its place, once it has come; zeros for vectors that it does not have.
  template <Cut kCut>
  __device__ __forceinline__ static void collect(const Row<kCut>& row, const Ring& ring, uint32_t turn,
                                                 Held<kCut>& held) {
    ptx::mbarrier_wait(ring.arrival(turn), Ring::parity(turn));
#pragma unroll
    for (int vector = 0; vector < Schedule::kVectors; ++vector) {
      auto& inputs = held.vectors[vector];
      const int at = vector * kThreads + threadIdx.x % kThreads;
      Problem::template visit<kEveryPass>(row.places, inputs, [&](auto& packed, auto) {
        const uint32_t from = ring.place(turn) + offset(inputs, packed) + at * int(sizeof(packed));
        load_shared(packed, from, row.span(0, vector).is_inside);
      });
    }
  }

  // The warp of a team that has rows copied: of a cluster not the one that brings together what all have reduced.
  __device__ __forceinline__ static bool is_leader() {
    constexpr int kLeader = kDefers ? kThreads / kWarpSize - 1 : 0;
    return threadIdx.x % kThreads / kWarpSize == kLeader;
  }
  __device__ __forceinline__ static bool is_leaders_first() { return is_leader() && threadIdx.x % kWarpSize == 0; }

  // Has the `Row`s copied that the block keeps, by one thread.
  __device__ __forceinline__ static void keep(const Args& args, uint32_t arrival) {
    const Row<Cut::kWhole> row(args, 0, true);
    ptx::mbarrier_arrive_expect_bytes(arrival, row.piece.count * Schedule::kVector * Problem::kKeptBytes);
    Problem::visit_rows(row.places, [&](auto place) {
      Part::copy(place.shared(), place.memory.row, row.piece, arrival);
    });
  }

  __device__ __forceinline__ static void wait_for_kept(Arrivals& arrivals) {
    if constexpr (Problem::kKeptBytes > 0) ptx::mbarrier_wait(ptx::shared_address(&arrivals.kept), 0);
  }

  // Rows are fewer than 2^31, and a step is as many as the blocks of a launch have teams.
  __device__ __forceinline__ static uint32_t first_of_team() { return uint32_t(Base::first_row()) + Team::number(); }

  __device__ __forceinline__ static Ring ring_of_team(Arrivals& arrivals) {
    return {dynamic_shared() + kKeptBytes + Team::number() * kStages * kPlaceBytes,
            ptx::shared_address(arrivals.rows[Team::number()])};
  }

  // A team that does something else in its first reduction, while it waits for other blocks.
  template <typename Errand>
  struct BusyTeam {
    Team& team;
    Errand errand;
    bool is_done = false;

    template <typename... Accumulators>
    __device__ __forceinline__ void reduce(Accumulators&... accumulators) {
      if (is_done) return team.reduce(accumulators...);
      is_done = true;
      team.reduce_meanwhile(errand, accumulators...);
    }
  };

  // Of the number of the row that a leader fetches.
  __device__ __forceinline__ static void overlap_if_last(uint32_t next, uint32_t rows) {
    if (kOverlaps && next >= rows) ptx::let_next_grid_begin();
  }

  // A row that all threads have read; `fetch` has the next one copied, by the leader's lanes.
  template <Cut kCut, typename Fetch>
  __device__ __forceinline__ static void compute(const Args& args, Team& team, const Row<kCut>& row, uint32_t turn,
                                                 Held<kCut>& held, Fetch fetch) {
    typename Base::Values values;
    team.turns = turn * Problem::kReductions;  // known of the turn, so that no register has it meanwhile
    if (!is_leader()) ptx::named_barrier_arrive(kReadBarrier + Team::number(), kThreads);
    const auto errand = [&] {
      if (!is_leader()) return;
      ptx::named_barrier_wait(kReadBarrier + Team::number(), kThreads);
      fetch();
    };
    if constexpr (kDefers) {
      BusyTeam<decltype(errand)> busy{team, errand};
      Base::template passes<0, true>(args, row, busy, held, values);
    } else {
      errand();
      Base::template passes<0, true>(args, row, team, held, values);
    }
  }

  // The single elements of a row, which the ring does not bring.
  template <Cut kCut>
  struct Singles {
    static constexpr int kCount = Held<kCut>::kSingles;
    typename Problem::template Inputs<1> inputs[kCount + 1];

    __device__ __forceinline__ void request(const Row<kCut>& row) {
#pragma unroll
      for (int number = 0; number < kCount; ++number) {
        Problem::template visit<kEveryPass>(row.places, inputs[number], [&](auto& packed, auto place) {
          rows::load<true>(packed, place, row.single(number));
        });
      }
    }

    __device__ __forceinline__ void collect(Held<kCut>& held) const {
#pragma unroll
      for (int number = 0; number < kCount; ++number) held.singles[number] = inputs[number];
    }
  };

  // Equal shares. Of rows that begin anywhere, those of a team must begin alike, and their single elements are a row ahead in
  // registers.
  template <Cut kCut>
  __device__ __forceinline__ static void rows_from_ring(const Args& args, Team& team, Arrivals& arrivals) {
    constexpr int kAlike = kCut == Cut::kShifted ? Schedule::kVector : 1;
    const Ring ring = ring_of_team(arrivals);
    const uint32_t rows = args.rows, first = first_of_team(), step = uint32_t(Base::step()) / kAlike * kAlike;
    if (kAlike > 1 && first >= step) return;  // the teams beyond
    if (is_leaders_first()) {
#pragma unroll 1
      for (uint32_t turn = 0; turn < kStages && first + turn * step < rows; ++turn) {
        request<kCut>(args, first + turn * step, ring, turn);
      }
    }
    Singles<kCut> singles;
    if constexpr (kCut == Cut::kShifted) {
      const Row<kCut> row(args, first);
      keep_rows<Problem, Schedule, true>(row);
      singles.request(row);
    } else {
      wait_for_kept(arrivals);
    }
    Held<kCut> held;
#pragma unroll 1
    for (uint32_t turn = 0; first + turn * step < rows; ++turn) {
      const Row<kCut> row(args, first + turn * step, true);
      collect(row, ring, turn, held);
      singles.collect(held);
      singles.request(Row<kCut>(args, row.index + step));
      const uint32_t next = first + (turn + kStages) * step;
      compute(args, team, row, turn, held, [&] {
        overlap_if_last(next, rows);
        if (is_leaders_first() && next < rows) request<kCut>(args, next, ring, turn);
      });
    }
  }

  // Has the row of that number copied, if there is one, and tells its number with its arrival; by one thread.
  __device__ __forceinline__ static void request_drawn(const Args& args, uint32_t number, const Ring& ring, uint32_t turn,
                                                       uint32_t& slot) {
    slot = number;
    if (number < args.rows) {
      request<Cut::kWhole>(args, number, ring, turn);
    } else {
      ptx::mbarrier_arrive(ring.arrival(turn));
    }
  }

  // What teams draw.
  __device__ __forceinline__ static void rows_drawn(const Args& args, Team& team, Arrivals& arrivals, Drawn& drawn) {
    const Ring ring = ring_of_team(arrivals);
    const uint32_t rows = args.rows, step = uint32_t(Base::step());
    auto& numbers = drawn.numbers[Team::number()];
    Told& told = drawn.told[Team::number()];
    Draws draws;
    if (is_leader()) draws.draw(args.drawn);
    if (is_leaders_first()) {
#pragma unroll 1
      for (uint32_t turn = 0; turn < kStages; ++turn) {
        request_drawn(args, first_of_team() + turn * step, ring, turn, numbers[turn]);
      }
    }
    wait_for_kept(arrivals);
    Held<Cut::kWhole> held;
    uint32_t turn = 0;
#pragma unroll 1
    for (;; ++turn) {
      ptx::mbarrier_wait(ring.arrival(turn), Ring::parity(turn));
      uint32_t& number = numbers[turn % kStages];
      const uint32_t found = number;
      if (found >= rows) break;
      const Row<Cut::kWhole> row(args, found, true);
      collect(row, ring, turn, held);
      compute(args, team, row, turn, held, [&] {
        const uint32_t next = draws.next(args.drawn, told, turn, first_of_team(), step, rows);
        overlap_if_last(next, rows);
        if (is_leaders_first()) request_drawn(args, next, ring, turn, number);
      });
    }
    if (is_leader()) draws.finish(args.drawn, told, turn, step, rows);
  }

  // Rows that the ring cannot bring. Threads that hold many columns have too few registers to hold ragged vectors.
  __device__ __forceinline__ static void rows_without(const Args& args, Team& team, bool is_held) {
    if constexpr (Schedule::kVectors * Schedule::kVector <= 16) {
      if (is_held) return Base::template rows<true, Cut::kRagged>(args, team);
    }
    Base::template rows<false, Cut::kRagged>(args, team);
  }

  __device__ __forceinline__ static void run(const Args& args) {
    __shared__ typename Team::Scratch scratch;
    __shared__ Arrivals arrivals;
    __shared__ Drawn drawn;
    if (threadIdx.x == 0) {
      for (int arrival = 0; arrival < kTeams * kStages; ++arrival) {
        ptx::mbarrier_init(ptx::shared_address(&arrivals.rows[0][0] + arrival), 1);
      }
      ptx::mbarrier_init(ptx::shared_address(&arrivals.kept), 1);
      if constexpr (Schedule::kDraws) {
        for (Told& told : drawn.told) told.init();
      }
      ptx::fence_mbarrier_init();
    }
    __syncthreads();
    Team team{scratch};
    team.meet();
    // The same for all rows, and for all blocks of a cluster.
    const bool is_held = args.columns / Schedule::kVector <= Base::kStretch;
    const bool is_whole = is_held && args.columns % Schedule::kVector == 0 && Problem::is_aligned(args);
    if (kOverlaps && is_whole) prefetch_first_rows(args);
    ptx::wait_for_previous_grids();
    if (is_whole) {
      if (Problem::kKeptBytes > 0 && threadIdx.x == 0) keep(args, ptx::shared_address(&arrivals.kept));
      if constexpr (Schedule::kDraws) {
        rows_drawn(args, team, arrivals, drawn);
      } else {
        rows_from_ring<Cut::kWhole>(args, team, arrivals);
      }
    } else if (kShifts && is_held && Base::step() >= Schedule::kVector && Problem::is_alike(args)) {
      if constexpr (kShifts) rows_from_ring<Cut::kShifted>(args, team, arrivals);
    } else {
      rows_without(args, team, is_held);
    }
    team.part();
  }
};

}  // namespace autokernel::rows
