// What is served under which path.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "appprof/http_server.h"
#include "appprof/profile.h"

namespace plimsoll::appprof {

// So many at once, and so many a minute later. One thread.
class RateLimit {
 public:
  RateLimit(uint32_t per_minute, int64_t now_ns)
      : per_ns_(per_minute / 60e9), max_(per_minute / 2.0 + 1), left_(max_), at_ns_(now_ns) {}
  bool take(int64_t now_ns) {
    left_ = std::min(max_, left_ + static_cast<double>(now_ns - at_ns_) * per_ns_);
    at_ns_ = now_ns;
    if (left_ < 1) {
      return false;
    }
    left_ -= 1;
    return true;
  }

 private:
  const double per_ns_;
  const double max_;
  double left_;
  int64_t at_ns_;
};

class Endpoints {
 public:
  struct Settings {
    Labels labels;  // of the process
    uint32_t max_seconds = 60;
    uint32_t max_requests_per_minute = 120;
    std::function<bool(pid_t)> is_own_thread;
  };

  explicit Endpoints(Settings settings);

  // Any thread. Profiles that sample while they wait (CPU, wall, threads) are taken one at a time, the others one after the other.
  Response answer(const Request& request, const RequestTime& time);

  // What works now, and words about what does not.
  static std::vector<std::string> kinds();
  static std::vector<std::string> problems();

 private:
  struct Route;
  static const std::vector<Route>& routes();

  Response index(const Request& request, const RequestTime& time);
  Response heap(const Request& request, const RequestTime& time);
  Response heap_legacy(const Request& request, const RequestTime& time);
  Response allocations(const Request& request, const RequestTime& time);
  Response growth(const Request& request, const RequestTime& time);
  Response growth_legacy(const Request& request, const RequestTime& time);
  Response contention(const Request& request, const RequestTime& time);
  Response contention_legacy(const Request& request, const RequestTime& time);
  Response cpu(const Request& request, const RequestTime& time);
  Response cpu_legacy(const Request& request, const RequestTime& time);
  Response wall(const Request& request, const RequestTime& time);
  Response threads(const Request& request, const RequestTime& time);
  Response command_line(const Request& request, const RequestTime& time);
  Response symbol(const Request& request, const RequestTime& time);

  // A cumulative profile, or with `seconds=` what came in that time.
  Response cumulative(const Request& request, const RequestTime& time, Profile (*take)(),
                      bool is_of_allocator);
  Response pprof(Profile profile, const std::string& name, bool is_of_allocator) const;
  Response cpu_profile(const Request& request, const RequestTime& time, bool is_legacy);

  const Settings settings_;
  std::mutex mutex_;  // of the limit, and of profiles that are taken at once
  RateLimit limit_;
  std::atomic<bool> is_sampling_{false};
};

}  // namespace plimsoll::appprof
