#include "traces/assembly/assembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <tuple>

#include "base/random.h"
#include "base/sort_stably.h"
#include "traces/assembly/clocks.h"
#include "traces/assembly/links.h"

namespace plimsoll::traces {
namespace {

// IDs come from outside: without a seed of the process some could be chosen that all fall into one place. It decides no result, because
// traces are numbered as they come.
struct TraceIdHash {
  using is_avalanching = void;
  size_t operator()(const TraceId& id) const {
    static const uint64_t seed = random_seed();
    return mixed(seed ^ mixed(id.low ^ mixed(id.high ^ seed)));
  }
};

// Indices of spans by trace.
struct ByTrace {
  std::vector<uint32_t> indices;
  std::vector<uint32_t> ends;  // of each trace's part
};

ByTrace group_by_trace(std::span<const Span> spans) {
  boost::unordered_flat_map<TraceId, uint32_t, TraceIdHash> numbers;
  std::vector<uint32_t> number_of(spans.size());
  ByTrace grouped;
  for (size_t i = 0; i < spans.size(); ++i) {
    const auto number = static_cast<uint32_t>(grouped.ends.size());
    const auto [known, is_new] = numbers.try_emplace(spans[i].trace, number);
    if (is_new) {
      grouped.ends.push_back(0);
    }
    number_of[i] = known->second;
    ++grouped.ends[known->second];
  }
  uint32_t begin = 0;
  for (uint32_t& end : grouped.ends) {
    begin += std::exchange(end, begin);
  }
  // `ends` hold where each part begins until the parts are filled.
  grouped.indices.resize(spans.size());
  for (size_t i = 0; i < spans.size(); ++i) {
    grouped.indices[grouped.ends[number_of[i]]++] = static_cast<uint32_t>(i);
  }
  return grouped;
}

// Lays out one trace after the other. Its vectors are kept from trace to trace: a trace has some tens of spans.
class Assembler {
 public:
  explicit Assembler(const SpanSet& spans) : spans_(spans), links_(spans), clocks_(spans) {}

  void add(std::span<uint32_t> indices);
  Assembly take();

 private:
  void order_roots();
  void count_below(uint32_t root);
  void lay_out();
  void place_in_time(uint32_t node);
  bool is_edge(const Span& span) const;
  void shift_group(uint32_t node, size_t first, size_t last, bool is_alone);
  void set_self_times();
  void set_hashes(Trace& trace);
  uint64_t label(const Span& span) const {
    const Names& names = spans_.names();
    return mixed(names.services.hash(span.service) + 3 * names.operations.hash(span.operation));
  }
  const Span& span_of(uint32_t node) const { return links_.span(places_[node]); }

  const SpanSet& spans_;
  Links links_;
  Clocks clocks_;
  Assembly made_;

