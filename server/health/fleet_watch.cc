#include "server/health/fleet_watch.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/log.h"
#include "base/no_exceptions.h"
#include "base/time.h"
#include "store/draws/draw_store.h"
#include "store/live/live_machines.h"

namespace plimsoll::server {
namespace {

constexpr std::chrono::nanoseconds kMinPause = std::chrono::seconds(10);
// Pauses are so many times as long as the measurement before them.
constexpr int kPauseFactor = 50;

Status count_machines(const store::DataDirectory& directory, int64_t now_ns, MeasuredFacts& facts) {
  auto opened = store::LiveMachines::open_if_there(directory.live_path());
  if (!opened) {
    return propagate(opened);
  }
  std::optional<store::LiveMachines>& store = *opened;
  if (!store) {
    return {};
  }
  const auto machines = store->machines();
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

Status count_stops(const store::DataDirectory& directory, MeasuredFacts& facts) {
  auto opened = store::DrawStore::open_if_there(directory.draws_path());
  if (!opened) {
    return propagate(opened);
  }
  std::optional<store::DrawStore>& store = *opened;
  if (!store) {
    return {};
  }
  const auto stops = store->stops();
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

std::unique_ptr<FleetWatch> FleetWatch::start(std::string data_dir) {
  return std::unique_ptr<FleetWatch>(new FleetWatch(std::move(data_dir)));
}

FleetWatch::FleetWatch(std::string data_dir)
    : data_dir_(std::move(data_dir)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

MeasuredFacts FleetWatch::newest() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, thread_.get_stop_token(), [this] { return newest_.has_value(); });
  return newest_.value_or(MeasuredFacts());
}

void FleetWatch::run(const std::stop_token& stop) {
  std::string logged;
  while (!stop.stop_requested()) {
    const auto start = std::chrono::steady_clock::now();
    MeasuredFacts facts = measure();
    if (facts.store_error != logged && !facts.store_error.empty()) {
      log_error("measuring the server's health: {}", facts.store_error);
    }
    logged = facts.store_error;
    const auto pause = std::max<std::chrono::nanoseconds>(
        kMinPause, kPauseFactor * (std::chrono::steady_clock::now() - start));
    std::unique_lock lock(mutex_);
    newest_ = std::move(facts);
    changed_.notify_all();
    changed_.wait_for(lock, stop, pause, [] { return false; });
  }
}

MeasuredFacts FleetWatch::measure() {
  MeasuredFacts facts{.measured_ns = wall_now_ns()};
  const Status measured = no_exceptions("measuring the data directory", [&]() -> Status {
    const auto directory = store::DataDirectory::open_for_reading(data_dir_);
    if (!directory) {
      return propagate(directory);
    }
    if (!meter_) {
      auto meter = store::StoreHealthMeter::open(data_dir_);
      if (!meter) {
        return propagate(meter);
      }
      meter_ = std::move(*meter);
    }
    const auto store = meter_->measure();
    const Status machines = count_machines(*directory, facts.measured_ns, facts);
    const Status stops = count_stops(*directory, facts);
    if (store) {
      facts.store = *store;
    }
    return !store ? propagate(store) : !machines ? machines : stops;
  });
  facts.store_error = measured ? std::string() : measured.error().text();
  return facts;
}

}  // namespace plimsoll::server
