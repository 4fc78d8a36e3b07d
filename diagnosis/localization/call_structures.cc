#include "diagnosis/localization/call_structures.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <map>
#include <tuple>

namespace plimsoll::diagnosis {
namespace {

constexpr double kRareShare = 0.02;
// Of an operation in the reference: with fewer no set of calls is known to be rare.
constexpr uint32_t kMinSpans = 50;
// Requests of the window with an operation, from which on its mix of calls is compared.
constexpr uint32_t kMinMixed = 8;

uint64_t key_of(const traces::Span& span) {
  return uint64_t{span.service} << 32U | span.operation;
}

}  // namespace

CallStructures::CallStructures(const traces::SpanSet& spans, const traces::Assembly& assembly)
    : assembly_(assembly), keys_(assembly.nodes.size()), shapes_(assembly.nodes.size()) {
  boost::unordered_flat_map<uint64_t, uint32_t> keys;
  boost::unordered_flat_map<uint64_t, uint32_t> shapes;
  std::vector<std::pair<uint32_t, uint64_t>> calls;  // parent's node, key
  for (const traces::Trace& trace : assembly.traces) {
    const auto nodes = assembly.nodes_of(trace);
    calls.clear();
    for (const traces::Node& node : nodes) {
      if (node.parent != traces::kNoNode) {
        calls.emplace_back(node.parent, key_of(spans.spans()[node.span]));
      }
    }
    std::ranges::sort(calls);
    const auto repeated = std::ranges::unique(calls);
    calls.erase(repeated.begin(), repeated.end());
    auto call = calls.begin();
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      const traces::Span& span = spans.spans()[nodes[i].span];
      uint64_t set = traces::mixed(key_of(span));
      for (; call != calls.end() && call->first == i; ++call) {
        set = traces::mixed(set ^ call->second);
      }
      const auto [key, is_new] = keys.try_emplace(key_of(span), static_cast<uint32_t>(keys.size()));
      if (is_new) {
        service_of_key_.push_back(span.service);
        operation_of_key_.push_back(span.operation);
      }
      keys_[trace.first_node + i] = key->second;
      shapes_[trace.first_node + i] =
          shapes.try_emplace(set, static_cast<uint32_t>(shapes.size())).first->second;
    }
  }
  shape_count_ = static_cast<uint32_t>(shapes.size());
}

struct CallStructures::Counts {
  std::vector<uint32_t> of_key;
  std::vector<uint32_t> of_shape;

  bool is_rare(uint32_t key, uint32_t shape) const {
    return of_key[key] >= kMinSpans && of_shape[shape] < kRareShare * of_key[key];
  }
};

CallStructures::Counts CallStructures::count(const Sides& sides, Side side) const {
  Counts counts{std::vector<uint32_t>(service_of_key_.size()), std::vector<uint32_t>(shape_count_)};
  for (size_t i = 0; i < sides.size(); ++i) {
    const traces::Trace& trace = assembly_.traces[i];
    for (uint32_t node = 0; sides[i] == side && node < trace.node_count; ++node) {
      ++counts.of_key[keys_[trace.first_node + node]];
      ++counts.of_shape[shapes_[trace.first_node + node]];
    }
  }
  return counts;
}

// Reused from trace to trace.
class CallStructures::OwnCounts {
 public:
  explicit OwnCounts(const CallStructures& structures)
      : structures_(structures),
        of_key_(structures.service_of_key_.size()),
        of_shape_(structures.shape_count_) {}

  void set(const traces::Trace& trace) {
    add(trace_, -1);
    trace_ = trace;
    add(trace_, 1);
  }
  // As Counts::is_rare(), for a trace that is among those that were counted: of the others.
  bool is_rare(const Counts& all, uint32_t key, uint32_t shape) const {
    return all.of_key[key] >= kMinSpans &&
           static_cast<double>(all.of_shape[shape]) - of_shape_[shape] <
               kRareShare * (static_cast<double>(all.of_key[key]) - of_key_[key]);
  }

 private:
  void add(const traces::Trace& trace, double count) {
    for (uint32_t node = trace.first_node; node < trace.first_node + trace.node_count; ++node) {
      of_key_[structures_.keys_[node]] += count;
      of_shape_[structures_.shapes_[node]] += count;
    }
  }

  const CallStructures& structures_;
  traces::Trace trace_ = {};
  std::vector<double> of_key_;
  std::vector<double> of_shape_;
};

// votes[trace]: keys whose spans made rare calls, without a span below that did. What has too few spans in `usual`, a half of the reference,
// is judged by the `whole` but for the trace itself: else it could vote in the window, and never in the reference.
void CallStructures::vote(const Counts& usual, const Counts& whole, const Sides& sides, Side side,
                          std::vector<std::vector<uint32_t>>& votes) const {
  const bool is_half = &usual != &whole;
  OwnCounts own(*this);
  std::vector<uint8_t> has_rare_below;
  for (size_t i = 0; i < sides.size(); ++i) {
    if (sides[i] != side) {
      continue;
    }
    const auto nodes = assembly_.nodes_of(assembly_.traces[i]);
    has_rare_below.assign(nodes.size(), 0);
    if (is_half) {
      own.set(assembly_.traces[i]);
    }
    for (size_t node = nodes.size(); node-- > 0;) {
      const uint32_t key = keys_[assembly_.traces[i].first_node + node];
      const uint32_t shape = shapes_[assembly_.traces[i].first_node + node];
      const bool is_rare = is_half && usual.of_key[key] < kMinSpans ? own.is_rare(whole, key, shape)
                                                                    : usual.is_rare(key, shape);
      if (is_rare && has_rare_below[node] == 0) {
        votes[i].push_back(key);
      }
      if (nodes[node].parent != traces::kNoNode && (is_rare || has_rare_below[node] != 0)) {
        has_rare_below[nodes[node].parent] = 1;
      }
    }
    // By service, which the caller counts once for each run of it.
    std::ranges::sort(votes[i], {}, [this](uint32_t key) { return std::pair(service_of_key_[key], key); });
    const auto repeated = std::ranges::unique(votes[i]);
    votes[i].erase(repeated.begin(), repeated.end());
  }
}

