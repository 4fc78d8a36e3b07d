#include "diagnosis/localization/feature_changes.h"

#include <algorithm>
#include <numeric>

#include "statistics/binomial.h"
#include "statistics/rank_test.h"
#include "statistics/robust.h"

namespace plimsoll::diagnosis {
namespace {

constexpr double kMinExcessMs = 1;
constexpr double kMinZ = 4;
constexpr size_t kMinRequests = 3;
constexpr double kUpperShare = 0.9;
// So many requests over the reference's upper decile, or more, come by chance in this share of windows: then slow requests are compared
// by upper deciles ...
constexpr double kUpperAlpha = 0.001;
// ... and by medians, which one slow request does not move, where it may have been chance: two of four.
constexpr double kMedianAlpha = 0.06;

constexpr double kMinWeight = 0.1;

double p_of_upper_part(const std::vector<double>& window, double decile) {
  const auto above =
      static_cast<double>(std::ranges::count_if(window, [decile](double ms) { return ms > decile; }));
  return statistics::binomial_upper_tail(above, static_cast<double>(window.size()), 1 - kUpperShare);
}

FeatureChange change_of(const std::vector<double>& window, const std::vector<double>& reference) {
  FeatureChange change{.window_requests = window.size(), .reference_requests = reference.size()};
  if (window.size() < kMinRequests || reference.size() < kMinRequests) {
    return change;
  }
  const statistics::RankTest test = statistics::mann_whitney(window, reference);
  change.z = test.z;
  change.auc = test.auc;
  change.usual_ms = statistics::quantile_of_sorted(reference, 0.5);
  change.current_ms = statistics::quantile_of_sorted(window, 0.5);
  const double decile = statistics::quantile_of_sorted(reference, kUpperShare);
  const double p = p_of_upper_part(window, decile);
  double excess_ms = 0;
  if (p < kUpperAlpha) {
    excess_ms = statistics::quantile_of_sorted(window, kUpperShare) - decile;
  }
  if (test.z > kMinZ || p < kMedianAlpha) {
    excess_ms = std::max(excess_ms, change.current_ms - change.usual_ms);
  }
  // Weighted by how many of the requests it is: a stall of one in ten says less than a delay of all.
  excess_ms *= std::max(kMinWeight, 2 * test.auc - 1);
  change.excess_ms = excess_ms < kMinExcessMs ? 0 : excess_ms;
  return change;
}

}  // namespace

std::vector<FeatureChange> feature_changes(const Observations& observations, const Sides& sides) {
  std::vector<FeatureChange> changes;
  changes.reserve(observations.features.size());
  std::vector<double> window;
  std::vector<double> reference;
  for (const auto& requests : observations.by_request) {
    window.clear();
    reference.clear();
    for (const RequestMean& request : requests) {
      const Side side = sides[request.trace];
      if (side != Side::kNeither) {
        (side == Side::kWindow ? window : reference).push_back(static_cast<double>(request.ms));
      }
    }
    changes.push_back(change_of(window, reference));
  }
  return changes;
}

double total_excess_ms(const std::vector<FeatureChange>& changes) {
  return std::accumulate(changes.begin(), changes.end(), 0.0,
                         [](double sum, const FeatureChange& change) { return sum + change.excess_ms; });
}

}  // namespace plimsoll::diagnosis
