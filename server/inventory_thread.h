// Reading the inventory in the background, as often as it may have changed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "store/live/live_machines.h"

namespace plimsoll::server {

// One thread. What cannot be read is logged, once for each reason, and what was read before stays.
class InventoryThread {
 public:
  // `source`: a file, or a URL with http:// or https://. Reads it once before it returns, and fails where that makes no sense: nobody is to start a
  // server with a wrong inventory unawares. Where whoever serves it is away, that of the last run stays.
  static Result<std::unique_ptr<InventoryThread>> start(std::string source, int64_t interval_ns,
                                                        store::LiveMachines machines);

  InventoryThread(const InventoryThread&) = delete;
  InventoryThread& operator=(const InventoryThread&) = delete;
  ~InventoryThread() = default;

 private:
  InventoryThread(std::string source, int64_t interval_ns, store::LiveMachines machines)
      : source_(std::move(source)), interval_ns_(interval_ns), machines_(std::move(machines)) {}
  void run(const std::stop_token& stop);
  Status read();

  const std::string source_;
  const int64_t interval_ns_;
  store::LiveMachines machines_;  // the thread's, once it runs
  uint64_t kept_checksum_ = 0;    // of the text that is in force; 0: none is
  std::string problem_;           // that was logged last
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: it uses all else
};

}  // namespace plimsoll::server
