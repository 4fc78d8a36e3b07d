// Builds whose symbols would help, and those whose code would, as the newest listing has them.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::server {

// Any thread.
class WantedBuildSet {
 public:
  void set(const std::vector<std::string>& build_ids, const std::vector<std::string>& of_code = {}) {
    Builds newest(build_ids.begin(), build_ids.end());
    Builds newest_of_code(of_code.begin(), of_code.end());
    const std::lock_guard lock(mutex_);
    of_symbols_ = std::move(newest);
    of_code_ = std::move(newest_of_code);
  }

  bool contains(std::string_view build_id) const {
    const std::lock_guard lock(mutex_);
    return of_symbols_.contains(build_id);
  }

  // Whether its code would help, whatever its symbols are.
  bool contains_code(std::string_view build_id) const {
    const std::lock_guard lock(mutex_);
    return of_code_.contains(build_id);
  }

 private:
  using Builds = std::set<std::string, std::less<>>;

  mutable std::mutex mutex_;
  Builds of_symbols_;  // guarded by mutex_, as the next
  Builds of_code_;
};

}  // namespace plimsoll::server