  // Of the trace at hand. Places are those of links_, nodes the order in the tree.
  std::vector<uint32_t> first_child_, next_sibling_, subtree_sizes_, roots_;  // by place
  std::vector<uint32_t> places_;                                              // by node
  std::vector<uint32_t> parent_nodes_;
  std::vector<std::pair<uint32_t, uint32_t>> stack_;  // place, parent's node
  std::vector<uint32_t> siblings_;
  std::vector<Node> nodes_;
  std::vector<int64_t> shifts_ns_;
  std::vector<uint32_t> children_;      // nodes, of all parents
  std::vector<uint32_t> child_begins_;  // by node
  std::vector<Interval> intervals_;
  std::vector<uint64_t> hashes_;
};

void Assembler::add(std::span<uint32_t> indices) {
  links_.build(indices, made_.counts);
  order_roots();
  lay_out();
  Trace trace{.id = links_.span(0).trace,
              .first_node = static_cast<uint32_t>(made_.nodes.size()),
              .node_count = static_cast<uint32_t>(nodes_.size()),
              .is_partial = links_.is_partial()};
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    place_in_time(node);
  }
  set_self_times();
  set_hashes(trace);
  trace.start_ns = nodes_.front().start_ns;
  made_.nodes.insert(made_.nodes.end(), nodes_.begin(), nodes_.end());
  made_.traces.push_back(trace);
}

// The root that a reader takes for the request's own comes first: one without a parent, else the one with most below it.
void Assembler::order_roots() {
  const size_t size = links_.size();
  first_child_.assign(size, kNoNode);
  next_sibling_.assign(size, kNoNode);
  roots_.clear();
  for (uint32_t place = 0; place < size; ++place) {
    const uint32_t parent = links_.parent(place);
    if (parent == kNoNode) {
      roots_.push_back(place);
    } else {
      next_sibling_[place] = std::exchange(first_child_[parent], place);
    }
  }
  if (roots_.size() == 1) {
    return;
  }
  subtree_sizes_.assign(size, 0);
  for (const uint32_t root : roots_) {
    count_below(root);
  }
  std::ranges::sort(roots_, {}, [this](uint32_t place) {
    const Span& span = links_.span(place);
    return std::tuple(links_.is_orphan(place), -static_cast<int64_t>(subtree_sizes_[place]), span.start_ns,
                      span.id, place);
  });
}

void Assembler::count_below(uint32_t root) {
  siblings_.assign(1, root);
  while (!siblings_.empty()) {
    const uint32_t place = siblings_.back();
    siblings_.pop_back();
    ++subtree_sizes_[root];
    for (uint32_t child = first_child_[place]; child != kNoNode; child = next_sibling_[child]) {
      siblings_.push_back(child);
    }
  }
}

// Parents before children, siblings by their start. Siblings are timed by different clocks only where they are remote; those of one
// caller stand in client spans, whose order is the caller's own.
void Assembler::lay_out() {
  places_.clear();
  parent_nodes_.clear();
  stack_.clear();
  for (auto root = roots_.rbegin(); root != roots_.rend(); ++root) {
    stack_.emplace_back(*root, kNoNode);
  }
  while (!stack_.empty()) {
    const auto [place, parent] = stack_.back();
    stack_.pop_back();
    const auto node = static_cast<uint32_t>(places_.size());
    places_.push_back(place);
    parent_nodes_.push_back(parent);
    siblings_.clear();
    for (uint32_t child = first_child_[place]; child != kNoNode; child = next_sibling_[child]) {
      siblings_.push_back(child);
    }
    // The last one is pushed first.
    std::ranges::sort(siblings_, std::greater<>(), [this](uint32_t child) {
      const Span& span = links_.span(child);
      return std::tuple(span.start_ns, span.id, child);
    });
    for (const uint32_t child : siblings_) {
      stack_.emplace_back(child, node);
    }
  }
  // Lists of children by node: counted, then filled in the order of the nodes, which is that of siblings.
  const size_t size = places_.size();
  child_begins_.assign(size + 1, 0);
  for (const uint32_t parent : parent_nodes_) {
    if (parent != kNoNode) {
      ++child_begins_[parent + 1];
    }
  }
  for (size_t node = 0; node < size; ++node) {
    child_begins_[node + 1] += child_begins_[node];
  }
  children_.resize(child_begins_.back());
  std::vector<uint32_t>& filled = subtree_sizes_;
  filled.assign(child_begins_.begin(), child_begins_.end());
  for (uint32_t node = 0; node < size; ++node) {
    if (parent_nodes_[node] != kNoNode) {
      children_[filled[parent_nodes_[node]]++] = node;
    }
  }
  nodes_.assign(size, {});
  shifts_ns_.assign(size, 0);
}

// Its shift is known; those of its children follow.
void Assembler::place_in_time(uint32_t node) {
  const Span& span = span_of(node);
  Node& placed = nodes_[node];
  placed.span = links_.index(places_[node]);
  placed.parent = parent_nodes_[node];
  placed.flags = links_.is_orphan(places_[node]) ? kOrphan : 0;
  placed.start_ns = span.start_ns + shifts_ns_[node];
  placed.end_ns = std::max(span.start_ns, span.end_ns) + shifts_ns_[node];
  if (span.end_ns < span.start_ns) {
    placed.flags |= kEndFixed;
    ++made_.counts.end_before_start;
  }
  if (placed.parent != kNoNode) {
    const Node& parent = nodes_[placed.parent];
    if (shifts_ns_[node] != shifts_ns_[placed.parent]) {
      placed.flags |= kShifted;
      ++made_.counts.shifted;
    }
    if (placed.start_ns < parent.start_ns || placed.end_ns > parent.end_ns) {
      placed.flags |= kOutsideParent;
      ++made_.counts.outside_parent;
    }
  }

  const size_t begin = child_begins_[node];
  const size_t end = child_begins_[node + 1];
  // Children of one clock are neighbours after this; the order of siblings in the tree does not change.
  siblings_.assign(children_.begin() + static_cast<ptrdiff_t>(begin),
                   children_.begin() + static_cast<ptrdiff_t>(end));
  const auto clock_of = [this](uint32_t child) { return clocks_.key_of(span_of(child)); };
  sort_stably(siblings_, clock_of);
  for (size_t first = 0; first < siblings_.size();) {
    size_t last = first + 1;
    while (last < siblings_.size() && clock_of(siblings_[last]) == clock_of(siblings_[first])) {
      ++last;
    }
    // Of a group some may name more than others: which comes first must not decide.
    const bool is_own = std::any_of(siblings_.begin() + static_cast<ptrdiff_t>(first),
                                    siblings_.begin() + static_cast<ptrdiff_t>(last),
                                    [&](uint32_t child) { return clocks_.are_one(span, span_of(child)); });
    if (is_own) {
      for (size_t i = first; i < last; ++i) {
        shifts_ns_[siblings_[i]] = shifts_ns_[node];
      }
    } else {
      shift_group(node, first, last, last - first == siblings_.size());
    }
    first = last;
  }
  if (is_edge(span)) {
    placed.flags |= kEdge;
  }
}

// Of the children in siblings_. A server that calls others has a time of its own; where the kind is unknown, one child is a call.
bool Assembler::is_edge(const Span& span) const {
  const bool may_be_call = span.kind == SpanKind::kClient || span.kind == SpanKind::kProducer ||
                           (span.kind == SpanKind::kUnspecified && siblings_.size() == 1);
  return may_be_call && !siblings_.empty() && std::ranges::all_of(siblings_, [&](uint32_t child) {
           return span_of(child).service != span.service;
         });
}

void Assembler::shift_group(uint32_t node, size_t first, size_t last, bool is_alone) {
  Interval hull{INT64_MAX, INT64_MIN};
  for (size_t i = first; i < last; ++i) {
    const Span& span = span_of(siblings_[i]);
    // Consumers run after their producer, at no known distance.
    if (span.kind != SpanKind::kConsumer) {
      hull.start_ns = std::min(hull.start_ns, span.start_ns);
      hull.end_ns = std::max({hull.end_ns, span.start_ns, span.end_ns});
    }
  }
  const int64_t expected_ns = shifts_ns_[node];
  const int64_t shift_ns =
      hull.start_ns > hull.end_ns
          ? expected_ns
          : clock_shift_ns({nodes_[node].start_ns, nodes_[node].end_ns}, hull, expected_ns, is_alone);
  for (size_t i = first; i < last; ++i) {
    shifts_ns_[siblings_[i]] = shift_ns;
  }
}

void Assembler::set_self_times() {
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    Node& of = nodes_[node];
    intervals_.clear();
    for (size_t i = child_begins_[node]; i < child_begins_[node + 1]; ++i) {
      const Node& child = nodes_[children_[i]];
      const Interval inside{std::max(child.start_ns, of.start_ns), std::min(child.end_ns, of.end_ns)};
      if (inside.start_ns < inside.end_ns && span_of(children_[i]).kind != SpanKind::kConsumer) {
        intervals_.push_back(inside);
      }
    }
    if (!std::ranges::is_sorted(intervals_, {}, &Interval::start_ns)) {
      std::ranges::sort(intervals_, {}, &Interval::start_ns);
    }
    int64_t covered_ns = 0;
    int64_t until_ns = of.start_ns;
    for (const Interval& interval : intervals_) {
      covered_ns += std::max<int64_t>(0, interval.end_ns - std::max(interval.start_ns, until_ns));
      until_ns = std::max(until_ns, interval.end_ns);
    }
    of.self_ns = of.duration_ns() - covered_ns;
  }
}

