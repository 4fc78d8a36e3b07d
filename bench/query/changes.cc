#include <cstdlib>

#include "bench/query/parts.h"
#include "tests/fleets/changed_windows.h"
#include "tests/fleets/vm_fleet.h"

namespace plimsoll::bench {
namespace {

constexpr double kNominal = 0.02;

// How instances of a job differ on a platform, for each job and platform: factors with a mean of 1.
std::vector<std::vector<double>> factors_of(const std::vector<fleets::MeasuredJob>& jobs) {
  std::vector<std::vector<double>> factors;
  for (const fleets::MeasuredJob& job : jobs) {
    for (const auto& [platform, performance] : job.performance) {
      double mean = 0;
      for (const double value : performance) {
        mean += value / static_cast<double>(performance.size());
      }
      auto& of_job = factors.emplace_back();
      for (const double value : performance) {
        of_job.push_back(value / mean);
      }
    }
  }
  return factors;
}

struct Scenario {
  std::string name;
  fleets::ChangedWindows windows;
};

void measure(const Scenario& scenario, size_t trials, Report& report) {
  // A false alarm is rare: what is to be told from its nominal rate needs more trials.
  const size_t alarm_trials = 10 * trials;
  const fleets::ChangeTrials same = scenario.windows.run(alarm_trials, 1, 1);
  report.add({.name = fmt::format("changes-{}-false-alarms", scenario.name),
              .value = static_cast<double>(same.any) / static_cast<double>(alarm_trials),
              .unit = "share",
              .note = fmt::format("{} of {} comparisons in which nothing had changed; nominal {}", same.any,
                                  alarm_trials, kNominal)});
  const fleets::ChangeTrials changed = scenario.windows.with_machines(500, 500).run(trials, 1.1, 2);
  report.add({.name = fmt::format("changes-{}-found-first", scenario.name),
              .value = static_cast<double>(changed.found_first) / static_cast<double>(trials),
              .unit = "share",
              .better = Better::kHigher,
              .goal = 0.95,
              .note = "2 % of all gain a tenth, on 500 machines a side"});
}

}  // namespace

Status measure_changes(const Flags& flags, Report& report) {
  const size_t trials = flags.quick ? 50 : 1000;
  std::vector<Scenario> scenarios{{"same-machines", fleets::ChangedWindows::lognormal(0.16, true)},
                                  {"other-machines", fleets::ChangedWindows::lognormal(0.16, false)}};
  if (const char* corpus = std::getenv("PLIMSOLL_CORPUS")) {
    const auto jobs = fleets::read_vm_noise(std::string(corpus) + "/vm_noise");
    if (!jobs) {
      return propagate(jobs);
    }
    scenarios.push_back({"vm-noise", fleets::ChangedWindows::measured(factors_of(*jobs), false)});
  }
  for (const Scenario& scenario : scenarios) {
    measure(scenario, trials, report);
  }
  return {};
}

}  // namespace plimsoll::bench
