// Build IDs by file name, as the header of a recording has them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace plimsoll::perf_data {

// One thread. The header has no times: a file that was replaced during the recording has two build IDs, and then
// neither is used.
class HeaderBuildIds {
 public:
  void add(std::string_view name, std::string_view build_id) {
    auto [entry, is_new] = ids_.try_emplace(std::string(name), build_id);
    if (!is_new && !entry->second.empty() && entry->second != build_id) {
      entry->second.clear();
      ++ambiguous_;
    }
  }

  // Binary; empty where the header has none, or several.
  std::string of(std::string_view name) const {
    const auto found = ids_.find(name);
    return found == ids_.end() ? std::string() : found->second;
  }

  // Names with several.
  uint64_t ambiguous() const { return ambiguous_; }

 private:
  std::map<std::string, std::string, std::less<>> ids_;
  uint64_t ambiguous_ = 0;
};

}  // namespace plimsoll::perf_data
