// What files say of the server's health, measured in the background: requests never wait for a count of all locations.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/result.h"
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

// One thread, which measures every ten seconds, or less often where measuring takes long: 2 % of its time at most.
class FleetWatch {
 public:
  static std::unique_ptr<FleetWatch> start(std::string data_dir);

  FleetWatch(const FleetWatch&) = delete;
  FleetWatch& operator=(const FleetWatch&) = delete;
  ~FleetWatch() = default;

  // The newest. Any thread; waits only right after the start, for the first.
  MeasuredFacts newest();

 private:
  explicit FleetWatch(std::string data_dir);
  void run(const std::stop_token& stop);
  MeasuredFacts measure();

  const std::string data_dir_;
  std::optional<store::StoreHealthMeter> meter_;  // the thread's; nothing: to be opened
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<MeasuredFacts> newest_;  // protected by mutex_
  std::jthread thread_;                  // last: it uses all else
};

}  // namespace plimsoll::server
