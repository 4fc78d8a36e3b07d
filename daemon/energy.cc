#include "daemon/energy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/time.h"
#include "daemon/event_source.h"
#include "daemon/machine_counters.h"

namespace plimsoll {
namespace {

constexpr uint64_t kMaxFileBytes = 256;
constexpr size_t kMaxZones = 1024;
// Less than any package takes: a counter cannot have gone round sooner than its range lasts at this.
constexpr uint64_t kMaxWatts = 1000;

// The kinds of zones (their files `name`), and what perf calls the same counters.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kKinds{{{"package", "energy-pkg"},
                                                                               {"core", "energy-cores"},
                                                                               {"uncore", "energy-gpu"},
                                                                               {"dram", "energy-ram"},
                                                                               {"psys", "energy-psys"}}};

Result<std::string> read_line(const std::string& path) {
  const auto text = read_file(path, kMaxFileBytes);
  return text ? text->substr(0, text->find('\n')) : text;
}

Result<uint64_t> read_microjoules(const std::string& path) {
  const auto line = read_line(path);
  if (!line) {
    return line.error().code == ErrorCode::kDenied
               ? with_hint(propagate(line), "energy needs CAP_DAC_READ_SEARCH, or root")
               : propagate(line);
  }
  uint64_t value = 0;
  const auto parsed = std::from_chars(line->data(), line->data() + line->size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != line->data() + line->size()) {
    return fail(ErrorCode::kCorrupt, "{} contains \"{}\", not microjoules", path, *line);
  }
  return value;
}

// "package-0" is a package.
std::string_view event_of_kind(std::string_view name) {
  const auto found =
      std::ranges::find(kKinds, name.substr(0, name.find('-')), [](const auto& kind) { return kind.first; });
  return found == kKinds.end() ? std::string_view() : found->second;
}

}  // namespace

std::vector<EnergyZone> energy_zones(const std::string& sysfs) {
  std::vector<EnergyZone> zones;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(sysfs + "/class/powercap", error), end;
       !error && entry != end && zones.size() < kMaxZones; entry.increment(error)) {
    const std::string folder = entry->path().string();
    const auto name = read_line(folder + "/name");
    const std::string_view event = name ? event_of_kind(*name) : std::string_view();
    // The same counters are there a second time through another interface, as intel-rapl-mmio.
    if (!event.empty() && entry->path().filename().string().starts_with("intel-rapl:")) {
      zones.push_back({std::string(event), folder, read_microjoules(folder + "/max_energy_range_uj")});
    }
  }
  std::ranges::sort(zones, {}, &EnergyZone::folder);
  return zones;
}

PowercapEnergy::PowercapEnergy(std::vector<EnergyZone> zones, std::function<int64_t()> now_ns)
    : now_ns_(std::move(now_ns)) {
  for (EnergyZone& zone : zones) {
    readings_.push_back({std::move(zone), 0});
  }
}

void PowercapEnergy::start() {
  start_ns_ = now_ns_();
  for (Reading& reading : readings_) {
    reading.at_start_uj = read_microjoules(reading.zone.folder + "/energy_uj");
  }
}

Result<uint64_t> PowercapEnergy::used_uj(const Reading& reading, int64_t elapsed_ns) const {
  const auto now_uj = read_microjoules(reading.zone.folder + "/energy_uj");
  if (!reading.at_start_uj || !now_uj) {
    return !now_uj ? now_uj : reading.at_start_uj;
  }
  const Result<uint64_t>& range_uj = reading.zone.range_uj;
  if (!range_uj) {
    return range_uj;
  }
  const auto elapsed_us = static_cast<uint64_t>(elapsed_ns) / 1000;
  if (*range_uj / kMaxWatts < elapsed_us) {
    return fail(ErrorCode::kTooLarge,
                "its counter may have wrapped around more than once in a window of {} s",
                elapsed_ns / kNsPerSecond);
  }
  if (*now_uj >= *reading.at_start_uj) {
    return *now_uj - *reading.at_start_uj;
  }
  return *reading.at_start_uj <= *range_uj
             ? Result<uint64_t>(*range_uj - *reading.at_start_uj + *now_uj)
             : fail(ErrorCode::kCorrupt, "its counter was beyond its own range");
}

void PowercapEnergy::add_to(wire::RawProfile& profile, ProfileBuilder& builder) {
  const int64_t elapsed_ns = now_ns_() - start_ns_;
  std::map<std::string, Result<uint64_t>> used_by_event;
  for (const Reading& reading : readings_) {
    Result<uint64_t>& sum = used_by_event.try_emplace(reading.zone.event, 0).first->second;
    const auto used = used_uj(reading, elapsed_ns);
    // A sum without one of its parts would be too low, and look right.
    sum = !sum || !used ? (!sum ? sum : used) : Result<uint64_t>(*sum + *used);
  }
  for (const auto& [event, used] : used_by_event) {
    if (used) {
      add_machine_count({.name = event, .unit = wire::MICROJOULES, .value = static_cast<double>(*used)},
                        profile, builder);
    } else {
      wire::MissingEvent& missing = *profile.add_missing_events();
      missing.set_name(event);
      missing.set_reason(used.error().text());
    }
  }
}

std::vector<perf::EventType> power_events(const perf::EventCatalogue& catalogue) {
  std::vector<perf::EventType> events;
  for (const perf::Pmu& pmu : catalogue.pmus()) {
    if (pmu.name != "power") {
      continue;
    }
    for (const std::string& name : perf::event_names(pmu)) {
      auto event = perf::encode_terms(pmu, name);
      if (event && event->unit == perf::EventUnit::kMicrojoules) {
        event->name = name;
        events.push_back(std::move(*event));
      }
    }
  }
  return events;
}

std::unique_ptr<WindowCounts> energy_counts(const perf::EventCatalogue& catalogue,
                                            std::span<const std::string> allowed) {
  auto events = power_events(catalogue);
  std::erase_if(events, [&](const perf::EventType& event) { return !is_allowed(event.name, allowed); });
  if (!events.empty()) {
    return std::make_unique<MachineCounters>(events);
  }
  auto zones = energy_zones(catalogue.sysfs());
  std::erase_if(zones, [&](const EnergyZone& zone) { return !is_allowed(zone.event, allowed); });
  return zones.empty() ? nullptr : std::make_unique<PowercapEnergy>(std::move(zones), monotonic_now_ns);
}

}  // namespace plimsoll
