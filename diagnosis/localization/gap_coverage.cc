#include "diagnosis/localization/gap_coverage.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace plimsoll::diagnosis {
namespace {

// What a service gets without any gap that moved.
constexpr double kWithoutGaps = 0.15;

double share(size_t moved, size_t all) {
  return all == 0 ? 0 : static_cast<double>(moved) / static_cast<double>(all);
}

double score_of(const ServiceScore& of, double all_ms) {
  const int sides = (of.incoming != 0 ? 1 : 0) + (of.outgoing != 0 ? 1 : 0);
  const double shares = share(of.incoming_moved, of.incoming) + share(of.outgoing_moved, of.outgoing);
  return of.explained_ms() / all_ms * (kWithoutGaps + (sides == 0 ? 0 : shares / sides));
}

}  // namespace

std::vector<ServiceScore> gap_coverage(const Observations& observations,
                                       const std::vector<FeatureChange>& changes) {
  std::map<uint32_t, ServiceScore> scores;
  for (size_t i = 0; i < changes.size(); ++i) {
    const Feature& feature = observations.features[i];
    const FeatureChange& change = changes[i];
    if (change.window_requests == 0 || change.reference_requests == 0) {
      continue;
    }
    const size_t moved = change.has_moved() ? 1 : 0;
    ServiceScore& of = scores[feature.service];
    if (feature.kind == Feature::Kind::kSelf) {
      of.self_ms += change.excess_ms;
      continue;
    }
    ++of.outgoing;
    of.outgoing_moved += moved;
    of.outgoing_ms += change.excess_ms;
    ServiceScore& callee = scores[feature.callee];
    ++callee.incoming;
    callee.incoming_moved += moved;
    callee.incoming_ms += change.excess_ms;
  }
  const double all_ms = total_excess_ms(changes);
  std::vector<ServiceScore> ranked;
  for (auto& [service, of] : scores) {
    of.service = service;
    of.score = all_ms > 0 ? score_of(of, all_ms) : 0;
    if (of.score > 0) {
      ranked.push_back(of);
    }
  }
  std::ranges::sort(ranked, {}, [](const ServiceScore& of) { return std::tuple(-of.score, of.service); });
  return ranked;
}

}  // namespace plimsoll::diagnosis
