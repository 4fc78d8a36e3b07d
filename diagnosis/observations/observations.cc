#include "diagnosis/observations/observations.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>

namespace plimsoll::diagnosis {
namespace {

struct FeatureHash {
  using is_avalanching = void;
  size_t operator()(const Feature& feature) const {
    const uint64_t names = uint64_t{feature.service} << 32U | feature.operation;
    const uint64_t other = uint64_t{feature.callee} << 1U | static_cast<uint64_t>(feature.kind);
    return traces::mixed(names ^ traces::mixed(other));
  }
};

// A call that waits for another service. What a producer sends is taken up at any time: no gap.
bool is_waiting_call(const traces::Node& node, const traces::Span& first_child) {
  return node.has(traces::kEdge) && first_child.kind != traces::SpanKind::kConsumer;
}

// Of observations whose traces ascend.
std::vector<RequestMean> means_by_request(const std::vector<Observation>& observations) {
  std::vector<RequestMean> means;
  for (size_t begin = 0; begin < observations.size();) {
    double sum = 0;
    size_t end = begin;
    for (; end < observations.size() && observations[end].trace == observations[begin].trace; ++end) {
      sum += static_cast<double>(observations[end].ms);
    }
    means.push_back({static_cast<float>(sum / static_cast<double>(end - begin)), observations[begin].trace});
    begin = end;
  }
  std::ranges::sort(means, {}, &RequestMean::ms);
  return means;
}

}  // namespace

Observations observe(const traces::SpanSet& spans, const traces::Assembly& assembly) {
  constexpr float kMsPerNs = 1e-6F;
  Observations made;
  made.traces = assembly.traces.size();
  boost::unordered_flat_map<Feature, uint32_t, FeatureHash> known;
  for (uint32_t trace = 0; trace < assembly.traces.size(); ++trace) {
    const auto nodes = assembly.nodes_of(assembly.traces[trace]);
    for (size_t i = 0; i < nodes.size(); ++i) {
      const traces::Span& span = spans.spans()[nodes[i].span];
      Feature feature{.service = span.service, .operation = span.operation};
      Observation observation{static_cast<float>(nodes[i].self_ns) * kMsPerNs, trace, span.replica};
      if (nodes[i].has(traces::kEdge)) {
        // The first child of a node is the next one.
        const traces::Span& callee = spans.spans()[nodes[i + 1].span];
        if (is_waiting_call(nodes[i], callee)) {
          feature.kind = Feature::Kind::kGap;
          feature.callee = callee.service;
          observation.callee_replica = callee.replica;
        }
      }
      const auto [place, is_new] = known.try_emplace(feature, static_cast<uint32_t>(made.features.size()));
      if (is_new) {
        made.features.push_back(feature);
        made.by_feature.emplace_back();
      }
      made.by_feature[place->second].push_back(observation);
      // Not all spans of a replica name its machine.
      if (span.replica != 0 && span.machine != 0) {
        made.machines.insert_or_assign(std::pair(span.service, span.replica), span.machine);
      }
    }
  }
  for (auto& observations : made.by_feature) {
    made.by_request.push_back(means_by_request(observations));
    std::ranges::sort(observations, {}, &Observation::ms);
  }
  return made;
}

}  // namespace plimsoll::diagnosis
