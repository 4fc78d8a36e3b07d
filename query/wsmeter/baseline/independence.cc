#include "query/wsmeter/baseline/independence.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "query/wsmeter/metric/estimate.h"
#include "statistics/student_t.h"

namespace plimsoll::query {
namespace {

constexpr size_t kMinPlaces = 10;
constexpr double kFamilyError = 0.05;
constexpr double kIgnored = 0.01;
constexpr double kWidened = 0.1;

using MeansByPlace = std::map<std::string, double>;

MeansByPlace means_by_place(const std::vector<InstancePerformance>& instances, Place place) {
  std::map<std::string, std::vector<double>> values;
  for (const InstancePerformance& instance : instances) {
    const std::string& name = place == Place::kMachine ? instance.machine : instance.rack;
    if (!name.empty()) {
      values[name].push_back(instance.performance);
    }
  }
  MeansByPlace means;
  for (const auto& [name, of_place] : values) {
    means[name] = spread_of(of_place).mean;
  }
  return means;
}

double pearson(std::span<const double> x, std::span<const double> y) {
  const Spread of_x = spread_of(x);
  const Spread of_y = spread_of(y);
  double product = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    product += (x[i] - of_x.mean) * (y[i] - of_y.mean);
  }
  const double scale = std::sqrt(of_x.variance * of_y.variance) * static_cast<double>(x.size() - 1);
  return scale > 0 ? std::clamp(product / scale, -1.0, 1.0) : 0;
}

// Two-sided, t = r sqrt((n - 2) / (1 - r^2)).
double p_of(double correlation, size_t places) {
  const auto degrees = static_cast<double>(places - 2);
  const double left = 1 - correlation * correlation;
  return left > 0 ? 2 * statistics::student_t_cdf(-std::abs(correlation) * std::sqrt(degrees / left), degrees)
                  : 0;
}

JobPair pair_of(const MeansByPlace& first, const MeansByPlace& second) {
  std::vector<double> x;
  std::vector<double> y;
  for (const auto& [place, mean] : first) {
    if (const auto found = second.find(place); found != second.end()) {
      x.push_back(mean);
      y.push_back(found->second);
    }
  }
  JobPair pair{.first = {}, .second = {}, .places = x.size()};
  if (x.size() >= kMinPlaces && spread_of(x).variance > 0 && spread_of(y).variance > 0) {
    pair.correlation = pearson(x, y);
    pair.p = p_of(pair.correlation, x.size());
  } else {
    pair.places = 0;
  }
  return pair;
}

double scale_of(std::span<const ComparedJob> jobs, const std::string& name) {
  const auto job = std::ranges::find_if(jobs, [&](const ComparedJob& each) { return each.job.job == name; });
  return job == jobs.end() ? 0 : job->weight * std::sqrt(spread_of(job->current).variance);
}

}  // namespace

std::vector<JobPair> correlated_pairs(std::span<const ComparedJob> jobs, const InstancesByJob& instances,
                                      Place place, size_t heaviest) {
  std::vector<std::pair<std::string, MeansByPlace>> means;
  for (const ComparedJob& job : jobs.first(std::min(heaviest, jobs.size()))) {
    const auto found = instances.find(job.job.job);
    if (found != instances.end()) {
      means.emplace_back(job.job.job, means_by_place(found->second, place));
    }
  }
  std::vector<JobPair> pairs;
  for (size_t i = 0; i < means.size(); ++i) {
    for (size_t j = i + 1; j < means.size(); ++j) {
      JobPair pair = pair_of(means[i].second, means[j].second);
      if (pair.places > 0) {
        pair.first = means[i].first;
        pair.second = means[j].first;
        pairs.push_back(std::move(pair));
      }
    }
  }
  return pairs;
}

Independence judge_independence(std::span<const ComparedJob> jobs, std::span<const JobPair> pairs) {
  double variance = 0;
  for (const ComparedJob& job : jobs) {
    variance += job.weight * job.weight * spread_of(job.current).variance;
  }
  Independence result;
  double covariance = 0;
  for (const JobPair& pair : pairs) {
    if (pair.p < kFamilyError / static_cast<double>(pairs.size())) {
      ++result.significant;
      covariance += 2 * scale_of(jobs, pair.first) * scale_of(jobs, pair.second) * pair.correlation;
    }
  }
  result.widening = variance > 0 ? std::sqrt(std::max(0.0, 1 + covariance / variance)) - 1 : 0;
  return result;
}

std::string recommendation(const Independence& independence) {
  if (independence.widening <= kIgnored) {
    return "ignore";
  }
  return independence.widening <= kWidened
             ? fmt::format("widen margins by {:.1f} %", 100 * independence.widening)
             : fmt::format("add the covariance: margins would be {:.0f} % too narrow",
                           100 * independence.widening);
}

}  // namespace plimsoll::query
