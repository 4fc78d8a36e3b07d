// How much energy the machine used: rows of the machine as a whole, called as perf calls the events (energy-pkg, energy-ram,
// ...), in microjoules.
//
// From the PMU `power` where there is one: the kernel widens its counters. Otherwise from the powercap class in sysfs (Linux,
// Documentation/power/powercap/powercap.rst), whose counters wrap around at max_energy_range_uj.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/events/event_catalogue.h"
#include "daemon/window_counts/window_counts.h"

namespace plimsoll {

// A counter of powercap: a package, or a part of one.
struct EnergyZone {
  std::string event;          // "energy-pkg"; zones of one event add up
  std::string folder;         // of energy_uj
  Result<uint64_t> range_uj;  // it wraps around behind this
};

// The zones "intel-rapl:..." below SYSFS/class/powercap whose kind is known (package, core, uncore, dram, psys).
std::vector<EnergyZone> energy_zones(const std::string& sysfs);

// Reads each zone once at either end of a window. A zone that cannot be read makes its event a missing one of the profile, with
// the privilege that it takes; so does a window so long that a counter may have gone round unseen.
class PowercapEnergy : public WindowCounts {
 public:
  // `now_ns`: monotonic; another clock for tests.
  explicit PowercapEnergy(std::vector<EnergyZone> zones, std::function<int64_t()> now_ns);

  void start() override;
  void add_to(wire::RawProfile& profile, ProfileBuilder& builder) override;

 private:
  struct Reading {
    EnergyZone zone;
    Result<uint64_t> at_start_uj;
  };
  // What the zone used since start().
  Result<uint64_t> used_uj(const Reading& reading, int64_t elapsed_ns) const;

  std::vector<Reading> readings_;
  std::function<int64_t()> now_ns_;
  int64_t start_ns_ = 0;
};

// The energy events of the PMU `power` by their own names; none where there is no such PMU.
std::vector<perf::EventType> power_events(const perf::EventCatalogue& catalogue);

// Whatever this machine has, of the events in `allowed` (none: all); null where it has nothing.
std::unique_ptr<WindowCounts> energy_counts(const perf::EventCatalogue& catalogue,
                                            std::span<const std::string> allowed);

}  // namespace plimsoll
