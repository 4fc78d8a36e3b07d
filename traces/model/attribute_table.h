// Attributes of spans and their resources (OpenTelemetry's, tags, columns) that sort requests into buckets: those with few values.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "traces/model/attribute_set_cache.h"
#include "traces/model/name_table.h"

namespace plimsoll::traces {

// Borrows.
struct Attribute {
  std::string_view key;
  std::string_view value;
  auto operator<=>(const Attribute&) const = default;
};

// On one span with its resource; further ones are left out.
inline constexpr size_t kMaxAttributesOfSpan = 256;

// In the place of a value that there are too many of.
inline constexpr std::string_view kOtherValue = "[other]";

// Of copies of a span that differ in attributes alone the one with the smaller set stays: a set before none, one without "[other]" before one
// with it, and else by their texts, which do not depend on what came first. Sorts both, each key of which is there once.
std::strong_ordering compare_sets(std::span<Attribute> left, std::span<Attribute> right);

struct AttributeLimits {
  // Only these; empty: all.
  std::vector<std::string> only = {};
  uint32_t max_keys = 256;     // further ones are left out
  uint32_t max_values = 1000;  // of one key; one with more is unbounded, such as a request's own ID
  // Of attributes that stand together on a span. At a half of it, three quarters and so on the key with the most values becomes unbounded;
  // beyond it spans with further sets have no attributes.
  uint32_t max_sets = 4'000'000;
  size_t max_entries = 64'000'000;  // of all sets: 256 MB; as max_sets
  // Beyond max_values a key has "[other]" for a value, and no key is unbounded for that.
  bool names_others = false;
};

// Sets of attributes as numbers. Most spans of a resource have the same few sets. One thread at a time.
class AttributeTable {
 public:
  // Of a set: IDs of a key and of a value of that key.
  struct Entry {
    uint16_t key = 0;
    uint16_t value = 0;
    auto operator<=>(const Entry&) const = default;
  };

  explicit AttributeTable(const AttributeLimits& limits = {});

  // Of untrusted text. Of a repeated key the last one counts. 0: of no attributes. About 30 ns an attribute; less for a list that came lately.
  uint32_t id_of(std::span<const Attribute> attributes);

  // By ascending key. Values of unbounded keys come and go: leave them out.
  std::span<const Entry> entries(uint32_t set) const {
    return std::span(entries_).subspan(begins_[set], begins_[set + 1] - begins_[set]);
  }
  // With their texts, by ascending key, without unbounded keys: behind what is there. Borrowed for as long as the table lives.
  void append_to(std::vector<Attribute>& attributes, uint32_t set) const;
  // 0: the set has no such key.
  uint32_t value_in(uint32_t set, uint32_t key) const;

  // IDs of keys are from 1 to keys() - 1, in the order in which they came.
  uint32_t keys() const { return keys_.size(); }
  std::string_view key(uint32_t id) const { return keys_.name(id); }
  bool is_unbounded(uint32_t key) const { return is_unbounded_[key] != 0; }
  // Attributes were left out, because of any limit but max_values and only.
  bool is_cut() const { return is_cut_; }
  // IDs of values are from 1 to values(key) - 1.
  uint32_t values(uint32_t key) const { return values_[key].size(); }
  std::string_view value(uint32_t key, uint32_t id) const { return values_[key].name(id); }

 private:
  bool is_wanted(std::string_view key) const;
  void make_unbounded(uint32_t key);
  uint32_t value_id(uint32_t key, std::string_view value);
  void collect(std::span<const Attribute> attributes);
  bool make_room();
  uint32_t look_up(std::span<const Attribute> attributes);

  AttributeLimits limits_;
  NameTable keys_;
  std::vector<NameTable> values_;  // by key
  std::vector<uint8_t> is_unbounded_;
  bool is_cut_ = false;
  uint32_t next_limit_;                                 // of sets, at which a key becomes unbounded
  std::vector<Entry> entries_;                          // of one set after the other
  std::vector<size_t> begins_;                          // by set, and the end
  boost::unordered_flat_map<uint64_t, uint32_t> sets_;  // by hash
  std::vector<Entry> set_;                              // at hand
  AttributeSetCache lately_;                            // valid until a key becomes unbounded
  uint64_t seed_;
};

}  // namespace plimsoll::traces
