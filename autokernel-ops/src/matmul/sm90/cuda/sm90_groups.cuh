// The walk over groups of rows: group after group, each in its raster, so that the second factor of one stays in L2. Whether groups
// follow one another in one matrix, or each has a slot in a matrix of its own, Batch::Sizes knows.
//
// A tile begins where its group does, at any row, and may load rows behind its last one; it stores those of its own alone, by TMA
// where a box has no others.
#pragma once

#include "groups.cuh"
#include "sm90_batch.cuh"

namespace autokernel::sm90 {

template <typename G, typename Batch>
struct GroupWalk : TileWalk<G> {
  using Base = TileWalk<G>;

  // Where a tile begins, of which group it is, and where that ends.
  struct Place : TileCoord {
    int group;
    int end;
    bool a_differs, b_differs, b2_differs;  // from group to group

    __device__ __forceinline__ auto a() const { return matrix_of<Batch::kA>(a_differs ? group : 0); }
    __device__ __forceinline__ auto b() const { return matrix_of<Batch::kB>(b_differs ? group : 0); }
    __device__ __forceinline__ auto b2() const { return matrix_of<Batch::kB2>(b2_differs ? group : 0); }
    __device__ __forceinline__ auto c() const { return matrix_of<Batch::kC>(group); }
  };
  using MatrixOfC = decltype(matrix_of<Batch::kC>(0));
  using Sizes = typename Batch::Sizes;

  static constexpr int kRows = G::kTileM * G::kClusterM;  // of a cluster
  int tiles;
  mutable groups::Cursor<Sizes> cursor;  // where this thread's walk is
  bool a_differs = false, b_differs = false, b2_differs = false;

  template <typename Args>
  __device__ GroupWalk(const Args& args, int n, int k)
      : Base(args, n, k),
        tiles(Sizes::template of<Batch>(args).count_tiles(kRows) * this->clusters_n),
        cursor(Sizes::template of<Batch>(args), kRows, this->clusters_n) {
    if constexpr (Batch::kA) a_differs = args.a_batch != 0;
    if constexpr (Batch::kB) b_differs = args.b_batch != 0;
    if constexpr (Batch::kB2) b2_differs = args.b2_batch != 0;
  }

  __device__ int count() const { return tiles; }

  __device__ Place origin(int linear) const {
    const int within = cursor.seek(linear);
    const TileCoord cluster = tile_coord(within, cursor.tiles_m(), this->clusters_n, this->raster);
    const int row = cursor.rows.begin + (cluster.m * G::kClusterM + this->m_in_cluster) * G::kTileM;
    const int column = (cluster.n * G::kClusterN + this->n_in_cluster) * G::kColumns;
    return {{row, column}, cursor.group, cursor.rows.end, a_differs, b_differs, b2_differs};
  }

  template <typename Args>
  __device__ __forceinline__ static int end_of_rows(const Args&, const Place& place) {
    return place.end;
  }

  // What a tile's group has of a launch's arguments and of C.
  template <typename Args, typename Output>
  __device__ __forceinline__ static void enter(const Args& launched, const Place& place, Args& seen,
                                               OutputView<Output>& c) {
    seen = Batch::of(launched, place.group);
    if constexpr (Batch::kC) c.data = static_cast<Output*>(seen.c);
    c.rows = place.end;
  }

  // Whether the box from `row` on has no rows but the group's, or none but what TMA clips.
  template <typename Args, typename Output>
  __device__ __forceinline__ static bool is_whole(const Args& args, const OutputView<Output>& c, int row) {
    return row + G::kStoreRows <= c.rows || c.rows == args.m;
  }

  // Each group's, one after the other.
  template <typename Args, typename Output, typename Visit>
  __device__ __forceinline__ static void for_each(const Args& args, OutputView<Output> c, const Visit& visit) {
    const auto sizes = Sizes::template of<Batch>(args);
    groups::Rows rows = sizes.begin();
#pragma unroll 1
    for (int group = 0; group < sizes.groups; ++group) {
      const Args seen = Batch::of(args, group);
      if constexpr (Batch::kC) c.data = static_cast<Output*>(seen.c);
      c.rows = rows.end;
      visit(seen, c, rows.begin);
      if (group + 1 < sizes.groups) rows = sizes.next(rows, group + 1);
    }
  }
};

template <typename G, typename Batch>
struct TilesOf<G, Batch, batch::Many::kGroups> {
  using Type = GroupWalk<G, Batch>;
};

}  // namespace autokernel::sm90
