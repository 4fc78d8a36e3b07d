#include "store/blocks/block_damage.h"

#include <array>
#include <filesystem>
#include <system_error>

#include "store/catalogue/block_table.h"
#include "store/catalogue/catalogue.h"
#include "store/catalogue/segment_table.h"

namespace plimsoll::store {
namespace {

// Without which a catalogue says nothing of its block.
constexpr std::array<std::string_view, 3> kTables{"block", "segment", "origin"};

// kCorrupt where it is damaged.
Status look_at(const BlockFolder& block) {
  const std::string path = block.catalogue_path();
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return error ? Status(fail_errno(error.value(), "looking for {}", path))
                 : fail(ErrorCode::kCorrupt, "{} is missing", path);
  }
  auto catalogue = Catalogue::open(path, sqlite::OpenMode::kRead);
  if (!catalogue) {
    return propagate(catalogue);
  }
  for (const std::string_view table : kTables) {
    const auto has = catalogue->database().has_table(table);
    if (!has || !*has) {
      return has ? Status(fail(ErrorCode::kCorrupt, "{} lacks its table {}", path, table)) : propagate(has);
    }
  }
  const auto state = read_block_state(catalogue->database());
  const auto segments = state ? visible_segments(catalogue->database()) : propagate(state);
  return segments ? Status() : propagate(segments, "reading {}", path);
}

}  // namespace

Result<std::optional<std::string>> why_unreadable(const BlockFolder& block) {
  const Status looked = look_at(block);
  if (looked) {
    return std::nullopt;
  }
  // A disk that does not give it back has lost it as well.
  const ErrorCode code = looked.error().code;
  return code == ErrorCode::kCorrupt || code == ErrorCode::kIo
             ? Result<std::optional<std::string>>(looked.error().message)
             : propagate(looked);
}

bool is_unreadable(const BlockFolder& block) {
  const auto why = why_unreadable(block);
  return why && why->has_value();
}

}  // namespace plimsoll::store
