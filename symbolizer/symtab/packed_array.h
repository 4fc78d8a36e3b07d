// Tables of small numbers, each column in as many bits as its largest number needs. The numbers of one row lie side by side: who
// reads one of them mostly wants the others too, and pays for one cache line.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/byte_reader.h"

namespace plimsoll::symbolizer {

// More bits than a number and its offset within a byte take in eight bytes are never needed.
inline constexpr unsigned kMaxPackedBits = 57;
// Behind the last number, so that eight bytes can be read at each.
inline constexpr size_t kPackedPadding = 8;

inline uint64_t packed_bytes(uint64_t rows, unsigned row_bits) {
  return (rows * row_bits + 7) / 8 + kPackedPadding;
}

// Where a column lies within its table's rows.
struct PackedLayout {
  unsigned row_bits = 0;
  unsigned first_bit = 0;
  unsigned bits = 0;
};

// One column. Borrows the table's bytes, of which there are packed_bytes(): the creator has checked that, and the layout.
class PackedArray {
 public:
  PackedArray() = default;
  PackedArray(const std::byte* bytes, uint64_t rows, PackedLayout layout)
      : bytes_(bytes), rows_(rows), layout_(layout), mask_((uint64_t{1} << layout.bits) - 1) {}

  uint64_t size() const { return rows_; }

  // `row` below size().
  uint64_t operator[](uint64_t row) const {
    const uint64_t bit = row * layout_.row_bits + layout_.first_bit;
    uint64_t word = 0;
    std::memcpy(&word, bytes_ + bit / 8, sizeof word);
    return word >> (bit % 8) & mask_;
  }

 private:
  const std::byte* bytes_ = nullptr;
  uint64_t rows_ = 0;
  PackedLayout layout_;
  uint64_t mask_ = 0;
};

// The layouts of the columns of a table, which are equally long, of numbers under 2^kMaxPackedBits.
std::vector<PackedLayout> packed_layouts(std::span<const std::vector<uint64_t>> columns);

// The table, padding included.
std::string pack(std::span<const std::vector<uint64_t>> columns, std::span<const PackedLayout> layouts);

}  // namespace plimsoll::symbolizer
