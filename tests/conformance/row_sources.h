// The implementations of RowSource that the conformance suite runs on.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "base/durable_file.h"
#include "store/aggregation/local_rows.h"
#include "tests/conformance/memory_rows.h"

namespace plimsoll::testing {

struct Implementation {
  std::string name;
  // A source of these rows, which may keep files in `folder`. Keys are distinct.
  std::function<Result<std::unique_ptr<store::RowSource>>(const std::vector<store::Row>& rows,
                                                          const std::string& folder)>
      make;
};

inline void PrintTo(const Implementation& implementation, std::ostream* out) {
  *out << implementation.name;
}

inline Implementation memory_rows() {
  return {"Memory", [](const auto& rows, const auto&) -> Result<std::unique_ptr<store::RowSource>> {
            return std::make_unique<MemoryRows>(rows);
          }};
}

inline Result<std::unique_ptr<store::RowSource>> make_local_rows(const std::vector<store::Row>& rows,
                                                                 const std::string& folder,
                                                                 size_t segment_rows) {
  std::vector<std::string> paths;
  std::span<const store::Row> left = rows;
  while (!left.empty()) {
    const auto part = left.first(std::min(segment_rows, left.size()));
    left = left.subspan(part.size());
    paths.push_back(fmt::format("{}/{}.rows", folder, paths.size()));
    const std::string bytes = store::encode_segment({part.begin(), part.end()});
    if (auto written = write_file_durably(paths.back(), as_bytes(bytes)); !written) {
      return propagate(written);
    }
  }
  auto opened = store::LocalRows::open(paths);
  if (!opened) {
    return propagate(opened);
  }
  return std::make_unique<store::LocalRows>(std::move(*opened));
}

// Segments of `segment_rows` rows.
inline Implementation local_rows(const std::string& name, size_t segment_rows) {
  return {name,
          [=](const auto& rows, const auto& folder) { return make_local_rows(rows, folder, segment_rows); }};
}

}  // namespace plimsoll::testing
