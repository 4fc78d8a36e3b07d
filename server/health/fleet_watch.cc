#include "server/health/fleet_watch.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/no_exceptions.h"
#include "base/time.h"
#include "server/background/work_kinds.h"

namespace plimsoll::server {
namespace {

constexpr std::chrono::nanoseconds kInterval = std::chrono::seconds(10);

Status count_machines(const store::Fleet& fleet, int64_t now_ns, MeasuredFacts& facts) {
  const auto machines = fleet.machines();
  if (!machines) {
    return propagate(machines);
  }
  for (const store::LiveMachine& machine : *machines) {
    if (machine.first_seen_ns == 0) {
      continue;  // of the inventory alone
    }
    MeasuredFacts::Machines& counts = facts.machines_by_version[machine.attributes.daemon_version()];
    ++(machine.is_live(now_ns) ? counts.live : counts.offline);
  }
  limit_versions(facts.machines_by_version);
  return {};
}

Status count_stops(const store::Fleet& fleet, MeasuredFacts& facts) {
  const auto stops = fleet.stops();
  if (!stops) {
    return propagate(stops);
  }
  for (const store::Stop& stop : *stops) {
    if (stop.step != store::StopStep::kAll) {
      ++(stop.by_hand ? facts.stops_by_hand : facts.stops_by_failures);
    }
  }
  return {};
}

}  // namespace

void limit_versions(std::map<std::string, MeasuredFacts::Machines>& machines_by_version) {
  if (machines_by_version.size() <= kMaxVersions) {
    return;
  }
  using Entry = std::pair<std::string, MeasuredFacts::Machines>;
  std::vector<Entry> entries(machines_by_version.begin(), machines_by_version.end());
  std::ranges::sort(entries, {}, [](const Entry& entry) {
    return std::pair(-(entry.second.live + entry.second.offline), entry.first);
  });
  machines_by_version = {entries.begin(), entries.begin() + kMaxVersions};
  MeasuredFacts::Machines& other = machines_by_version["other"];
  for (size_t i = kMaxVersions; i < entries.size(); ++i) {
    other.live += entries[i].second.live;
    other.offline += entries[i].second.offline;
  }
}

FleetWatch::FleetWatch(std::string data_dir, BackgroundWork& work)
    : data_dir_(std::move(data_dir)),
      fleet_(store::open_fleet(data_dir_)),
      task_(work.start(kHealth, [this](const std::stop_token&) { return run(); })) {}

MeasuredFacts FleetWatch::newest() {
  task_.wait_for_first_pass();
  const std::lock_guard lock(mutex_);
  return newest_;
}

Result<NextPass> FleetWatch::run() {
  MeasuredFacts facts{.measured_ns = wall_now_ns()};
  const Status measured = no_exceptions(kHealth.what, [&] { return measure(facts); });
  facts.store_error = measured ? std::string() : measured.error().text();
  {
    const std::lock_guard lock(mutex_);
    newest_ = std::move(facts);
  }
  return measured ? Result<NextPass>(NextPass{.after = kInterval}) : propagate(measured);
}

Status FleetWatch::measure(MeasuredFacts& facts) {
  if (!meter_) {
    auto meter = store::StoreHealthMeter::open(data_dir_);
    if (!meter) {
      return propagate(meter);
    }
    meter_ = std::move(*meter);
  }
  const auto store = meter_->measure();
  const Status machines = count_machines(*fleet_, facts.measured_ns, facts);
  const Status stops = count_stops(*fleet_, facts);
  if (store) {
    facts.store = *store;
  }
  return !store ? propagate(store) : !machines ? machines : stops;
}

}  // namespace plimsoll::server
