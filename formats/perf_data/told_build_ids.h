// Build IDs that a recording's header tells by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace plimsoll::perf_data {

// One thread. The header does not tell when a file had its ID: one that was replaced under way has two, and then none of them
// is taken for its name.
class ToldBuildIds {
 public:
  void add(std::string_view name, std::string_view build_id) {
    auto [entry, is_new] = ids_.try_emplace(std::string(name), build_id);
    if (!is_new && !entry->second.empty() && entry->second != build_id) {
      entry->second.clear();
      ++ambiguous_;
    }
  }

  // Binary; empty where none was told, or several.
  std::string of(std::string_view name) const {
    const auto told = ids_.find(name);
    return told == ids_.end() ? std::string() : told->second;
  }

  // Names with several.
  uint64_t ambiguous() const { return ambiguous_; }

 private:
  std::map<std::string, std::string, std::less<>> ids_;
  uint64_t ambiguous_ = 0;
};

}  // namespace plimsoll::perf_data
