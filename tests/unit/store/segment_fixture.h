// Segments in files, for the tests of rows.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "store/rows/segment.h"

namespace plimsoll::store {

inline void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(file.flush()) << path;
}

inline Result<std::vector<Row>> read_rows(const Segment& segment) {
  std::vector<Row> rows;
  std::array<std::vector<uint64_t>, kColumns> columns;
  for (size_t block = 0; block < segment.blocks(); ++block) {
    for (size_t column = 0; column < kColumns; ++column) {
      if (auto read = segment.read(block, static_cast<Column>(column), columns[column]); !read) {
        return propagate(read);
      }
    }
    for (size_t i = 0; i < segment.rows_in_block(block); ++i) {
      const auto at = [&](Column column) { return columns[static_cast<size_t>(column)][i]; };
      const auto id = [&](Column column) { return static_cast<uint32_t>(at(column)); };
      rows.push_back({id(Column::kEvent), id(Column::kWorkload), id(Column::kStack), id(Column::kThread),
                      id(Column::kOrigin), at(Column::kHits)});
    }
  }
  return rows;
}

inline Result<std::vector<Row>> read_rows(const std::string& path) {
  const auto segment = Segment::open(path);
  return segment ? read_rows(*segment) : propagate(segment);
}

}  // namespace plimsoll::store
