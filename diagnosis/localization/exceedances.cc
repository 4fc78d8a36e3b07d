#include "diagnosis/localization/exceedances.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "statistics/binomial.h"
#include "statistics/false_discovery.h"
#include "statistics/rank_test.h"
#include "statistics/robust.h"

namespace plimsoll::diagnosis {
namespace {

// The middle of fewer calls is one of the calls to be judged.
constexpr size_t kMinCallsOfRequest = 8;
constexpr size_t kMinCallsOfReplica = 5;
constexpr size_t kMinCallsOfFeature = 20;
constexpr size_t kMinExceeding = 3;
// Where a slow child's span is lost, its time is its parent's: on one replica, too, but in few calls.
constexpr double kMinExceedingShare = 0.04;
// A replica that is slower by little is no fault, however many calls show it.
constexpr double kMinAuc = 0.65;
// Calls of equal length by the clock's resolution do not scatter.
constexpr double kMinDeviation = 0.05;
constexpr float kMinMs = 1e-3F;
// Differences of less are those of clocks, whatever their rank.
constexpr double kMinReplicaExcessMs = 0.05;

struct Call {
  uint32_t trace = 0;
  uint32_t replica = 0;
  uint32_t callee_replica = 0;
  float ms = 0;
  float residual = 0;
};

double log_ms(float ms) {
  return std::log(static_cast<double>(std::max(ms, kMinMs)));
}

// Of the window, with the features' medians taken away; empty for features with too few calls.
std::vector<std::vector<Call>> calls_of_window(const Observations& observations, const Sides& sides) {
  std::vector<std::vector<Call>> by_feature(observations.features.size());
  for (size_t feature = 0; feature < by_feature.size(); ++feature) {
    auto& calls = by_feature[feature];
    for (const Observation& call : observations.by_feature[feature]) {
      if (sides[call.trace] == Side::kWindow) {
        calls.push_back({call.trace, call.replica, call.callee_replica, call.ms, 0});
      }
    }
    if (calls.size() < kMinCallsOfFeature) {
      calls.clear();
      continue;
    }
    // They come by ascending time.
    const double middle = log_ms(calls[calls.size() / 2].ms);
    for (Call& call : calls) {
      call.residual = static_cast<float>(log_ms(call.ms) - middle);
    }
  }
  return by_feature;
}

void take_request_medians_away(size_t traces, std::vector<std::vector<Call>>& by_feature) {
  std::vector<std::vector<double>> residuals(traces);
  for (const auto& calls : by_feature) {
    for (const Call& call : calls) {
      residuals[call.trace].push_back(static_cast<double>(call.residual));
    }
  }
  std::vector<float> medians(traces);
  for (size_t trace = 0; trace < traces; ++trace) {
    if (residuals[trace].size() >= kMinCallsOfRequest) {
      medians[trace] = static_cast<float>(statistics::median_of(residuals[trace]));
    }
  }
  for (auto& calls : by_feature) {
    for (Call& call : calls) {
      call.residual -= medians[call.trace];
    }
  }
}

// Calls of one request on one replica wait for the same things: together they are one observation, their mean. By ascending time.
std::vector<Call> means_by_request(std::vector<Call> calls, uint32_t Call::* replica_of) {
  std::ranges::sort(calls, {}, [replica_of](const Call& call) {
    return std::tuple(call.trace, call.*replica_of, call.ms);
  });
  std::vector<Call> means;
  for (size_t begin = 0; begin < calls.size();) {
    const Call& first = calls[begin];
    double ms = 0;
    double residual = 0;
    size_t end = begin;
    for (;
         end < calls.size() && calls[end].trace == first.trace && calls[end].*replica_of == first.*replica_of;
         ++end) {
      ms += static_cast<double>(calls[end].ms);
      residual += static_cast<double>(calls[end].residual);
    }
    const auto count = static_cast<double>(end - begin);
    Call& mean = means.emplace_back(first);
    mean.ms = static_cast<float>(ms / count);
    mean.residual = static_cast<float>(residual / count);
    begin = end;
  }
  std::ranges::sort(means, {}, &Call::ms);
  return means;
}

// Of one method, by replica. A request's calls are one call here: their mean.
struct ReplicaCalls {
  std::vector<double> ms;
  std::vector<double> exceeding_ms;
  double rank_sum = 0;  // of its calls' residuals among all calls, from 1; equal ones share their middle rank

  double calls() const { return static_cast<double>(ms.size()); }
};

// Mann and Whitney's test of a replica's calls against those of the others, from its sum of ranks. `ties`: the sum of t^3 - t over
// groups of equal calls. Not mann_whitney(), which would sort the others once for each replica.
statistics::RankTest rank_test(const ReplicaCalls& of, size_t all, double ties) {
  const auto n = static_cast<double>(all);
  const double others = n - of.calls();
  if (others <= 0) {
    return {};
  }
  const double wins = of.rank_sum - of.calls() * (of.calls() + 1) / 2;
  const double pairs = of.calls() * others;
  const double variance = pairs / 12 * (n + 1 - ties / (n * (n - 1)));
  return {.z = variance > 0 ? (wins - pairs / 2) / std::sqrt(variance) : 0, .auc = wins / pairs};
}

// By how much the middle call of a replica that looks slow exceeds that of the others.
double excess_over_others_ms(const std::vector<const Call*>& calls, uint32_t Call::* replica_of,
                             uint32_t replica, double slow_ms) {
  std::vector<double> others_ms;
  for (const Call* call : calls) {
    if (call->*replica_of != replica) {
      others_ms.push_back(static_cast<double>(call->ms));
    }
  }
  return others_ms.empty() ? 0 : slow_ms - statistics::median_of(others_ms);
}

class PairTests {
 public:
  explicit PairTests(const ExceedanceOptions& options) : options_(options) {}

