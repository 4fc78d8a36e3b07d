#include "query/wsmeter/construction/cluster_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "query/wsmeter/construction/growing_cluster.h"
#include "query/wsmeter/metric/estimate.h"
#include "query/wsmeter/validation/random.h"

namespace plimsoll::query {
namespace {

struct Fleet {
  std::vector<std::string> names;  // of machines
  std::vector<MachineLoad> machines;
  std::vector<double> weights;  // by job
  // Likewise, between instances, as a share of the mean; nothing where one instance, or performance that is not above 0, tells none.
  std::vector<std::optional<double>> deviations;
};

// Puts instances on their machines.
class FleetBuilder {
 public:
  // Of the job with that number, whose instances have a quota each.
  void add(const std::vector<InstancePerformance>& instances, size_t job, double quota) {
    std::vector<double> performance;
    for (const InstancePerformance& instance : instances) {
      performance.push_back(instance.performance);
      if (instance.machine.empty()) {
        continue;
      }
      const auto [place, is_new] = numbers_.try_emplace(instance.machine, fleet_.machines.size());
      if (is_new) {
        fleet_.names.push_back(instance.machine);
        fleet_.machines.emplace_back();
      }
      MachineLoad& machine = fleet_.machines[place->second];
      machine.jobs.push_back(job);
      machine.quota += quota;
    }
    const Spread spread = spread_of(performance);
    const bool is_known = spread.count > 1 && *std::ranges::min_element(performance) > 0;
    fleet_.deviations.push_back(is_known ? std::optional(std::sqrt(spread.variance) / spread.mean)
                                         : std::nullopt);
  }
  void add_weight(double weight) { fleet_.weights.push_back(weight); }

  Fleet take() { return std::move(fleet_); }

 private:
  std::map<std::string, size_t> numbers_;
  Fleet fleet_;
};

Result<Fleet> fleet_of(const ObservedFleet& observed, const std::string& platform) {
  const auto instances = platform_of(observed.performance, platform);
  if (!instances) {
    return propagate(instances, "the table of performance");
  }
  double all = 0;
  for (const JobQuota& job : observed.jobs) {
    all += job.quota;
  }
  FleetBuilder builder;
  const std::vector<InstancePerformance> none;
  for (size_t i = 0; i < observed.jobs.size(); ++i) {
    const JobQuota& job = observed.jobs[i];
    const auto found = (*instances)->find(job.job);
    const auto& of_job = found == (*instances)->end() ? none : found->second;
    const int64_t there = job.instances.value_or(std::max(int64_t{1}, static_cast<int64_t>(of_job.size())));
    builder.add(of_job, i, job.quota / static_cast<double>(there));
    builder.add_weight(job.quota / all);
  }
  Fleet fleet = builder.take();
  if (fleet.machines.empty()) {
    return with_hint(fail(ErrorCode::kInvalid, "the table of performance has no machines"),
                     "it needs the column machine, and jobs that are in the table of jobs");
  }
  return fleet;
}

Status check_reach(const Fleet& fleet, const ClusterNeed& need) {
  GrowingCluster all(need);
  for (const MachineLoad& machine : fleet.machines) {
    all.add(machine);
  }
  if (all.suffices()) {
    return {};
  }
  return with_hint(fail(ErrorCode::kNotFound,
                        "all {} machines cover {:.4g} % of the quota with {} or more instances per job, less "
                        "than the required {:.4g} %",
                        all.machines(), 100 * all.coverage(), need.min_instances, 100 * need.coverage),
                   "lower --coverage or --min-instances");
}

struct Tries {
  std::vector<size_t> best;  // machines by number, in the order in which they were drawn
  double best_quota = 0;
  double mean_machines = 0;
  double mean_quota = 0;
};

Tries try_clusters(const Fleet& fleet, const ClusterNeed& need, const ClusterRequest& request) {
  Random random(request.seed);
  std::vector<size_t> order(fleet.machines.size());
  std::iota(order.begin(), order.end(), size_t{0});
  Tries tries;
  for (int64_t i = 0; i < request.tries; ++i) {
    random.draw(std::span(order), order.size());
    GrowingCluster cluster(need);
    while (!cluster.suffices() && cluster.machines() < order.size()) {
      cluster.add(fleet.machines[order[cluster.machines()]]);
    }
    const size_t machines = cluster.machines();
    const double quota = cluster.quota();
    tries.mean_machines += static_cast<double>(machines) / static_cast<double>(request.tries);
    tries.mean_quota += quota / static_cast<double>(request.tries);
    if (tries.best.empty() || std::pair(machines, quota) < std::pair(tries.best.size(), tries.best_quota)) {
      tries.best.assign(order.begin(), order.begin() + static_cast<ptrdiff_t>(machines));
      tries.best_quota = quota;
    }
  }
  return tries;
}

// Of the metric of those covered jobs whose deviation is known.
std::string margin_note(const Fleet& fleet, const GrowingCluster& cluster, const ClusterRequest& request) {
  double weight = 0;
  double unknown = 0;
  double variance = 0;
  for (size_t job = 0; job < fleet.weights.size(); ++job) {
    const int64_t instances = cluster.instances()[job];
    if (instances < request.min_instances) {
      continue;
    }
    const std::optional<double> deviation = fleet.deviations[job];
    (deviation ? weight : unknown) += fleet.weights[job];
    variance += std::pow(fleet.weights[job] * deviation.value_or(0), 2) / static_cast<double>(instances);
  }
  if (weight == 0) {
    return "the standard deviations of the covered jobs are unknown";
  }
  return fmt::format(
      "the metric of these jobs would have a margin of {:.4g} %, if instances on a machine were "
      "independent{}",
      100 * request.z * std::sqrt(variance) / weight,
      unknown > 0
          ? fmt::format("; without jobs with {:.3g} % of the quota whose standard deviation is unknown",
                        100 * unknown)
          : "");
}

}  // namespace

Result<Table> cluster_table(const ObservedFleet& observed, const ClusterRequest& request) {
  const auto fleet = fleet_of(observed, request.current);
  if (!fleet) {
    return propagate(fleet);
  }
  const ClusterNeed need{
      .weights = fleet->weights, .min_instances = request.min_instances, .coverage = request.coverage};
  if (auto enough = check_reach(*fleet, need); !enough) {
    return propagate(enough);
  }
  const Tries tries = try_clusters(*fleet, need, request);
  Table table;
  table.columns = {{"machine", ""}, {"instances", ""}, {"quota", ""}, {"coverage", "share"}};
  GrowingCluster best(need);
  for (const size_t number : tries.best) {
    const MachineLoad& machine = fleet->machines[number];
    best.add(machine);
    table.rows.push_back(
        {fleet->names[number], static_cast<int64_t>(machine.jobs.size()), machine.quota, best.coverage()});
  }
  table.notes = {
      fmt::format("{} of {} machines, the fewest of {} clusters; {:.1f} on average, with a quota of {:.6g}",
                  best.machines(), fleet->machines.size(), request.tries, tries.mean_machines,
                  tries.mean_quota),
      fmt::format("its quota is {:.6g}; {:.4g} % of all quota is of jobs with {} instances or more there",
                  best.quota(), 100 * best.coverage(), request.min_instances),
      margin_note(*fleet, best, request)};
  return table;
}

}  // namespace plimsoll::query
