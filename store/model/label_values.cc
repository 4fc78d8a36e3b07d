#include "store/model/label_values.h"

#include "store/model/label_set.h"

namespace plimsoll::store {

void LabelValues::add(uint32_t set, std::string_view encoded) {
  for_each_label(encoded, [&](std::string_view key, std::string_view value) {
    if (key == kAnyLabel) {
      return;
    }
    auto of_key = keys_.find(key);
    if (of_key == keys_.end()) {
      of_key = keys_.emplace(key, Values()).first;
    }
    if (!of_key->second.contains(value)) {
      of_key->second.emplace(value, set);
    }
  });
}

void LabelValues::roll_back(size_t sets) {
  for (auto& [key, values] : keys_) {
    std::erase_if(values, [&](const auto& value) { return value.second >= sets; });
  }
  std::erase_if(keys_, [](const auto& key) { return key.second.empty(); });
}

bool LabelValues::has(std::string_view key, std::string_view value) const {
  const auto values = keys_.find(key);
  return values != keys_.end() && values->second.contains(value);
}

size_t LabelValues::room_for(std::string_view key) const {
  const auto values = keys_.find(key);
  const size_t taken = values == keys_.end() ? 0 : values->second.size();
  return kMaxLabelValues - std::min(taken, kMaxLabelValues);
}

}  // namespace plimsoll::store
