// What daemons cost a fleet, by what they report with their heartbeats, and how many machines may measure at that cost.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::scheduler {

// Any thread. Holds some 100 bytes per machine with a heartbeat within the hour; a heartbeat costs one look-up. What it knows does not survive
// a restart.
class OverheadMeter {
 public:
  static constexpr int64_t kMemoryNs = int64_t{3600} * 1'000'000'000;

  // A daemon's CPU time since its start; less than before: it was restarted. One that says that it took more than a whole CPU is taken
  // at that, so that a false report cannot stop the others. Times are of one clock.
  void heard_from(std::string_view machine_id, int64_t cpu_time_ns, int64_t now_ns);

  // How many CPUs a daemon took on average within the last hour, over all machines. Nothing where no two reports of any machine came.
  std::optional<double> cpus_of_daemon(int64_t now_ns) const;

 private:
  static constexpr size_t kSlots = 60;
  static constexpr int64_t kSlotNs = kMemoryNs / static_cast<int64_t>(kSlots);
  struct Report {
    int64_t cpu_time_ns = 0;
    int64_t at_ns = 0;
  };
  // A minute, of all machines.
  struct Slot {
    int64_t number = 0;
    double cpu_ns = 0;
    double machine_ns = 0;  // the time of all machines that this stands for
  };

  Slot& slot_at(int64_t now_ns);

  mutable std::mutex mutex_;
  boost::unordered_flat_map<std::string, Report> newest_;  // by machine; guarded by mutex_, as are the others
  std::array<Slot, kSlots> slots_;
};

// Of `drawn` machines, how many may measure on average, so that daemons take `max_share` of the fleet's CPU time: as many as measured in each draw of
// the last hour, more or fewer by as much as was left of that or taken beyond it. At least one. All, where nothing was measured yet.
double affordable(size_t drawn, double measured_each, double share, double max_share);

}  // namespace plimsoll::scheduler
