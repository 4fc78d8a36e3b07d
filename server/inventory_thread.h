// Keeping up in the background what is known of machines: reading the inventory as often as it may have changed, forgetting machines that
// have vanished.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "server/health/background_work.h"
#include "store/live/live_machines.h"

namespace plimsoll::server {

struct InventorySettings {
  // Files, or URLs with http:// or https://; empty: none.
  std::string machines = {};
  std::string jobs = {};  // what runs on them
  int64_t interval_ns = 0;
  // Retention of offline machines, and of the history of the fleet.
  int64_t machine_ttl_ns = 0;
};

// One thread. What cannot be read is logged, once for each reason, and what was read before stays. So it does where over half of the entries are
// gone, until that is read a second time: it may be incomplete.
class InventoryThread {
 public:
  // Reads all once before it returns, and fails where that makes no sense: a server must not start with a wrong inventory. Where
  // whoever serves it is away, that of the last run stays.
  static Result<std::unique_ptr<InventoryThread>> start(const InventorySettings& settings,
                                                        store::LiveMachines machines, BackgroundWork& work);

  InventoryThread(const InventoryThread&) = delete;
  InventoryThread& operator=(const InventoryThread&) = delete;
  ~InventoryThread() = default;

 private:
  struct Source {
    std::string name;  // in the configuration
    std::string place;
    std::function<Result<size_t>(std::string_view text)> count;  // of its entries, where it makes sense
    std::function<Status(std::string_view text)> keep;
    uint64_t kept_checksum = 0;       // of the text that is in force; 0: none is
    size_t kept_entries = 0;          // likewise
    uint64_t suspected_checksum = 0;  // of a text that has lost most of them
    std::string problem = {};         // that was logged last
  };

  InventoryThread(const InventorySettings& settings, store::LiveMachines machines, BackgroundWork& work);
  static Status read(Source& source);
  void run(const std::stop_token& stop);
  // Each logs what fails; the first failure.
  Status read_all();
  Status forget_vanished();
  Status forget_history();
  Status forget();

  const InventorySettings settings_;
  store::LiveMachines machines_;  // the thread's, once it runs, as are the others
  BackgroundWork& work_;
  std::vector<Source> sources_;
  std::string problem_;                                    // with forgetting machines, that was logged last
  std::string history_problem_;                            // likewise, with their past
  std::chrono::steady_clock::time_point next_forgetting_;  // of that
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: it uses all else
};

}  // namespace plimsoll::server
