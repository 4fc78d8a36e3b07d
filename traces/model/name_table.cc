#include "traces/model/name_table.h"

#include <algorithm>

#include "base/checksum.h"
#include "base/printable.h"

namespace plimsoll::traces {
namespace {

// Not within a character.
std::string_view cut(std::string_view text) {
  if (text.size() <= kMaxNameBytes) {
    return text;
  }
  size_t end = kMaxNameBytes;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0U) == 0x80) {
    --end;
  }
  return text.substr(0, end == 0 ? kMaxNameBytes : end);
}

}  // namespace

std::string shown_name(std::string_view name) {
  return printable(cut(name));
}

NameTable::NameTable(std::string_view what, uint32_t max_names) : what_(what), max_names_(max_names) {
  add({});
}

uint32_t NameTable::add(std::string name) {
  const auto id = static_cast<uint32_t>(names_.size());
  const std::string& kept = names_.emplace_back(std::move(name));
  hashes_.push_back(checksum64(as_bytes(kept)));
  ids_.emplace(kept, id);
  return id;
}

Result<uint32_t> NameTable::id_of(std::string_view name) {
  name = cut(name);
  if (const auto known = ids_.find(name); known != ids_.end()) {
    return known->second;
  }
  std::string shown = printable(name);
  if (const auto known = ids_.find(shown); known != ids_.end()) {
    return known->second;
  }
  if (names_.size() >= max_names_) {
    return with_hint(fail(ErrorCode::kTooLarge, "over {} different names of kind {}", max_names_, what_),
                     "leave IDs and values out of the names of operations and replicas");
  }
  return add(std::move(shown));
}

}  // namespace plimsoll::traces
