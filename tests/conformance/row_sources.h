// The implementations of RowSource that the conformance suite runs on.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "base/durable_file.h"
#include "store/aggregation/local_rows.h"
#include "store/contents/joined_rows.h"
#include "tests/conformance/memory_rows.h"

namespace plimsoll::testing {

struct Implementation {
  std::string name;
  // A source of these rows, which may keep files in `folder`. Keys are distinct.
  std::function<Result<std::unique_ptr<store::RowSource>>(const std::vector<store::Row>& rows,
                                                          const std::string& folder)>
      make;
  // Why this machine has not what it needs, for GTEST_SKIP(); empty: it has.
  std::string (*why_missing)() = [] { return std::string(); };
  // It gets one of so many random requests of the suite: where each is a statement to a server.
  int one_request_in = 1;
};

// Those of a test program, which are defined in a source of their own: the suite is compiled for each.
std::vector<Implementation> row_source_implementations();

inline void PrintTo(const Implementation& implementation, std::ostream* out) {
  *out << implementation.name;
}

inline Implementation memory_rows() {
  return {.name = "Memory",
          .make = [](const auto& rows, const auto&) -> Result<std::unique_ptr<store::RowSource>> {
            return std::make_unique<MemoryRows>(rows);
          }};
}

inline Result<std::unique_ptr<store::LocalRows>> make_local_rows(const std::vector<store::Row>& rows,
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
  return {.name = name,
          .make = [=](const auto& rows, const auto& folder) -> Result<std::unique_ptr<store::RowSource>> {
            return make_local_rows(rows, folder, segment_rows);
          }};
}

// Rows of one block, and what their IDs mean: numbered as they come, from the last row to the first.
inline store::Translation renumber(std::vector<store::Row>& rows) {
  store::Translation translation;
  for (const store::Column column : store::kColumns) {
    std::map<uint32_t, uint32_t> numbers{{0, 0}};
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
      const uint32_t id = (*row)[column];
      const auto [number, is_new] = numbers.try_emplace(id, static_cast<uint32_t>(numbers.size()));
      if (is_new) {
        translation[column].push_back(id);
      }
      (*row)[column] = number->second;
    }
  }
  return translation;
}

// `blocks` blocks, whose rows take turns, on `threads` threads; their segments are small.
inline Implementation joined_rows(const std::string& name, size_t blocks, unsigned threads) {
  return {.name = name,
          .make = [=](const std::vector<store::Row>& rows,
                      const std::string& folder) -> Result<std::unique_ptr<store::RowSource>> {
            std::vector<store::JoinedRows::Part> parts;
            store::ByColumn<uint32_t> last_ids;
            for (size_t block = 0; block < blocks; ++block) {
              std::vector<store::Row> some;
              for (size_t i = block; i < rows.size(); i += blocks) {
                some.push_back(rows[i]);
                for (const store::Column column : store::kColumns) {
                  last_ids[column] = std::max(last_ids[column], rows[i][column]);
                }
              }
              const store::Translation translation = renumber(some);
              const std::string path = fmt::format("{}/{}", folder, block);
              std::filesystem::create_directories(path);
              auto local = make_local_rows(some, path, 7'000);
              if (!local) {
                return propagate(local);
              }
              parts.push_back({std::move(*local), translation});
            }
            return std::make_unique<store::JoinedRows>(std::move(parts), last_ids, threads);
          }};
}

}  // namespace plimsoll::testing
