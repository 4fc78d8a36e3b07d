#include <cmath>
#include <optional>

#include "bench/harness/statistics.h"
#include "bench/placement/fleet.h"
#include "bench/placement/glpk_peer.h"
#include "bench/placement/parts.h"

namespace plimsoll::bench {
namespace {

constexpr double kGoalS = 5;
constexpr uint64_t kSeed = 1;
// Of that many jobs GLPK takes seconds; of all, three quarters of a minute.
constexpr size_t kQuickPeerJobs = 2000;

double cpu_s_since(int64_t start_ns) {
  return static_cast<double>(thread_cpu_ns() - start_ns) / 1e9;
}

struct Subject {
  std::string name;
  FleetShape shape;
  std::optional<double> goal_s = {};
  bool has_peer = false;
};

Status add_peer(const query::PlacementProblem& problem, double cost, Measurement& measurement) {
  const int64_t start_ns = thread_cpu_ns();
  const auto least = min_cost_by_glpk(problem);
  if (!least) {
    return propagate(least);
  }
  measurement.peer = "GLPK, primal simplex, presolve";
  measurement.peer_value = cpu_s_since(start_ns);
  measurement.note += fmt::format("; costs differ by {:.1g} of them", std::abs(cost / *least - 1));
  return {};
}

Status measure(const Subject& subject, Report& report) {
  const query::PlacementProblem problem = make_fleet(subject.shape, kSeed);
  std::vector<double> took_s;
  double cost = 0;
  for (int round = 0; round < 3; ++round) {
    const int64_t start_ns = thread_cpu_ns();
    const auto outcome = query::place_jobs(problem);
    took_s.push_back(cpu_s_since(start_ns));
    if (!outcome) {
      return propagate(outcome);
    }
    const auto* placement = std::get_if<query::Placement>(&*outcome);
    cost = placement == nullptr ? 0 : placement->cost;
  }
  Measurement measurement{
      .name = "place-" + subject.name + "-s",
      .value = median(took_s),
      .unit = "s",
      .goal = subject.goal_s,
      .note = fmt::format("{} pairs{}", problem.pairs.size(),
                          cost == 0 ? "; they do not fit, and it is found what is missing" : "")};
  if (subject.has_peer) {
    if (auto added = add_peer(problem, cost, measurement); !added) {
      return added;
    }
  }
  report.add(measurement);
  return {};
}

}  // namespace

Status measure_placements(const Flags& flags, Report& report) {
  const FleetShape large{.jobs = 10'000, .platforms = 20, .known = 1, .capacity = 0.9};
  FleetShape small = large;
  small.jobs = kQuickPeerJobs;
  FleetShape sparse = large;
  sparse.known = 0.3;
  FleetShape roomy = large;
  roomy.capacity = 1.5;
  FleetShape tight = large;
  tight.capacity = 0.82;
  FleetShape short_of_all = large;
  short_of_all.capacity = 0.6;
  const std::vector<Subject> subjects{{"2000-jobs-20-platforms", small, {}, true},
                                      {"10000-jobs-20-platforms", large, kGoalS, !flags.quick},
                                      {"10000-jobs-20-platforms-tight", tight, kGoalS},
                                      {"10000-jobs-20-platforms-roomy", roomy, kGoalS},
                                      {"10000-jobs-20-platforms-sparse", sparse, kGoalS},
                                      {"10000-jobs-20-platforms-short", short_of_all, kGoalS}};
  for (const Subject& subject : subjects) {
    if (auto done = measure(subject, report); !done) {
      return propagate(done, "{}", subject.name);
    }
  }
  return {};
}

}  // namespace plimsoll::bench