void Assembler::set_hashes(Trace& trace) {
  // Sums over children do not depend on their order.
  hashes_.assign(nodes_.size(), 0);
  std::vector<uint64_t>& labels = hashes_;
  uint64_t roots = 0;
  for (size_t node = nodes_.size(); node-- > 0;) {
    const uint64_t of_node = mixed(labels[node] ^ label(span_of(static_cast<uint32_t>(node))));
    const uint32_t parent = nodes_[node].parent;
    (parent == kNoNode ? roots : labels[parent]) += mixed(of_node + 1);
  }
  trace.tree_hash = mixed(roots);
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    hashes_[node] = label(span_of(node));
  }
  std::ranges::sort(hashes_);
  const auto repeated = std::ranges::unique(hashes_);
  hashes_.erase(repeated.begin(), repeated.end());
  for (const uint64_t of_node : hashes_) {
    trace.set_hash = mixed(trace.set_hash ^ of_node);
  }
}

Assembly Assembler::take() {
  made_.counts.spans = spans_.spans().size();
  std::ranges::sort(made_.traces, {},
                    [](const Trace& trace) { return std::tuple(trace.start_ns, trace.id); });
  return std::move(made_);
}

}  // namespace

Assembly assemble(const SpanSet& spans) {
  Assembler assembler(spans);
  ByTrace grouped = group_by_trace(spans.spans());
  uint32_t begin = 0;
  for (const uint32_t end : grouped.ends) {
    assembler.add(std::span(grouped.indices).subspan(begin, end - begin));
    begin = end;
  }
  return assembler.take();
}

std::string describe(const AssemblyCounts& counts) {
  const std::array<std::pair<uint64_t, const char*>, 8> reasons{{
      {counts.duplicates, "duplicates dropped"},
      {counts.conflicting, "spans dropped whose ID another span of the trace has"},
      {counts.missing_parents, "spans without their parent"},
      {counts.cycles, "cycles of parents cut"},
      {counts.extra_roots, "roots beyond the first of their trace"},
      {counts.end_before_start, "spans that end before they start"},
      {counts.outside_parent, "spans partly outside of their parent"},
      {counts.shifted, "spans shifted by the clock of their machine"},
  }};
  std::string text;
  for (const auto& [count, reason] : reasons) {
    if (count != 0) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, reason);
    }
  }
  return text;
}

}  // namespace plimsoll::traces
