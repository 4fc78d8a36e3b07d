// Keeping up what is known of machines: reading the inventory as often as it may have changed, forgetting machines that have vanished.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
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

// What cannot be read is a failure, and what was read before stays. So it does where over half of the entries are gone, until that is read a
// second time: it may be incomplete. One thread at a time.
class InventoryReader {
 public:
  // Reads all once before it returns, and fails where that makes no sense: a server must not start with a wrong inventory. Where
  // its source cannot be reached, that of the last run stays.
  static Result<std::unique_ptr<InventoryReader>> open(const InventorySettings& settings,
                                                       store::LiveMachines machines);

  InventoryReader(const InventoryReader&) = delete;
  InventoryReader& operator=(const InventoryReader&) = delete;
  ~InventoryReader() = default;

  // Reads what has changed, and removes machines that have vanished, once an hour also their past. Does what it can: an error names all
  // that failed.
  Status update();

 private:
  struct Source {
    std::string name;  // in the configuration
    std::string place;
    std::function<Result<size_t>(std::string_view text)> count;  // of its entries, where it makes sense
    std::function<Status(std::string_view text)> keep;
    uint64_t kept_checksum = 0;       // of the text that is in force; 0: none is
    size_t kept_entries = 0;          // likewise
    uint64_t suspected_checksum = 0;  // of a text that has lost most of them
  };

  InventoryReader(const InventorySettings& settings, store::LiveMachines machines);
  static Status read(Source& source);
  Status read_all();
  Status forget_vanished();
  Status forget_history();

  const InventorySettings settings_;
  store::LiveMachines machines_;
  std::vector<Source> sources_;
  bool is_fresh_ = true;                                        // open() has just read all
  std::chrono::steady_clock::time_point next_forgetting_ = {};  // of what machines were before
};

}  // namespace plimsoll::server
