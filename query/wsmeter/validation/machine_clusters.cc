#include "query/wsmeter/validation/machine_clusters.h"

#include <algorithm>
#include <cmath>

#include "statistics/student_t.h"

namespace plimsoll::query {
namespace {

constexpr uint64_t kMinOnMachine = 6;
constexpr uint64_t kMaxOnMachine = 10;
constexpr size_t kMinMachines = 4;
constexpr double kUpperTail = 0.975;

// The instances that are on no machine yet: of each job its first `left`, in random order.
class Unplaced {
 public:
  Unplaced(std::span<const ComparedJob> jobs, Random& random) : jobs_(jobs), random_(random) {
    for (const ComparedJob& job : jobs) {
      instances_.push_back(job.other);
      random.draw(std::span(instances_.back()), job.other.size());
      left_ += job.other.size();
    }
  }

  bool is_empty() const { return left_ == 0; }

  MachineSums next_machine() {
    MachineSums machine;
    std::vector<size_t> taken;
    const uint64_t size = kMinOnMachine + random_.below(kMaxOnMachine - kMinOnMachine + 1);
    uint64_t of_others = left_;  // of the jobs that are not on the machine
    while (taken.size() < size && of_others > 0) {
      const size_t job = draw_job(taken, of_others);
      of_others -= instances_[job].size();
      taken.push_back(job);
    }
    for (const size_t job : taken) {
      put(job, machine);
    }
    return machine;
  }

 private:
  size_t draw_job(const std::vector<size_t>& taken, uint64_t of_others) {
    uint64_t place = random_.below(of_others);
    for (size_t job = 0;; ++job) {
      if (std::ranges::find(taken, job) != taken.end()) {
        continue;
      }
      if (place < instances_[job].size()) {
        return job;
      }
      place -= instances_[job].size();
    }
  }

  void put(size_t job, MachineSums& machine) {
    const auto all = static_cast<int64_t>(jobs_[job].other.size());
    const double quota = jobs_[job].job.quota / static_cast<double>(all);
    machine.quota += quota;
    machine.performance += quota * instances_[job].back();
    machine.cost += jobs_[job].cost_of_one(all);
    ++machine.instances;
    instances_[job].pop_back();
    --left_;
  }

  std::span<const ComparedJob> jobs_;
  Random& random_;
  std::vector<std::vector<double>> instances_;
  uint64_t left_ = 0;
};

double sum_of(std::span<const MachineSums> machines, double MachineSums::* part) {
  double sum = 0;
  for (const MachineSums& machine : machines) {
    sum += machine.*part;
  }
  return sum;
}

MetricEstimate with_margin(double value, double variance, double degrees) {
  MetricEstimate estimate{.value = value, .deviation = std::sqrt(variance), .degrees = degrees};
  estimate.margin =
      variance > 0 ? statistics::student_t_quantile(kUpperTail, degrees) * estimate.deviation : 0;
  return estimate;
}

}  // namespace

std::vector<MachineSums> pack_machines(std::span<const ComparedJob> jobs, Random& random) {
  std::vector<MachineSums> machines;
  for (Unplaced unplaced(jobs, random); !unplaced.is_empty();) {
    machines.push_back(unplaced.next_machine());
  }
  return machines;
}

MetricEstimate metric_of_machines(std::span<const MachineSums> sample, size_t population) {
  const double all = sum_of(sample, &MachineSums::quota);
  const double ratio = sum_of(sample, &MachineSums::performance) / all;
  double variance = 0;
  double squares = 0;
  for (const MachineSums& machine : sample) {
    const double residual = (machine.performance - ratio * machine.quota) / all;
    const double part = residual * residual / (1 - machine.quota / all);
    variance += part;
    squares += part * part;
  }
  const auto count = static_cast<double>(sample.size());
  const double of_variance =
      std::max(squares - variance * variance / count, 2 * variance * variance / (count + 1));
  const double degrees = of_variance > 0 ? std::min(count - 1, 2 * variance * variance / of_variance) : count;
  return with_margin(ratio, variance * (1 - count / static_cast<double>(population)), degrees);
}

MetricEstimate expected_of_machines(std::span<const MachineSums> all, size_t count) {
  const double ratio = sum_of(all, &MachineSums::performance) / sum_of(all, &MachineSums::quota);
  const double mean = sum_of(all, &MachineSums::quota) / static_cast<double>(all.size());
  double variance = 0;  // of one machine
  for (const MachineSums& machine : all) {
    variance += std::pow((machine.performance - ratio * machine.quota) / mean, 2);
  }
  variance /= std::max(1.0, static_cast<double>(all.size()) - 1);
  const double left = 1 / static_cast<double>(count) - 1 / static_cast<double>(all.size());
  return with_margin(ratio, variance * left, static_cast<double>(count) - 1);
}

size_t machines_for(std::span<const MachineSums> all, double margin) {
  size_t low = std::min(kMinMachines, all.size());
  size_t high = all.size();
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (expected_of_machines(all, middle).margin <= margin) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace plimsoll::query
