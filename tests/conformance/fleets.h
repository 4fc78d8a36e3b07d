// The implementations of Fleet that the conformance suite runs on; MemoryFleet is the definition.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "store/access/access_store.h"
#include "store/directory/data_directory.h"
#include "store/draws/draw_store.h"
#include "store/fleet.h"
#include "store/live/live_machines.h"

namespace plimsoll::testing {

// What servers write, and a fleet shows.
class TestedFleet {
 public:
  TestedFleet() = default;
  TestedFleet(const TestedFleet&) = delete;
  TestedFleet& operator=(const TestedFleet&) = delete;
  virtual ~TestedFleet() = default;

  virtual const store::Fleet& fleet() const = 0;
  // Registers it, or it is heard of again, with what runs on it; times do not decrease.
  virtual Status hear(const wire::Machine& machine, const store::Census& census, int64_t now_ns) = 0;
  // As DrawStore and AccessStore have it.
  virtual Status add(const store::DrawWithMachines& draw) = 0;
  virtual Status replace_stops(const std::vector<store::Stop>& stops) = 0;
  virtual Status keep(const store::ExperimentDefinition& experiment) = 0;
  virtual Status add(const store::AskedFor& asked) = 0;
};

inline constexpr int64_t kFleetHeartbeatNs = 5'000'000'000;

class MemoryFleet : public TestedFleet, public store::Fleet {
 public:
  const store::Fleet& fleet() const override { return *this; }

  Status hear(const wire::Machine& machine, const store::Census& census, int64_t now_ns) override {
    heard_.push_back({machine, census, now_ns});
    return {};
  }
  Status add(const store::DrawWithMachines& draw) override {
    draws_.push_back(draw);
    return {};
  }
  Status replace_stops(const std::vector<store::Stop>& stops) override {
    stops_ = stops;
    return {};
  }
  Status keep(const store::ExperimentDefinition& experiment) override {
    std::erase_if(experiments_, [&](const auto& known) { return known.name == experiment.name; });
    experiments_.push_back(experiment);
    return {};
  }
  Status add(const store::AskedFor& asked) override {
    asked_.push_back(asked);
    return {};
  }

  Result<int64_t> count_machines() const override {
    return static_cast<int64_t>(machines_at(INT64_MAX).size());
  }
  Result<std::vector<store::LiveMachine>> machines() const override { return machines_at(INT64_MAX); }
  Result<store::CurrentFleet> current() const override {
    store::CurrentFleet current{.machines = machines_at(INT64_MAX), .censuses = {}};
    for (const store::LiveMachine& machine : current.machines) {
      for (const Heard& heard : heard_) {
        if (heard.machine.id() == machine.attributes.id()) {
          std::erase_if(current.censuses, [&](const store::Census& census) {
            return census.machine_id == heard.census.machine_id;
          });
          current.censuses.push_back(heard.census);
        }
      }
    }
    return current;
  }
  Result<std::optional<store::PastFleet>> at(int64_t time_ns) const override {
    if (heard_.empty()) {
      return std::optional<store::PastFleet>();
    }
    return store::PastFleet{.at_ns = time_ns, .machines = machines_at(time_ns), .jobs = {}};
  }

  Result<std::optional<store::DrawWithMachines>> draw(std::string_view id) const override {
    const auto found = std::ranges::find_if(draws_, [&](const auto& draw) { return draw.draw.id == id; });
    return found == draws_.end() ? std::nullopt : std::optional(*found);
  }
  Result<std::vector<store::DrawWithMachines>> newest_draws(size_t limit) const override {
    auto draws = draws_;
    std::ranges::sort(draws, std::greater(), [](const auto& draw) { return draw.draw.made_ns; });
    draws.resize(std::min(draws.size(), limit));
    return draws;
  }
  Result<int64_t> count_draws() const override { return static_cast<int64_t>(draws_.size()); }
  Result<std::vector<store::DrawnWeight>> drawn_weights(std::string_view id) const override {
    std::vector<store::DrawnWeight> weights;
    for (const store::DrawWithMachines& draw : draws_) {
      if (draw.draw.id == id) {
        for (const store::DrawStratum& stratum : draw.draw.strata) {
          weights.push_back({stratum.name, static_cast<size_t>(stratum.drawn), stratum.drawn_weight});
        }
      }
    }
    return weights;
  }
  Result<std::vector<store::Stop>> stops() const override { return stops_; }
  Result<std::vector<store::ExperimentDefinition>> experiments() const override {
    auto sorted = experiments_;
    std::ranges::sort(sorted, {}, &store::ExperimentDefinition::name);
    return sorted;
  }

