// What files say of the server's health, measured in the background: requests never wait for a count of all locations.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "server/background/background_work.h"
#include "store/fleet.h"
#include "store/store_health.h"

namespace plimsoll::server {

struct MeasuredFacts {
  int64_t measured_ns = 0;  // wall clock
  std::optional<store::StoreHealth> store = {};
  std::string store_error = {};  // why there is none
  // Registered machines by their daemons' versions: how many are live, and how many offline.
  struct Machines {
    int64_t live = 0;
    int64_t offline = 0;
  };
  std::map<std::string, Machines> machines_by_version = {};
  int64_t stops_by_hand = 0;
  int64_t stops_by_failures = 0;
};

// At most this many versions; machines of all others together are of version "other". Versions come from outside, and each is a series.
inline constexpr size_t kMaxVersions = 20;

// Keeps the versions that most machines have.
void limit_versions(std::map<std::string, MeasuredFacts::Machines>& machines_by_version);

// Measures every ten seconds, or less often where measuring takes long: 2 % of a thread's time at most (kHealth).
class FleetWatch {
 public:
  // Measures from now on. `work` must outlive it.
  FleetWatch(std::string data_dir, BackgroundWork& work);
  FleetWatch(const FleetWatch&) = delete;
  FleetWatch& operator=(const FleetWatch&) = delete;
  ~FleetWatch() { task_.stop(); }

  // The newest. Any thread; waits only right after the start, for the first.
  MeasuredFacts newest();

 private:
  Result<NextPass> run();
  Status measure(MeasuredFacts& facts);

  const std::string data_dir_;
  const std::unique_ptr<const store::Fleet> fleet_;
  std::optional<store::StoreHealthMeter> meter_;  // the task's; nothing: to be opened
  std::mutex mutex_;
  MeasuredFacts newest_;  // protected by mutex_
  BackgroundTask& task_;  // last: it uses all else
};

}  // namespace plimsoll::server
