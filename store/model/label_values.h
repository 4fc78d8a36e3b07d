// How many keys and values the labels of a block have: they come from applications, which bound neither.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace plimsoll::store {

inline constexpr size_t kMaxLabelKeys = 64;      // of a block; labels of further keys are left out
inline constexpr size_t kMaxLabelValues = 1000;  // of a key in a block; what comes later is kOtherLabel
inline constexpr size_t kMaxLabelSets =
    100'000;  // of a block; further ones are one, whose values are kOtherLabel

inline constexpr const char* kOtherLabel = "[other]";

// The labels of a block's sets. One thread.
class LabelValues {
 public:
  // Of the set with this ID, which ascends from call to call.
  void add(uint32_t set, std::string_view encoded);
  // Back to the sets below this ID. Allocates nothing.
  void roll_back(size_t sets);

  size_t keys() const { return keys_.size(); }
  bool has_key(std::string_view key) const { return keys_.contains(key); }
  bool has(std::string_view key, std::string_view value) const;
  // How many more values the key may have.
  size_t room_for(std::string_view key) const;

 private:
  using Values = std::map<std::string, uint32_t, std::less<>>;  // the first set that has it
  std::map<std::string, Values, std::less<>> keys_;
};

}  // namespace plimsoll::store