  Result<std::vector<store::AskedFor>> newest_requests(size_t limit, int64_t since_ns) const override {
    auto newest = asked_;
    std::erase_if(newest, [&](const store::AskedFor& asked) { return asked.last_ns < since_ns; });
    std::ranges::sort(newest, std::greater(), &store::AskedFor::last_ns);
    newest.resize(std::min(newest.size(), limit));
    return newest;
  }
  Result<std::vector<store::CallerUse>> callers(size_t limit, int64_t since_ns) const override {
    std::vector<store::CallerUse> callers;
    const auto newest = newest_requests(asked_.size(), since_ns);
    for (const store::AskedFor& asked : *newest) {
      auto known = std::ranges::find(callers, asked.caller, &store::CallerUse::caller);
      if (known == callers.end()) {
        known = callers.insert(known, {asked.caller, asked.first_ns, asked.last_ns, 0, 0});
      }
      known->first_ns = std::min(known->first_ns, asked.first_ns);
      known->count += asked.count;
      known->refused += asked.status >= 400 && asked.status < 500 ? asked.count : 0;
    }
    callers.resize(std::min(callers.size(), limit));
    return callers;
  }

 private:
  struct Heard {
    wire::Machine machine;
    store::Census census;
    int64_t now_ns;
  };

  // By ID.
  std::vector<store::LiveMachine> machines_at(int64_t time_ns) const {
    std::map<std::string, store::LiveMachine> machines;
    for (const Heard& heard : heard_) {
      if (heard.now_ns <= time_ns) {
        store::LiveMachine& machine = machines[heard.machine.id()];
        machine.first_seen_ns = machine.first_seen_ns == 0 ? heard.now_ns : machine.first_seen_ns;
        machine.last_seen_ns = heard.now_ns;
        machine.heartbeat_ns = kFleetHeartbeatNs;
        machine.attributes = heard.machine;
      }
    }
    std::vector<store::LiveMachine> sorted;
    for (auto& [id, machine] : machines) {
      sorted.push_back(std::move(machine));
    }
    return sorted;
  }

  std::vector<Heard> heard_;
  std::vector<store::DrawWithMachines> draws_;
  std::vector<store::Stop> stops_;
  std::vector<store::ExperimentDefinition> experiments_;
  std::vector<store::AskedFor> asked_;
};

// The databases of a data directory, each made when something is written to it.
class TestedLocalFleet : public TestedFleet {
 public:
  explicit TestedLocalFleet(const std::string& folder)
      : directory_(*store::DataDirectory::open_for_writing(folder + "/data")),
        fleet_(store::open_fleet(directory_.path())) {}

  const store::Fleet& fleet() const override { return *fleet_; }

  Status hear(const wire::Machine& machine, const store::Census& census, int64_t now_ns) override {
    auto live = store::LiveMachines::open(directory_.live_path(), sqlite::OpenMode::kReadWrite);
    const Status registered =
        live ? live->register_machine(machine, now_ns, kFleetHeartbeatNs) : propagate(live);
    const auto seen =
        registered ? live->machine_seen(machine.id(), machine.boot_id(), now_ns, kFleetHeartbeatNs, &census)
                   : propagate(registered);
    return seen ? Status() : propagate(seen);
  }
  Status add(const store::DrawWithMachines& draw) override {
    auto draws = open_draws();
    return draws ? draws->add(draw) : propagate(draws);
  }
  Status replace_stops(const std::vector<store::Stop>& stops) override {
    auto draws = open_draws();
    return draws ? draws->replace_stops(stops, 1, "by hand") : propagate(draws);
  }
  Status keep(const store::ExperimentDefinition& experiment) override {
    auto draws = open_draws();
    return draws ? draws->keep_experiment(experiment) : propagate(draws);
  }
  Status add(const store::AskedFor& asked) override {
    auto access = store::AccessStore::open(directory_.access_path(), sqlite::OpenMode::kReadWrite);
    return access ? access->add({asked}, {.now_ns = asked.last_ns, .passed_ns = 0},
                                {INT64_MAX, INT64_MAX, INT64_MAX})
                  : propagate(access);
  }

 private:
  Result<store::DrawStore> open_draws() const {
    return store::DrawStore::open(directory_.draws_path(), sqlite::OpenMode::kReadWrite);
  }

  const store::DataDirectory directory_;
  const std::unique_ptr<store::Fleet> fleet_;
};

struct FleetImplementation {
  std::string name;
  // It may keep files in `folder`.
  std::function<std::unique_ptr<TestedFleet>(const std::string& folder)> make;
};

inline void PrintTo(const FleetImplementation& implementation, std::ostream* out) {
  *out << implementation.name;
}

}  // namespace plimsoll::testing
