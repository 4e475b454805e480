// The number of the product that a tile is of, of a batch or of groups.
#pragma once

namespace autokernel::sm90 {

template <typename Place>
__device__ __forceinline__ auto product_of(const Place& place) -> decltype(place.product) {
  return place.product;
}
template <typename Place>
__device__ __forceinline__ auto product_of(const Place& place) -> decltype(place.group) {
  return place.group;
}

}  // namespace autokernel::sm90
