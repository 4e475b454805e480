// How wgmma is told where an operand lies in shared memory: rows of 128 bytes, swizzled as the copy engine delivers them.
#pragma once

#include <stdint.h>

namespace autokernel::ptx {

constexpr int kSwizzledRowBytes = 128;
constexpr int kSwizzleRows = 8;  // after so many rows the swizzle repeats
constexpr int kSwizzledAtomBytes = kSwizzledRowBytes * kSwizzleRows;

// The next multiple of an atom: the swizzle is a function of address bits, so what it covers starts on whole ones.
__device__ __forceinline__ uint32_t align_to_atom(uint32_t address) {
  return (address + kSwizzledAtomBytes - 1) & ~static_cast<uint32_t>(kSwizzledAtomBytes - 1);
}

// wgmma matrix descriptor, 128-byte swizzle: bits 0-13 start address, 16-29 leading and 32-45 stride byte offset, all in
// units of 16 bytes, 62-63 the swizzle mode (PTX ISA, "Matrix descriptor"). `kPanelBytes` is the leading offset: from a
// panel of 64 elements along M or N to the next, where an operand is MN-major. A K-major one has no use for it.
template <int kPanelBytes>
struct MatrixDescriptor {
  static_assert(kPanelBytes % kSwizzledAtomBytes == 0, "panels start on whole atoms");
  static constexpr uint64_t kLayout = uint64_t{1} << 62 | uint64_t{kSwizzledAtomBytes >> 4} << 32 |
                                      uint64_t{(kPanelBytes >> 4) & 0x3fff} << 16;
  uint32_t low;

  // In a cluster the bits above 18 of a shared-window address hold the CTA's rank; a descriptor has no place for it.
  __device__ __forceinline__ explicit MatrixDescriptor(uint32_t address)
      : low(static_cast<uint32_t>(kLayout) | (address & 0x3ffff) >> 4) {}

  // Moved by that many bytes. Shared memory ends below 2^18 bytes, so nothing carries out of the address.
  __device__ __forceinline__ uint64_t at(uint32_t bytes) const {
    return (kLayout & ~uint64_t{0xffffffff}) | (low + (bytes >> 4));
  }
};

}  // namespace autokernel::ptx
