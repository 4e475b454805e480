// The walk over a batch: product after product, each in its raster, so that what neighbours share of one stays in L2.
//
// Tensor maps of operands of which each product has its own have a third dimension, along which the products lie. One
// whose stride there is 0 is a broadcast: all products read its only matrix.
#pragma once

#include "ptx/sm90_tma_3d.cuh"
#include "sm90_matmul.cuh"

namespace autokernel::sm90 {

// A matrix of a tensor map of three dimensions.
struct NumberedMatrix {
  int number;

  __device__ __forceinline__ void load(const TensorMap& map, uint32_t destination, uint32_t barrier, int inner,
                                       int outer) const {
    ptx::tma_load_3d(map, destination, barrier, inner, outer, number);
  }
  __device__ __forceinline__ void load_multicast(const TensorMap& map, uint32_t destination, uint32_t barrier,
                                                 int inner, int outer, uint16_t cta_mask) const {
    ptx::tma_load_3d_multicast(map, destination, barrier, inner, outer, number, cta_mask);
  }
  __device__ __forceinline__ void store(const TensorMap& map, uint32_t source, int inner, int outer) const {
    ptx::tma_store_3d(map, source, inner, outer, number);
  }
};

// The matrix of product `number` where each has its own, else the one that all share.
template <bool kEach>
__device__ __forceinline__ auto matrix_of(int number) {
  if constexpr (kEach) {
    return NumberedMatrix{number};
  } else {
    return OnlyMatrix{};
  }
}

template <typename G, typename Batch>
struct BatchWalk : TileWalk<G> {
  using Base = TileWalk<G>;

  // Where a tile begins in its product, and which that is.
  struct Place : TileCoord {
    int product;
    bool a_differs, b_differs, b2_differs;  // from product to product

    __device__ __forceinline__ auto a() const { return matrix_of<Batch::kA>(a_differs ? product : 0); }
    __device__ __forceinline__ auto b() const { return matrix_of<Batch::kB>(b_differs ? product : 0); }
    __device__ __forceinline__ auto b2() const { return matrix_of<Batch::kB2>(b2_differs ? product : 0); }
    __device__ __forceinline__ NumberedMatrix c() const { return {product}; }
  };
  using MatrixOfC = NumberedMatrix;

  int products;
  bool a_differs = false, b_differs = false, b2_differs = false;

  template <typename Args>
  __device__ BatchWalk(const Args& args, int n, int k) : Base(args, n, k), products(args.batch) {
    if constexpr (Batch::kA) a_differs = args.a_batch != 0;
    if constexpr (Batch::kB) b_differs = args.b_batch != 0;
    if constexpr (Batch::kB2) b2_differs = args.b2_batch != 0;
  }

  __device__ int stride() const { return Base::is_split() ? count() : Base::stride(); }
  __device__ int count() const { return Base::count() * products; }

  __device__ Place origin(int linear) const {
    const int product = linear / Base::count();
    const TileCoord tile = Base::origin(linear - product * Base::count());
    return {tile, product, a_differs, b_differs, b2_differs};
  }

  // What the product of a tile has of a launch's arguments and of C.
  template <typename Args, typename Output>
  __device__ __forceinline__ static void enter(const Args& launched, const Place& place, Args& seen,
                                               OutputView<Output>& c) {
    seen = Batch::of(launched, place.product);
    c.data = static_cast<Output*>(seen.c);
  }

  // Each product's, one after the other.
  template <typename Args, typename Output, typename Visit>
  __device__ __forceinline__ static void for_each(const Args& args, OutputView<Output> c, const Visit& visit) {
#pragma unroll 1
    for (int product = 0; product < args.batch; ++product) {
      const Args seen = Batch::of(args, product);
      c.data = static_cast<Output*>(seen.c);
      visit(seen, c, 0);
    }
  }
};

template <typename G, typename Batch>
struct TilesOf<G, Batch, batch::Many::kBatch> {
  using Type = BatchWalk<G, Batch>;
};

}  // namespace autokernel::sm90
