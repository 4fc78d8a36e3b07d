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
#include "appprof/rate_limit.h"

namespace plimsoll::appprof {

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

  // Any thread: for the index page.
  void add_problem(const std::string& problem);

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
  Response holders(const Request& request, const RequestTime& time);
  Response conditions(const Request& request, const RequestTime& time);
  Response waits(const Request& request, const RequestTime& time, Profile (*take)());
  Response cpu(const Request& request, const RequestTime& time);
  Response cpu_legacy(const Request& request, const RequestTime& time);
  Response wall(const Request& request, const RequestTime& time);
  Response threads(const Request& request, const RequestTime& time);
  Response command_line(const Request& request, const RequestTime& time);
  Response symbol(const Request& request, const RequestTime& time);
  Response set_bursts(const Request& request, const RequestTime& time);
  Response burst_events(const Request& request, const RequestTime& time);

  // A cumulative profile, or with `seconds=` what came in that time.
  Response cumulative(const Request& request, const RequestTime& time, Profile (*take)(),
                      bool is_of_allocator);
  Response pprof(Profile profile, const std::string& name, bool is_of_allocator) const;
  Response cpu_profile(const Request& request, const RequestTime& time, bool is_legacy);

  // With the application's allocator or tables: one after the other.
  Profile taken(Profile (*take)()) const;

  const Settings settings_;
  mutable std::mutex mutex_;  // of whatever costs memory and time
  std::mutex limit_mutex_;
  RateLimit limit_;                          // guarded by limit_mutex_
  std::vector<std::string> added_problems_;  // guarded by limit_mutex_
  std::atomic<bool> is_sampling_{false};
};

}  // namespace plimsoll::appprof