  void add(uint32_t feature, const std::vector<Call>& all_calls, bool by_callee) {
    const auto replica_of = by_callee ? &Call::callee_replica : &Call::replica;
    const std::vector<Call> calls = means_by_request(all_calls, replica_of);
    if (calls.size() < kMinCallsOfFeature) {
      return;
    }
    std::map<uint32_t, ReplicaCalls> replicas;
    std::vector<double> deviations;
    for (const Call& call : calls) {
      deviations.push_back(static_cast<double>(call.residual));
    }
    const double middle = statistics::median_of(deviations);
    for (double& deviation : deviations) {
      deviation -= middle;
    }
    const double limit =
        middle + options_.deviations * std::max(kMinDeviation, statistics::robust_deviation(deviations));
    FeatureCalls all{.replica_of = replica_of, .usual_ms = static_cast<double>(calls[calls.size() / 2].ms)};
    for (const Call& call : calls) {
      if (call.*replica_of != 0) {
        all.by_residual.push_back(&call);
      }
    }
    std::ranges::sort(all.by_residual, {}, &Call::residual);
    for (size_t begin = 0; begin < all.by_residual.size();) {
      const float residual = all.by_residual[begin]->residual;
      size_t end = begin + 1;
      while (end < all.by_residual.size() && all.by_residual[end]->residual == residual) {
        ++end;
      }
      const auto equal = static_cast<double>(end - begin);
      all.ties += equal * equal * equal - equal;
      const double rank = static_cast<double>(begin + end + 1) / 2;
      for (; begin < end; ++begin) {
        const Call& call = *all.by_residual[begin];
        ReplicaCalls& of = replicas[call.*replica_of];
        of.ms.push_back(static_cast<double>(call.ms));
        of.rank_sum += rank;
        if (static_cast<double>(residual) > limit) {
          of.exceeding_ms.push_back(static_cast<double>(call.ms));
          ++all.exceeding;
        }
      }
    }
    if (replicas.size() < 2) {
      return;
    }
    for (auto& [replica, of] : replicas) {
      if (of.ms.size() >= kMinCallsOfReplica) {
        test(feature, replica, by_callee, all, of);
      }
    }
  }

  std::vector<SlowReplica> significant() const {
    std::vector<double> p;
    for (const SlowReplica& pair : pairs_) {
      p.push_back(pair.p);
    }
    std::vector<SlowReplica> found;
    for (const size_t i : statistics::benjamini_hochberg(p, options_.false_discovery)) {
      found.push_back(pairs_[i]);
    }
    std::ranges::sort(found, {},
                      [](const SlowReplica& pair) { return std::tuple(pair.p, pair.feature, pair.replica); });
    return found;
  }

 private:
  // What the replicas of one feature are judged by.
  struct FeatureCalls {
    uint32_t Call::* replica_of = nullptr;
    double usual_ms = 0;
    double ties = 0;
    size_t exceeding = 0;
    std::vector<const Call*> by_residual = {};
  };

  void test(uint32_t feature, uint32_t replica, bool by_callee, const FeatureCalls& all, ReplicaCalls& of) {
    const size_t exceeding = of.exceeding_ms.size();
    // Jeffreys' estimate, for people: no call of the others that exceeds does not mean that none ever would.
    const double share = (static_cast<double>(all.exceeding - exceeding) + 0.5) /
                         (static_cast<double>(all.by_residual.size()) - of.calls() + 1);
    const auto hits = static_cast<double>(exceeding);
    const bool are_enough = exceeding >= kMinExceeding && hits >= kMinExceedingShare * of.calls();
    // Given how many calls exceed in all: with two or three replicas the share of the others is as uncertain as this replica's own, and a
    // test that took it for known would find something in heavy tails alone.
    const double p_exceeding =
        are_enough ? statistics::binomial_upper_tail(hits, static_cast<double>(all.exceeding),
                                                     of.calls() / static_cast<double>(all.by_residual.size()))
                   : 1;
    const statistics::RankTest ranks = rank_test(of, all.by_residual.size(), all.ties);
    const double p_ranks = ranks.auc >= kMinAuc ? ranks.p() : 1;
    const double slow_ms = are_enough ? statistics::median_of(of.exceeding_ms) : statistics::median_of(of.ms);
    // The smaller of two, by Bonferroni.
    double p = std::min(1.0, 2 * std::min(p_exceeding, p_ranks));
    if (p < options_.false_discovery &&
        excess_over_others_ms(all.by_residual, all.replica_of, replica, slow_ms) < kMinReplicaExcessMs) {
      p = 1;
    }
    pairs_.push_back({.feature = feature,
                      .replica = replica,
                      .is_callee = by_callee,
                      .calls = of.ms.size(),
                      .exceeding = exceeding,
                      .usual_share = share,
                      .auc = ranks.auc,
                      .p = p,
                      .excess_ms = slow_ms - all.usual_ms});
  }

  const ExceedanceOptions& options_;
  std::vector<SlowReplica> pairs_;
};

}  // namespace

std::vector<SlowReplica> slow_replicas(const Observations& observations, const Sides& sides,
                                       const ExceedanceOptions& options) {
  auto by_feature = calls_of_window(observations, sides);
  take_request_medians_away(observations.traces, by_feature);
  PairTests tests(options);
  for (uint32_t feature = 0; feature < by_feature.size(); ++feature) {
    const auto& calls = by_feature[feature];
    if (calls.empty()) {
      continue;
    }
    tests.add(feature, calls, false);
    if (observations.features[feature].kind == Feature::Kind::kGap) {
      tests.add(feature, calls, true);
    }
  }
  return tests.significant();
}

}  // namespace plimsoll::diagnosis
