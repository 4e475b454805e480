// Where keys lie that one copy brings: those of pages wherever a table says.
#pragma once

#include "attention_sequences.cuh"

namespace autokernel::attention {

// A row, of which sequence or page.
struct Box {
  int row;
  int matrix;
};

// The same before the page is known: where the table has it, or that there is none.
struct Place {
  static constexpr int kNoPage = -1;

  int row;
  int matrix;
  const int32_t* page;

  // Of a key of a sequence. What lies behind the last has no page, and arrives as zeros.
  template <typename Sequences, typename Args>
  __device__ __forceinline__ static Place of(const Args& args, const Sequence& sequence, int key) {
    if constexpr (Sequences::kKeys == Keys::kPaged) {
      const int32_t* const pages = static_cast<const int32_t*>(args.table) + sequence.number * args.table_row;
      return {key % Sequences::kPage, kNoPage, key < sequence.keys ? pages + key / Sequences::kPage : nullptr};
    } else {
      return {sequence.first_key + key, sequence.number, nullptr};
    }
  }

  template <typename Reading>
  __device__ __forceinline__ Box box(Reading reading) const {
    return {row, page == nullptr ? matrix : reading.load(page)};
  }
};

}  // namespace autokernel::attention
