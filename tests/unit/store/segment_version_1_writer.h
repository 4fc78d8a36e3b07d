// Segment files as formats 3 and 4 of the data directory had them, for tests of the conversion.
#pragma once

#include <algorithm>
#include <bit>
#include <span>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "store/model/row.h"

namespace plimsoll::store {

template <typename T>
void append_object(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Rows in any order, each key once.
inline std::string encode_segment_of_version_1(const std::vector<Row>& rows) {
  constexpr size_t kChunk = 65'536;
  const size_t chunks = (rows.size() + kChunk - 1) / kChunk;
  std::string directory;
  std::string data;
  for (size_t first = 0; first < rows.size(); first += kChunk) {
    const auto chunk = std::span(rows).subspan(first, std::min(kChunk, rows.size() - first));
    for (size_t column = 0; column < 6; ++column) {
      std::vector<uint64_t> values;
      for (const Row& row : chunk) {
        values.push_back(std::array<uint64_t, 6>{row[Column::kEvent], row[Column::kWorkload],
                                                 row[Column::kStack], row[Column::kThread],
                                                 row[Column::kOrigin], row.hits}[column]);
      }
      const auto [min, max] = std::ranges::minmax(values);
      const auto bits = static_cast<size_t>(std::bit_width(max - min));
      std::string packed((values.size() * bits + 63) / 64 * 8, '\0');
      for (size_t i = 0; i < values.size() * bits; ++i) {
        const uint64_t bit = (values[i / bits] - min) >> (i % bits) & 1U;
        packed[i / 8] = static_cast<char>(static_cast<uint64_t>(packed[i / 8]) | bit << (i % 8));
      }
      for (const uint64_t number : {min, max, uint64_t{32 + chunks * 6 * 40 + data.size()},
                                    uint64_t{packed.size()}, checksum64(as_bytes(packed))}) {
        append_object(directory, number);
      }
      data += packed;
    }
  }
  std::string file("PLIMSEGM");
  append_object(file, uint32_t{1});
  append_object(file, uint32_t{6});
  append_object(file, uint64_t{rows.size()});
  append_object(file, checksum64(as_bytes(file + directory)));
  return file + directory + data;
}

}  // namespace plimsoll::store
