#include "traces/model/attribute_table.h"

#include <algorithm>
#include <tuple>

#include "base/random.h"
#include "traces/model/ids.h"

namespace plimsoll::traces {

std::strong_ordering compare_sets(std::span<Attribute> left, std::span<Attribute> right) {
  const auto has_other = [](std::span<const Attribute> set) {
    return std::ranges::any_of(set, [](const Attribute& attribute) {
      return attribute.key == kOtherValue || attribute.value == kOtherValue;
    });
  };
  if (left.empty() || right.empty()) {
    return left.empty() <=> right.empty();
  }
  if (has_other(left) != has_other(right)) {
    return has_other(left) <=> has_other(right);
  }
  std::ranges::sort(left);
  std::ranges::sort(right);
  return std::lexicographical_compare_three_way(left.begin(), left.end(), right.begin(), right.end());
}

AttributeTable::AttributeTable(const AttributeLimits& limits)
    : limits_(limits),
      keys_("attribute", limits.max_keys + 1),
      next_limit_(limits.max_sets / 2),
      begins_{0, 0},
      seed_(random_seed()) {
  // IDs of 16 bits.
  limits_.max_values = std::min<uint32_t>(limits_.max_values, UINT16_MAX - 1);
  values_.emplace_back("value", 1);
  is_unbounded_.push_back(0);
}

bool AttributeTable::is_wanted(std::string_view key) const {
  return limits_.only.empty() || std::ranges::find(limits_.only, key) != limits_.only.end();
}

// Sets that have it are not found any more.
void AttributeTable::make_unbounded(uint32_t key) {
  is_unbounded_[key] = 1;
  lately_.clear();
}

uint32_t AttributeTable::value_id(uint32_t key, std::string_view value) {
  if (is_unbounded_[key] != 0) {
    return 0;
  }
  const auto id = values_[key].id_of(value);
  if (!id && limits_.names_others) {
    return values_[key].id_of(kOtherValue).value_or(0);
  }
  if (!id) {
    make_unbounded(key);
    return 0;
  }
  return *id;
}

void AttributeTable::collect(std::span<const Attribute> attributes) {
  set_.clear();
  if (attributes.size() > kMaxAttributesOfSpan) {
    is_cut_ = is_cut_ || limits_.only.empty();
    attributes = attributes.first(kMaxAttributesOfSpan);
  }
  for (const Attribute& attribute : attributes) {
    // Text of no length is no value, as elsewhere.
    if (attribute.key.empty() || attribute.value.empty() || !is_wanted(attribute.key)) {
      continue;
    }
    const auto key = keys_.id_of(attribute.key);
    if (!key) {
      is_cut_ = true;
      continue;
    }
    if (*key == values_.size()) {
      values_.emplace_back("value", limits_.max_values + (limits_.names_others ? 2 : 1));
      is_unbounded_.push_back(0);
      if (limits_.names_others) {
        // While there is room for it.
        std::ignore = values_.back().id_of(kOtherValue);
      }
    }
    const uint32_t value = value_id(*key, attribute.value);
    const auto known = std::ranges::find(set_, *key, &Entry::key);
    if (known != set_.end()) {
      known->value = static_cast<uint16_t>(value);
    } else {
      set_.push_back({static_cast<uint16_t>(*key), static_cast<uint16_t>(value)});
    }
  }
  std::ranges::sort(set_);
}

// For one more set; false where there is none.
bool AttributeTable::make_room() {
  const size_t sets = begins_.size() - 2;
  if (sets >= limits_.max_sets || entries_.size() + set_.size() > limits_.max_entries) {
    is_cut_ = true;
    return false;
  }
  if (sets < next_limit_) {
    return true;
  }
  next_limit_ += (limits_.max_sets - next_limit_ + 1) / 2;
  uint32_t widest = 0;
  for (uint32_t key = 1; key < values_.size(); ++key) {
    if (is_unbounded_[key] == 0 && (widest == 0 || values_[key].size() > values_[widest].size())) {
      widest = key;
    }
  }
  if (widest != 0) {
    make_unbounded(widest);
    is_cut_ = true;
  }
  return true;
}

uint32_t AttributeTable::id_of(std::span<const Attribute> attributes) {
  if (const auto known = lately_.find(attributes)) {
    return *known;
  }
  const uint32_t set = look_up(attributes);
  lately_.keep(set);
  return set;
}

uint32_t AttributeTable::look_up(std::span<const Attribute> attributes) {
  collect(attributes);
  while (true) {
    std::erase_if(set_,
                  [this](const Entry& entry) { return entry.value == 0 || is_unbounded_[entry.key] != 0; });
    if (set_.empty()) {
      return 0;
    }
    uint64_t hash = seed_;
    for (const Entry& entry : set_) {
      hash = mixed(hash ^ (uint64_t{entry.key} << 16U | entry.value));
    }
    // Two sets of one hash: the next free one is taken.
    auto found = sets_.find(hash);
    while (found != sets_.end() && !std::ranges::equal(entries(found->second), set_)) {
      found = sets_.find(++hash);
    }
    if (found != sets_.end()) {
      return found->second;
    }
    if (!make_room()) {
      return 0;
    }
    // A key that became unbounded goes, and what is left may be known.
    const bool is_shorter =
        std::ranges::any_of(set_, [this](const Entry& entry) { return is_unbounded_[entry.key] != 0; });
    if (!is_shorter) {
      const auto id = static_cast<uint32_t>(begins_.size() - 1);
      sets_.emplace(hash, id);
      entries_.insert(entries_.end(), set_.begin(), set_.end());
      begins_.push_back(entries_.size());
      return id;
    }
  }
}

void AttributeTable::append_to(std::vector<Attribute>& attributes, uint32_t set) const {
  for (const Entry& entry : entries(set)) {
    if (!is_unbounded(entry.key)) {
      attributes.push_back({key(entry.key), value(entry.key, entry.value)});
    }
  }
}

uint32_t AttributeTable::value_in(uint32_t set, uint32_t key) const {
  const auto all = entries(set);
  const auto found = std::ranges::lower_bound(all, key, {}, &Entry::key);
  return found == all.end() || found->key != key ? 0 : found->value;
}

}  // namespace plimsoll::traces
