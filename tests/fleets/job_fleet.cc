#include "tests/fleets/job_fleet.h"

#include <algorithm>
#include <utility>

#include "tests/fleets/machine_mix.h"

namespace plimsoll::fleets {
namespace {

constexpr size_t kJobs = 40;

enum Column : size_t {
  kCycles = 0,
  kFirstFunction = 1,
  kInstructions = kFirstFunction + static_cast<size_t>(kFunctions),
  kLargeJobCycles,
  kLargeJobInstructions,
  kColumns,
};

size_t column_of(Function function) {
  return kFirstFunction + static_cast<size_t>(function);
}

std::vector<Question> questions() {
  std::vector<Question> questions;
  const auto add_share = [&](const char* name, Function function) {
    questions.push_back({name, Statistic::kShare, column_of(function), kCycles});
  };
  add_share("copying", kCopying);
  add_share("collection", kCollection);
  add_share("large-job", kLargeJob);
  add_share("middle-job", kMiddleJob);
  add_share("small-job", kSmallJob);
  add_share("cold", kColdAnywhere);
  questions.push_back({"ipc", Statistic::kRatio, kInstructions, kCycles});
  questions.push_back({"ipc-large-job", Statistic::kRatio, kLargeJobInstructions, kLargeJobCycles});
  questions.push_back({"total", Statistic::kTotal, kCycles, kCycles});
  return questions;
}

Fleet empty_fleet(const char* name) {
  Fleet fleet;
  fleet.name = name;
  fleet.parts = kFunctions;
  fleet.hits.resize(kColumns);
  fleet.questions = questions();
  return fleet;
}

void add_machine(const MachineHits& machine, double load, uint32_t stratum, Fleet& fleet) {
  fleet.machines.push_back({.stratum = stratum});
  fleet.hits[kCycles].push_back(load * machine.cycles);
  for (size_t function = 0; function < kFunctions; ++function) {
    fleet.hits[kFirstFunction + function].push_back(load * machine.functions.at(function));
  }
  fleet.hits[kInstructions].push_back(load * machine.instructions);
  fleet.hits[kLargeJobCycles].push_back(load * machine.large_job_cycles);
  fleet.hits[kLargeJobInstructions].push_back(load * machine.large_job_instructions);
}

constexpr double kUsualSpread = 0.7;

MachineMix usual_mix(Random& random) {
  return {make_jobs(kJobs, random), kUsualSpread};
}

}  // namespace

Fleet plain_fleet(double fraction, size_t machines, Random& random) {
  const MachineMix mix = usual_mix(random);
  Fleet fleet = empty_fleet("plain");
  for (size_t i = 0; i < machines; ++i) {
    add_machine(mix.make(0, {}, random), 1, 0, fleet);
  }
  draw_evenly(fraction, 1, fleet);
  return fleet;
}

Fleet skewed_fleet(double fraction, size_t machines, Random& random) {
  const MachineMix mix(make_jobs(kJobs, random), 1.5);
  Fleet fleet = empty_fleet("skewed");
  for (size_t i = 0; i < machines; ++i) {
    add_machine(mix.make(0, {}, random), 1, 0, fleet);
  }
  draw_evenly(fraction, 1, fleet);
  return fleet;
}

Fleet clustered_fleet(double fraction, size_t machines, Random& random) {
  constexpr size_t kRack = 20;
  const MachineMix mix = usual_mix(random);
  Fleet fleet = empty_fleet("clustered");
  std::vector<size_t> own(2);
  for (size_t i = 0; i < machines; ++i) {
    if (i % kRack == 0) {
      std::ranges::generate(own, [&] { return std::uniform_int_distribution<size_t>(0, kJobs - 1)(random); });
    }
    add_machine(mix.make(0.8, own, random), 1, 0, fleet);
  }
  draw_evenly(fraction, 1, fleet);
  return fleet;
}

Fleet rare_stratum_fleet(double fraction, size_t machines, Random& random) {
  const MachineMix mix = usual_mix(random);
  Fleet fleet = empty_fleet("rare-stratum");
  for (size_t i = 0; i < machines; ++i) {
    const size_t place = i * 100 / machines;
    const uint32_t stratum = place < 60 ? 0 : place < 90 ? 1 : place < 98 ? 2 : 3;
    add_machine(mix.make(stratum == 3 ? 0.9 : 0, {11}, random), 1, stratum, fleet);
  }
  draw_evenly(fraction, 2, fleet);
  return fleet;
}

Fleet silent_fleet(double fraction, size_t machines, Random& random) {
  constexpr std::array<double, 3> kAnswering{0.95, 0.8, 0.6};
  const MachineMix mix = usual_mix(random);
  Fleet fleet = empty_fleet("silent");
  for (size_t i = 0; i < machines; ++i) {
    const auto stratum = static_cast<uint32_t>(i * kAnswering.size() / machines);
    add_machine(mix.make(0.3, {stratum, stratum + 3}, random), 1, stratum, fleet);
    fleet.machines.back().response_probability = kAnswering.at(stratum);
  }
  draw_evenly(fraction, 1, fleet);
  return fleet;
}

Fleet unequal_fleet(double fraction, size_t machines, Random& random) {
  Fleet fleet = plain_fleet(fraction, machines, random);
  fleet.name = "unequal";
  fleet.selection = statistics::Selection::kIndependent;
  for (size_t i = 0; i < machines; ++i) {
    const bool has_small_job = fleet.hits[column_of(kSmallJob)][i] > 0;
    fleet.machines[i].inclusion_probability = std::min(1.0, fraction * (has_small_job ? 3 : 1));
  }
  return fleet;
}

Fleet repeated_fleet(double fraction, size_t machines, Random& random) {
  constexpr uint32_t kDraws = 4;
  const MachineMix mix = usual_mix(random);
  Fleet fleet = empty_fleet("repeated");
  for (size_t i = 0; i < machines; ++i) {
    const MachineHits machine = mix.make(0, {}, random);
    for (uint32_t draw = 0; draw < kDraws; ++draw) {
      add_machine(machine, std::gamma_distribution<double>(10, 0.1)(random), draw, fleet);
    }
  }
  draw_evenly(fraction / kDraws, 1, fleet);
  return fleet;
}

Fleet throttled_fleet(double fraction, size_t machines, Random& random) {
  Fleet fleet = plain_fleet(fraction, machines, random);
  fleet.name = "throttled";
  for (Machine& machine : fleet.machines) {
    machine.slowdown = static_cast<double>(1U << std::uniform_int_distribution<uint32_t>(1, 6)(random));
    machine.slow_part = std::uniform_real_distribution<double>(0, 1)(random);
  }
  return fleet;
}

Fleet profiles_fleet(double fraction, size_t machines, bool is_rolled_up, Random& random) {
  constexpr size_t kProfiles = 6;
  Fleet fleet = plain_fleet(fraction, machines, random);
  fleet.name = is_rolled_up ? "rolled-up" : "profiles";
  for (Machine& machine : fleet.machines) {
    machine.profiles = kProfiles;
    machine.is_rolled_up = is_rolled_up;
  }
  return fleet;
}

std::vector<Fleet> all_fleets(double fraction, size_t machines, Random& random) {
  std::vector<Fleet> fleets;
  for (const auto make : {plain_fleet, skewed_fleet, clustered_fleet, rare_stratum_fleet, silent_fleet,
                          unequal_fleet, repeated_fleet, throttled_fleet}) {
    fleets.push_back(make(fraction, machines, random));
  }
  return fleets;
}

}  // namespace plimsoll::fleets
