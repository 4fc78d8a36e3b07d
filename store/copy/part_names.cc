#include "store/copy/part_names.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::store {
namespace {

constexpr size_t kNamesOfPiece = 20'000;

Frame frame_of(const sqlite::Statement& row) {
  return {.function = std::string(row.text(2)),
          .file = std::string(row.text(4)),
          .line = static_cast<uint32_t>(row.integer(5)),
          .linkage_name = std::string(row.text(3)),
          .column = static_cast<uint32_t>(row.integer(6)),
          .discriminator = static_cast<uint32_t>(row.integer(7)),
          .start_line = static_cast<uint32_t>(row.integer(8)),
          .is_inlined = row.integer(9) != 0};
}

}  // namespace

Status read_part_names(sqlite::Database& catalogue, const UseNames& use) {
  std::vector<Binding> names;
  // A location that was looked up in vain has one row, without a frame.
  const Status read = sqlite::for_each_row(
      catalogue.query(
          "SELECT binding.location, frame.location IS NOT NULL, function.name, function.linkage_name, "
          "source_file.path, line, source_column, discriminator, start_line, is_inlined FROM binding "
          "LEFT JOIN frame ON frame.location = binding.location "
          "LEFT JOIN function ON function.id = frame.function "
          "LEFT JOIN source_file ON source_file.id = frame.file ORDER BY binding.location, frame.depth"),
      [&](const sqlite::Statement& row) -> Status {
        const auto location = static_cast<uint32_t>(row.integer(0));
        if (names.empty() || names.back().location != location) {
          if (names.size() >= kNamesOfPiece) {
            if (const Status used = use(names); !used) {
              return used;
            }
            names.clear();
          }
          names.push_back({.location = location, .frames = {}});
        }
        if (row.integer(1) != 0) {
          names.back().frames.push_back(frame_of(row));
        }
        return {};
      });
  return read && !names.empty() ? use(names) : read;
}

}  // namespace plimsoll::store
