// Labels that belong together: keys and values that a process, a pod or a sample carries.
//
// A set is kept as one text, which is its dictionary entry: "KEY\0VALUE\0..." with ascending keys, none twice. The empty text is no
// labels, entry 0.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace plimsoll::store {

using Labels = std::map<std::string, std::string, std::less<>>;

// Neither keys nor values may hold a zero byte; wire::validate sees to that.
std::string encode_labels(const Labels& labels);

// Calls use(key, value), both borrowed from `encoded`, in the order of keys. What is not whole is passed over.
template <typename Use>
void for_each_label(std::string_view encoded, Use use) {
  while (!encoded.empty()) {
    const size_t key_end = encoded.find('\0');
    const size_t value_end =
        key_end == std::string_view::npos ? std::string_view::npos : encoded.find('\0', key_end + 1);
    if (value_end == std::string_view::npos) {
      return;
    }
    use(encoded.substr(0, key_end), encoded.substr(key_end + 1, value_end - key_end - 1));
    encoded.remove_prefix(value_end + 1);
  }
}

// The key of a value that stands for those of all keys: of rolled-up rows, which keep none of them, and of sets that a block had no room
// for. Applications have no such key.
inline constexpr const char* kAnyLabel = "";

// The value of a key, borrowed; empty where the set does not have it.
std::string_view label_value(std::string_view encoded, std::string_view key);

}  // namespace plimsoll::store
