// Copies one operand's tile from global to shared memory.
//
// A row of the matrix may begin at any element, which bounds the width of an access: cp.async moves 16 bytes where
// the leading dimension keeps rows 16-byte aligned, 4 bytes where it keeps them so, and else what makes a word
// goes through registers, element by element. Neighbouring threads always touch neighbouring units of a row (coalesced).
// Nothing beyond `rows` and `columns` is read; what the tile holds there is zero.
#pragma once

#include "ptx/sm80.cuh"
#include "sm80_schedule.cuh"
#include "sm80_shared_tile.cuh"
#include "types.cuh"

namespace autokernel::sm80 {

enum class Access { kVector, kWord, kElement };  // 16 bytes, 4 bytes, one element at a time
constexpr int kWordBytes = 4;

// The widest access for which rows of this pitch begin aligned and `end`, the first element that must not be read,
// falls between units: a unit is then inside the matrix or outside, never both. (The lowest set bit of x | y is
// that of the less aligned.) The base is 16-byte aligned.
template <int kElementBytes>
__device__ __forceinline__ Access widest_access(int64_t ld, int64_t end) {
  const int64_t alignment = ld | end;
  if (alignment % (kChunkBytes / kElementBytes) == 0) return Access::kVector;
  return alignment % (kWordBytes / kElementBytes) == 0 ? Access::kWord : Access::kElement;
}

// A matrix seen from the first element of a tile.
struct GlobalTile {
  const uint8_t* origin;
  int64_t row_pitch;  // bytes from one row to the next
  int rows;           // that may be read, counted from the origin: may exceed the tile, or be <= 0
  int columns;           // likewise, in elements
};

// Which limits the tile can reach. A bound that is known to hold for all of the tile costs no instruction.
enum class Check { kRows, kColumns, kBoth };

// How the threads of a block share a tile of kRows x kColumns elements: thread t copies unit t % kUnitsPerRow of the
// rows t / kUnitsPerRow, + kRowStep, + 2 * kRowStep, ...
template <int kElementBytes, int kRows, int kColumns, int kThreads, Access kAccess>
struct CopyMap {
  static constexpr int kUnitBytes = kAccess == Access::kVector ? kChunkBytes : kWordBytes;
  static constexpr int kUnitElements = kUnitBytes / kElementBytes;
  static constexpr int kUnitsPerRow = kColumns / kUnitElements;
  static_assert(kUnitsPerRow <= kThreads, "the threads copy at least one row at a time");
  static constexpr int kRowStep = kThreads / kUnitsPerRow;
  static constexpr int kPasses = ceil_div(kRows, kRowStep);
  static constexpr bool kEveryThreadCopies = kRowStep <= kRows;

  int row;  // of this thread's first unit
  int column;  // in elements
  __device__ __forceinline__ explicit CopyMap(uint32_t thread)
      : row(thread / kUnitsPerRow), column(thread % kUnitsPerRow * kUnitElements) {}
};

// The elements of a word through registers; those from `count` on (any number) are not read and zero.
template <int kElementBytes>
__device__ __forceinline__ uint32_t load_word(const uint8_t* global, int count) {
  static_assert(2 * kElementBytes <= kWordBytes, "load_word: a word of one element is copied as it is");
  using Element = typename UnsignedOf<kElementBytes>::Type;
  const Element* elements = reinterpret_cast<const Element*>(global);
  const uint32_t first = count > 0 ? __ldg(elements) : 0;
  const uint32_t second = count > 1 ? __ldg(elements + 1) : 0;
  const uint32_t two = second << 8 * kElementBytes | first;
  if constexpr (2 * kElementBytes == kWordBytes) {
    return two;
  } else {
    const uint32_t third = count > 2 ? __ldg(elements + 2) : 0;
    const uint32_t fourth = count > 3 ? __ldg(elements + 3) : 0;
    return fourth << 24 | third << 16 | two;
  }
}

// Starts the copy of a tile to `shared`. kVector and kWord complete with the thread's next cp.async group;
// kElement is complete, for this thread, when the function returns.
template <int kElementBytes, typename Layout, int kThreads, Access kAccess, Check kCheck>
__device__ __forceinline__ void copy_tile(uint32_t shared, const GlobalTile& tile, uint32_t thread) {
  constexpr int kRows = Layout::kBytes / Layout::kRowPitch;
  using Map = CopyMap<kElementBytes, kRows, Layout::kRowPitch / kElementBytes, kThreads, kAccess>;

  const Map map(thread);
  if (!Map::kEveryThreadCopies && map.row >= kRows) return;

  const uint8_t* source = tile.origin + map.row * tile.row_pitch + map.column * kElementBytes;
  const int64_t pass_pitch = Map::kRowStep * tile.row_pitch;
  const int column_bytes = map.column * kElementBytes;
  const uint32_t target = shared + Layout::offset(map.row, column_bytes / kChunkBytes) + column_bytes % kChunkBytes;
  const int rows_left = tile.rows - map.row;
  const int columns_left = kCheck == Check::kRows ? Map::kUnitElements : tile.columns - map.column;

  // `shared` is aligned to a line, so the swizzle of the pass's rows can be applied to the address itself.
  const auto pass_target = [&](int pass) {
    return (target ^ (Layout::swizzle(pass * Map::kRowStep) * kChunkBytes)) + pass * Map::kRowStep * Layout::kRowPitch;
  };
  const auto row_is_valid = [&](int pass) { return kCheck == Check::kColumns || pass * Map::kRowStep < rows_left; };

  if constexpr (kAccess == Access::kElement) {
    constexpr int kBatch = Map::kPasses < 8 ? Map::kPasses : 8;  // loads in flight before the first is stored
#pragma unroll 1
    for (int first = 0; first < Map::kPasses; first += kBatch) {
      uint32_t words[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        words[i] = load_word<kElementBytes>(source + (first + i) * pass_pitch, row_is_valid(first + i) ? columns_left : 0);
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) ptx::store_shared(pass_target(first + i), words[i]);
    }
  } else {
#pragma unroll
    for (int pass = 0; pass < Map::kPasses; ++pass) {
      ptx::cp_async_if<Map::kUnitBytes>(pass_target(pass), source + pass * pass_pitch,
                                        row_is_valid(pass) && columns_left > 0);
    }
  }
}

// The same with the access chosen at run time; the branch is uniform across the block. Tile: a GlobalTile, or what has a copy_tile of its
// own.
template <int kElementBytes, typename Layout, int kThreads, Check kCheck, typename Tile>
__device__ __forceinline__ void copy_tile(uint32_t shared, const Tile& tile, uint32_t thread, Access access) {
  // `thread` never changes, but the addresses of all three branches, kept across the main loop, would spill.
  ptx::hide_from_compiler(thread);
  switch (access) {
    case Access::kVector:
      return copy_tile<kElementBytes, Layout, kThreads, Access::kVector, kCheck>(shared, tile, thread);
    case Access::kWord:
      return copy_tile<kElementBytes, Layout, kThreads, Access::kWord, kCheck>(shared, tile, thread);
    case Access::kElement:
      if constexpr (kElementBytes < kWordBytes) {
        return copy_tile<kElementBytes, Layout, kThreads, Access::kElement, kCheck>(shared, tile, thread);
      }
  }
}

}  // namespace autokernel::sm80