// Which operation makes a set of calls in more of its requests than it used to: an early return that always was one of its ways.
void CallStructures::add_mixes(const Sides& sides, std::vector<ServiceVotes>& ranked) const {
  struct Requests {
    uint32_t window = 0;
    uint32_t reference = 0;
    uint32_t last_trace = UINT32_MAX;
    void add(uint32_t trace, Side side) {
      if (std::exchange(last_trace, trace) != trace) {
        ++(side == Side::kWindow ? window : reference);
      }
    }
  };
  std::vector<Requests> of_key(service_of_key_.size());
  std::vector<Requests> of_shape(shape_count_);
  std::vector<uint32_t> key_of_shape(shape_count_);
  for (uint32_t i = 0; i < sides.size(); ++i) {
    const traces::Trace& trace = assembly_.traces[i];
    for (uint32_t node = 0; sides[i] != Side::kNeither && node < trace.node_count; ++node) {
      const uint32_t key = keys_[trace.first_node + node];
      const uint32_t shape = shapes_[trace.first_node + node];
      of_key[key].add(i, sides[i]);
      of_shape[shape].add(i, sides[i]);
      key_of_shape[shape] = key;
    }
  }
  std::map<uint32_t, ServiceVotes> best;
  for (uint32_t shape = 0; shape < shape_count_; ++shape) {
    const uint32_t key = key_of_shape[shape];
    if (of_key[key].window < kMinMixed || of_key[key].reference < kMinSpans) {
      continue;
    }
    const double n = of_key[key].window;
    const double m = of_key[key].reference;
    const double share = (of_shape[shape].reference + 0.5) / (m + 1);
    const double z =
        (of_shape[shape].window - n * share) / std::sqrt(n * share * (1 - share) * (1 + n / m) + 1);
    ServiceVotes& of = best[service_of_key_[key]];
    if (z > of.z) {
      of = {
          service_of_key_[key], operation_of_key_[key], of_shape[shape].window, of_key[key].window, share, z};
    }
  }
  for (const auto& [service, of] : best) {
    const auto known = std::ranges::find(ranked, service, &ServiceVotes::service);
    if (known == ranked.end() && of.z > 0) {
      ranked.push_back(of);
    } else if (known != ranked.end() && of.z > known->z) {
      *known = of;
    }
  }
}

std::vector<CallStructures::ServiceVotes> CallStructures::votes(const Sides& sides) const {
  // Both halves of the reference, every other trace, judged by the other one.
  Sides halves(sides.size(), Side::kNeither);
  size_t reference = 0;
  size_t window = 0;
  for (size_t i = 0; i < sides.size(); ++i) {
    window += sides[i] == Side::kWindow ? 1U : 0U;
    if (sides[i] == Side::kReference) {
      halves[i] = ++reference % 2 == 0 ? Side::kWindow : Side::kReference;
    }
  }
  if (window == 0 || reference == 0) {
    return {};
  }
  std::vector<std::vector<uint32_t>> by_trace(sides.size());
  const Counts whole = count(sides, Side::kReference);
  vote(count(halves, Side::kReference), whole, halves, Side::kWindow, by_trace);
  vote(count(halves, Side::kWindow), whole, halves, Side::kReference, by_trace);
  vote(whole, whole, sides, Side::kWindow, by_trace);

  struct Sums {
    size_t window = 0;
    size_t reference = 0;
    std::map<uint32_t, size_t> by_operation;
  };
  std::map<uint32_t, Sums> sums;
  for (size_t i = 0; i < by_trace.size(); ++i) {
    uint32_t counted = UINT32_MAX;  // a service once in a trace
    for (const uint32_t key : by_trace[i]) {
      const uint32_t service = service_of_key_[key];
      Sums& of = sums[service];
      if (service != std::exchange(counted, service)) {
        ++(sides[i] == Side::kWindow ? of.window : of.reference);
      }
      if (sides[i] == Side::kWindow) {
        ++of.by_operation[operation_of_key_[key]];
      }
    }
  }
  std::vector<ServiceVotes> ranked;
  for (const auto& [service, of] : sums) {
    const auto n = static_cast<double>(window);
    const double usual_share = static_cast<double>(of.reference) / static_cast<double>(reference);
    // Jeffreys' estimate: that a short reference has none does not mean that a long window may have none.
    const double expected =
        n * (static_cast<double>(of.reference) + 0.5) / (static_cast<double>(reference) + 1);
    // Poisson's variance of both counts, and one more: of nothing expected a single vote is no surprise.
    const double variance = expected * (1 + n / static_cast<double>(reference)) + 1;
    const double z = (static_cast<double>(of.window) - expected) / std::sqrt(variance);
    if (z > 0) {
      const auto most =
          std::ranges::max_element(of.by_operation, {}, [](const auto& votes) { return votes.second; });
      ranked.push_back({service, most->first, of.window, window, usual_share, z});
    }
  }
  add_mixes(sides, ranked);
  std::ranges::sort(ranked, {}, [](const ServiceVotes& of) { return std::tuple(-of.z, of.service); });
  return ranked;
}

}  // namespace plimsoll::diagnosis
