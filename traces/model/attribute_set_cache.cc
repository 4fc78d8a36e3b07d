#include "traces/model/attribute_set_cache.h"

#include <string_view>

#include "base/byte_reader.h"
#include "base/checksum.h"
#include "traces/model/attribute_table.h"

namespace plimsoll::traces {
namespace {

// With its length in front: "a" and "bc" are not "ab" and "c".
void append_sized(std::string_view text, std::string& list) {
  constexpr unsigned kByteBits = 8;
  for (unsigned byte = 0; byte < sizeof(uint32_t); ++byte) {
    list.push_back(static_cast<char>((text.size() >> (byte * kByteBits)) & 0xffU));
  }
  list.append(text);
}

}  // namespace

void AttributeSetCache::write_list(std::span<const Attribute> attributes) {
  list_.clear();
  for (const Attribute& attribute : attributes) {
    // Before it is copied: texts come from outside.
    if (list_.size() + attribute.key.size() + attribute.value.size() + 2 * sizeof(uint32_t) > kMaxListBytes) {
      list_.clear();
      return;
    }
    append_sized(attribute.key, list_);
    append_sized(attribute.value, list_);
  }
}

std::optional<uint32_t> AttributeSetCache::find(std::span<const Attribute> attributes) {
  if (is_useless_) {
    return std::nullopt;
  }
  write_list(attributes);
  if (list_.empty()) {
    return std::nullopt;
  }
  hash_ = checksum64(as_bytes(list_));
  const auto known = known_.find(hash_);
  if (known == known_.end() || known->second.list != list_) {
    return std::nullopt;
  }
  ++hits_;
  return known->second.set;
}

void AttributeSetCache::keep(uint32_t set) {
  if (is_useless_ || list_.empty()) {
    return;
  }
  if (known_.size() >= kMaxLists) {
    is_useless_ = hits_ < kMaxLists;
    hits_ = 0;
    known_.clear();
    if (is_useless_) {
      return;
    }
  }
  known_[hash_] = {list_, set};
}

}  // namespace plimsoll::traces
