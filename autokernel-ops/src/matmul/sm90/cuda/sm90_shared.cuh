// Where things lie in shared memory, and how wgmma is told so.
#pragma once

#include "ptx/sm90.cuh"
#include "sm90_schedule.cuh"

namespace autokernel::sm90 {

// Addresses in the shared window. Stage s holds A and then B, each as [kTileM or kTileN][kTileK] when K-major or as
// panels of [64][64], K by 64 rows or columns of C, when MN-major, a second product's B behind the first one's; every 128-byte
// row is swizzled as the copy engine delivers it.
template <typename G>
struct SharedLayout {
  uint32_t base;

  // The 128-byte swizzle is a function of address bits, so stages start on whole atoms.
  __device__ static SharedLayout at(const void* shared) {
    const uint32_t address = ptx::shared_address(shared);
    return {(address + kSwizzleAtomBytes - 1) & ~static_cast<uint32_t>(kSwizzleAtomBytes - 1)};
  }

  __device__ uint32_t a(int stage) const { return base + stage * G::kStageBytes; }
  __device__ uint32_t b(int stage) const { return a(stage) + G::kABytes; }
  __device__ uint32_t second_b(int stage) const { return b(stage) + G::kColumns * kSwizzleBytes; }
  __device__ uint32_t staging(int consumer_warp) const {
    return base + G::kStages * G::kStageBytes + consumer_warp * G::kEpilogueBuffers * G::kStoreBytes;
  }
  __device__ uint32_t full(int stage) const {
    return staging(G::kConsumers * kWarpsPerWarpgroup) + stage * static_cast<uint32_t>(sizeof(uint64_t));
  }
  __device__ uint32_t empty(int stage) const { return full(G::kStages + stage); }
  __device__ uint32_t loaded(int number) const { return empty(G::kStages + number); }
};

// wgmma matrix descriptor, 128-byte swizzle: bits 0-13 start address, 16-29 leading and 32-45 stride byte offset,
// all in units of 16 bytes, 62-63 the swizzle mode (PTX ISA, "Matrix descriptor").
constexpr int kUnitShift = 4;  // bytes to those units
constexpr uint32_t kAddressMask = (1 << 18) - 1;
constexpr uint64_t kDescriptorSwizzle128 = uint64_t{1} << 62;
constexpr uint64_t kDescriptorStride = uint64_t{kSwizzleAtomBytes >> kUnitShift} << 32;  // 8 rows to the next 8

// K-major: a row is one swizzle row, so the leading offset is unused; k advances inside the row.
constexpr uint64_t kDescriptorMajorK = kDescriptorSwizzle128 | kDescriptorStride;
constexpr uint32_t kStepMajorK = kBlockDepthBytes >> kUnitShift;

// MN-major: the leading offset leads to the next panel of 64; k advances by rows.
constexpr int kPanelBytes = kPanel * kSwizzleBytes;
constexpr uint64_t kDescriptorPanel = uint64_t{kPanelBytes >> kUnitShift} << 16;
constexpr uint64_t kDescriptorMajorMN = kDescriptorSwizzle128 | kDescriptorStride | kDescriptorPanel;
constexpr uint32_t kStepMajorMN = kBlockRows * kSwizzleBytes >> kUnitShift;

// Two halves, so that a step is one 32-bit addition to the low one.
struct Descriptor {
  uint32_t low;
  uint32_t high;

  // In a cluster the bits above 18 of a shared-window address hold the CTA's rank; a descriptor has no place for it.
  __device__ __forceinline__ Descriptor(uint64_t layout, uint32_t address)
      : low(static_cast<uint32_t>(layout) | (address & kAddressMask) >> kUnitShift), high(layout >> 32) {}

  // Moved by `units` of 16 bytes. Shared memory ends below 2^18 bytes, so nothing carries out of the address.
  __device__ __forceinline__ uint64_t at(uint32_t units) const { return uint64_t{high} << 32 | (low + units); }
};

}  // namespace autokernel::sm90
