// Segments in files, for the tests of rows.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "store/aggregation/local_rows.h"
#include "store/segments/segment.h"

namespace plimsoll::store {

inline void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(file.flush()) << path;
}

inline Result<std::vector<Row>> scan_rows(const RowSource& source, RowFilter filter = {}) {
  std::vector<Row> rows;
  const auto cursor = source.scan(std::move(filter));
  while (true) {
    const auto batch = cursor->next();
    if (!batch) {
      return propagate(batch);
    }
    if (batch->empty()) {
      break;
    }
    rows.insert(rows.end(), batch->begin(), batch->end());
  }
  return rows;
}

// In ascending order.
inline Result<std::vector<Row>> read_rows(const RowSource& source, RowFilter filter = {}) {
  auto rows = scan_rows(source, std::move(filter));
  if (rows) {
    std::ranges::sort(*rows);
  }
  return rows;
}

inline Result<std::vector<Row>> read_rows(const std::string& path) {
  const auto opened = LocalRows::open({path});
  return opened ? read_rows(*opened) : propagate(opened);
}

// In the order of the file.
inline Result<std::vector<Row>> scan_rows(const std::string& path) {
  const auto opened = LocalRows::open({path});
  return opened ? scan_rows(*opened) : propagate(opened);
}

}  // namespace plimsoll::store
