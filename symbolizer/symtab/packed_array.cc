#include "symbolizer/symtab/packed_array.h"

#include <algorithm>
#include <bit>

namespace plimsoll::symbolizer {
namespace {

unsigned bits_for(const std::vector<uint64_t>& numbers) {
  return numbers.empty() ? 0 : static_cast<unsigned>(std::bit_width(*std::ranges::max_element(numbers)));
}

}  // namespace

std::vector<PackedLayout> packed_layouts(std::span<const std::vector<uint64_t>> columns) {
  std::vector<PackedLayout> layouts;
  unsigned row_bits = 0;
  for (const std::vector<uint64_t>& column : columns) {
    layouts.push_back({.first_bit = row_bits, .bits = bits_for(column)});
    row_bits += layouts.back().bits;
  }
  for (PackedLayout& layout : layouts) {
    layout.row_bits = row_bits;
  }
  return layouts;
}

std::string pack(std::span<const std::vector<uint64_t>> columns, std::span<const PackedLayout> layouts) {
  const size_t rows = columns.front().size();
  std::string bytes(packed_bytes(rows, layouts.front().row_bits), '\0');
  for (size_t i = 0; i < columns.size(); ++i) {
    for (size_t row = 0; row < rows; ++row) {
      const uint64_t bit = row * layouts[i].row_bits + layouts[i].first_bit;
      uint64_t word = 0;
      std::memcpy(&word, bytes.data() + bit / 8, sizeof word);
      word |= columns[i][row] << (bit % 8);
      std::memcpy(bytes.data() + bit / 8, &word, sizeof word);
    }
  }
  return bytes;
}

}  // namespace plimsoll::symbolizer
