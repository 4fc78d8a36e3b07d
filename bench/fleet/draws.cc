#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <set>

#include "bench/fleet/parts.h"
#include "bench/harness/statistics.h"
#include "bench/store/clock.h"
#include "scheduler/draws/draw_plan.h"
#include "scheduler/draws/population.h"
#include "store/live/live_machine.h"

namespace plimsoll::bench {
namespace {

constexpr size_t kPlatforms = 40;
constexpr size_t kClusters = 25;
constexpr size_t kJobsOfFleet = 5000;
constexpr size_t kJobsOfMachine = 4;
constexpr double kGoalMs = 1000;

// Machines of a thousand strata of uneven sizes, each with some of many jobs, of which few are common.
struct Fleet {
  std::vector<wire::Machine> machines;
  store::PlacedJobs jobs;
  std::vector<scheduler::Candidate> candidates;

  explicit Fleet(size_t count) : machines(count) {
    std::mt19937_64 random(1);
    const auto skewed = [&](size_t bound) {
      const double uniform = static_cast<double>(random() >> 11U) / static_cast<double>(uint64_t{1} << 53U);
      return static_cast<size_t>(std::pow(uniform, 2) * static_cast<double>(bound));
    };
    for (size_t i = 0; i < count; ++i) {
      wire::Machine& machine = machines[i];
      machine.set_id(fmt::format("machine-{:07}", i));
      machine.set_platform(fmt::format("generation {}", skewed(kPlatforms)));
      machine.set_cluster(fmt::format("cluster-{}", skewed(kClusters)));
      std::set<size_t> of_machine;
      for (size_t job = 0; job < kJobsOfMachine; ++job) {
        of_machine.insert(skewed(kJobsOfFleet));
      }
      jobs.add_machine();
      for (const size_t job : of_machine) {
        jobs.add({.job = fmt::format("job-{}", job), .instances = 1});
      }
    }
    for (size_t i = 0; i < count; ++i) {
      candidates.push_back({.machine = &machines[i], .jobs = jobs.of(i)});
    }
  }
};

// What a draw costs without probabilities or minima: the same part of each stratum, by std::sample.
size_t sample_plainly(const scheduler::Population& population, double fraction) {
  std::vector<std::vector<uint32_t>> strata(population.strata.size());
  for (uint32_t machine = 0; machine < population.machines(); ++machine) {
    strata[population.stratum_of[machine]].push_back(machine);
  }
  std::mt19937_64 random(1);
  std::vector<uint32_t> drawn;
  for (const std::vector<uint32_t>& stratum : strata) {
    std::ranges::sample(stratum, std::back_inserter(drawn),
                        std::llround(std::ceil(fraction * static_cast<double>(stratum.size()))), random);
  }
  return drawn.size();
}

}  // namespace

Status measure_draws(const Flags& flags, Report& report) {
  constexpr double kFraction = 0.01;
  const Fleet fleet(flags.quick ? 100'000 : 1'000'000);
  const auto stratification = scheduler::Stratification::make({"platform", "cluster"});
  if (!stratification) {
    return propagate(stratification);
  }
  const auto timed = [](const auto& work) {
    const double start_s = now_s();
    keep(work());
    return (now_s() - start_s) * 1e3;
  };
  const scheduler::Population population = scheduler::population_of(fleet.candidates, *stratification);
  size_t drawn = 0;
  Status failure;
  const std::vector<double> medians = interleaved_medians(
      flags.quick ? 3 : 7, std::vector<std::function<double()>>{
                               [&] {
                                 return timed([&] {
                                   const auto plan = scheduler::DrawPlan::make(
                                       scheduler::population_of(fleet.candidates, *stratification),
                                       {.fraction = kFraction, .min_per_stratum = 2, .min_per_job = 10});
                                   failure = plan ? failure : propagate(plan);
                                   drawn = plan ? plan->draw(1).size() : 0;
                                   return drawn;
                                 });
                               },
                               [&] { return timed([&] { return sample_plainly(population, kFraction); }); }});
  report.add(
      {.name = "draw",
       .value = medians[0],
       .unit = "ms",
       .peer = "std::sample",
       .peer_value = medians[1],
       .goal = kGoalMs,
       .note = fmt::format("{} of {} machines in {} strata, {} jobs; the peer without strata to find, minima "
                           "and probabilities",
                           drawn, population.machines(), population.strata.size(), population.jobs)});
  return failure;
}

}  // namespace plimsoll::bench
