#include "diagnosis/buckets/call_forest.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <tuple>
#include <utility>

#include "base/stop_scope.h"

namespace plimsoll::diagnosis {
namespace {

using traces::kNoNode;
using traces::Node;

float ms_of(int64_t ns) {
  return static_cast<float>(static_cast<double>(ns) / 1e6);
}

// Its vectors are kept from request to request.
class ForestBuilder {
 public:
  ForestBuilder(const traces::SpanSet& spans, const traces::Assembly& assembly)
      : spans_(spans), assembly_(assembly) {
    forest_.begins.push_back(0);
  }

  void add(const traces::Trace& trace);
  CallForest take() { return std::move(forest_); }

 private:
  using Key = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, bool>;

  const traces::Span& span_of(const Node& node) const { return spans_.spans()[node.span]; }
  bool is_edge(uint32_t node) const;
  uint32_t path_of(uint32_t parent, uint32_t node);
  void group_children();
  void walk_critical_path();
  void add_times();

  const traces::SpanSet& spans_;
  const traces::Assembly& assembly_;
  CallForest forest_;
  boost::unordered_flat_map<Key, uint32_t> numbers_;

  // Of the request at hand, by node.
  std::span<const Node> nodes_;
  std::vector<uint32_t> begins_, children_, filled_;
  std::vector<uint32_t> callee_;  // service of its first child
  std::vector<int64_t> on_path_ns_;
  struct Stretch {
    uint32_t node = 0;
    int64_t from_ns = 0;
    int64_t to_ns = 0;
  };
  std::vector<Stretch> stack_;
  std::vector<uint32_t> path_of_node_;
  std::vector<uint32_t> place_of_path_;  // by path: into forest_.times, where it is of this request
};

void ForestBuilder::add(const traces::Trace& trace) {
  nodes_ = assembly_.nodes_of(trace);
  // Nodes stand before what is below them: those of the first root end where the second begins.
  const auto second_root =
      std::find_if(nodes_.begin() + 1, nodes_.end(), [](const Node& node) { return node.parent == kNoNode; });
  nodes_ = nodes_.first(static_cast<size_t>(second_root - nodes_.begin()));
  group_children();
  walk_critical_path();
  add_times();
  forest_.begins.push_back(forest_.times.size());
}

// Those that are waited for, by falling end.
void ForestBuilder::group_children() {
  const auto is_waited_for = [this](const Node& node) {
    return node.parent != kNoNode && span_of(node).kind != traces::SpanKind::kConsumer;
  };
  callee_.assign(nodes_.size(), 0);
  for (size_t i = nodes_.size(); i > 0; --i) {
    if (const Node& node = nodes_[i - 1]; node.parent != kNoNode) {
      callee_[node.parent] = span_of(node).service;
    }
  }
  begins_.assign(nodes_.size() + 1, 0);
  for (const Node& node : nodes_) {
    if (is_waited_for(node)) {
      ++begins_[node.parent + 1];
    }
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    begins_[i + 1] += begins_[i];
  }
  children_.resize(begins_.back());
  filled_.assign(begins_.begin(), begins_.end());
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (is_waited_for(nodes_[i])) {
      children_[filled_[nodes_[i].parent]++] = i;
    }
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    std::sort(children_.begin() + begins_[i], children_.begin() + begins_[i + 1],
              [this](uint32_t a, uint32_t b) {
                return nodes_[a].end_ns != nodes_[b].end_ns ? nodes_[a].end_ns > nodes_[b].end_ns : a > b;
              });
  }
}

void ForestBuilder::walk_critical_path() {
  on_path_ns_.assign(nodes_.size(), 0);
  stack_.assign(1, {0, nodes_.front().start_ns, nodes_.front().end_ns});
  while (!stack_.empty()) {
    const Stretch stretch = stack_.back();
    stack_.pop_back();
    int64_t at_ns = stretch.to_ns;
    for (uint32_t i = begins_[stretch.node]; i < begins_[stretch.node + 1] && at_ns > stretch.from_ns; ++i) {
      const Node& child = nodes_[children_[i]];
      const int64_t end_ns = std::min(child.end_ns, at_ns);
      const int64_t start_ns = std::max(child.start_ns, stretch.from_ns);
      if (start_ns < end_ns) {
        on_path_ns_[stretch.node] += at_ns - end_ns;
        stack_.push_back({children_[i], start_ns, end_ns});
        at_ns = start_ns;
      }
    }
    on_path_ns_[stretch.node] += at_ns - stretch.from_ns;
  }
}

// Where the kind is unknown, only a call within the caller's service is one; else the span is the server's side of a call.
bool ForestBuilder::is_edge(uint32_t node) const {
  const traces::Span& span = span_of(nodes_[node]);
  const uint32_t parent = nodes_[node].parent;
  return nodes_[node].has(traces::kEdge) &&
         (span.kind != traces::SpanKind::kUnspecified ||
          (parent != kNoNode && span_of(nodes_[parent]).service == span.service));
}

uint32_t ForestBuilder::path_of(uint32_t parent, uint32_t node) {
  const traces::Span& span = span_of(nodes_[node]);
  CallPath path{.parent = parent, .service = span.service, .operation = span.operation};
  path.is_edge = is_edge(node);
  path.callee = path.is_edge ? callee_[node] : 0;
  const auto key_of = [](const CallPath& of) {
    return Key{of.parent, of.service, of.operation, of.callee, of.is_edge};
  };
  auto known = numbers_.find(key_of(path));
  if (known == numbers_.end() && forest_.paths.size() >= kMaxCallPaths) {
    if (parent != kNoCall) {
      return parent;
    }
    path = {};
    known = numbers_.find(key_of(path));
  }
  if (known != numbers_.end()) {
    return known->second;
  }
  const auto number = static_cast<uint32_t>(forest_.paths.size());
  numbers_.emplace(key_of(path), number);
  forest_.paths.push_back(path);
  return number;
}

void ForestBuilder::add_times() {
  const auto begin = static_cast<uint32_t>(forest_.times.size());
  path_of_node_.resize(nodes_.size());
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    const uint32_t parent = node.parent == kNoNode ? kNoCall : path_of_node_[node.parent];
    const uint32_t path = path_of_node_[i] = path_of(parent, i);
    place_of_path_.resize(forest_.paths.size(), 0);
    // A place of an earlier request is one before `begin`.
    uint32_t& place = place_of_path_[path];
    if (place < begin || place >= forest_.times.size() || forest_.times[place].path != path) {
      place = static_cast<uint32_t>(forest_.times.size());
      forest_.times.push_back({.path = path});
    }
    CallTimes& times = forest_.times[place];
    times.on_path_ms += ms_of(on_path_ns_[i]);
    times.self_ms += ms_of(node.self_ns);
    if (path == parent) {
      continue;  // beyond kMaxCallPaths
    }
    ++times.calls;
    times.total_ms += ms_of(node.duration_ns());
    times.covered_ms += ms_of(node.duration_ns() - node.self_ns);
    for (uint32_t child = begins_[i]; child < begins_[i + 1]; ++child) {
      const Node& of = nodes_[children_[child]];
      times.children_ms += ms_of(
          std::max<int64_t>(0, std::min(of.end_ns, node.end_ns) - std::max(of.start_ns, node.start_ns)));
    }
  }
}

}  // namespace

Result<CallForest> call_forest(const traces::SpanSet& spans, const traces::Assembly& assembly,
                               std::span<const uint32_t> traces) {
  ForestBuilder builder(spans, assembly);
  // Some milliseconds, of usual requests.
  constexpr size_t kRequestsBetweenChecks = 1024;
  for (size_t i = 0; i < traces.size(); ++i) {
    if (i % kRequestsBetweenChecks == 0) {
      if (const Status goes_on = check_stop(); !goes_on) {
        return propagate(goes_on);
      }
    }
    builder.add(assembly.traces[traces[i]]);
  }
  return builder.take();
}

}  // namespace plimsoll::diagnosis
