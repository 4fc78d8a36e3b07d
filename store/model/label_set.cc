#include "store/model/label_set.h"

namespace plimsoll::store {

std::string encode_labels(const Labels& labels) {
  std::string encoded;
  for (const auto& [key, value] : labels) {
    encoded.append(key).push_back('\0');
    encoded.append(value).push_back('\0');
  }
  return encoded;
}

std::string_view label_value(std::string_view encoded, std::string_view key) {
  std::string_view found;
  for_each_label(encoded, [&](std::string_view label, std::string_view value) {
    if (label == key || (label == kAnyLabel && found.empty())) {
      found = value;
    }
  });
  return found;
}

}  // namespace plimsoll::store
