#include "query/views/flame.h"

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <numeric>

#include "query/rows/symbol_coverage.h"
#include "query/selection/empty_selection.h"
#include "query/snapshot/dimension.h"

namespace plimsoll::query {
namespace {

class FlameQuery {
 public:
  FlameQuery(const FlameRequest& request, const Snapshot& snapshot)
      : request_(request), snapshot_(snapshot), stacks_(snapshot.dictionaries.stacks) {}

  Result<Flame> run() {
    auto resolved = resolve(request_.selection, snapshot_);
    if (!resolved) {
      return propagate(resolved);
    }
    resolved->request.by_stack = true;
    const auto cells = snapshot_.rows->aggregate(resolved->request);
    if (!cells) {
      return propagate(cells);
    }
    const store::EventEntry& event = snapshot_.dictionaries.events[resolved->event];
    flame_.event = event.name;
    flame_.unit = unit_name(event.unit);
    flame_.notes = std::move(resolved->notes);
    if (cells->size() == 0) {
      flame_.notes.push_back("nothing: " + why_empty(request_.selection, snapshot_));
    }
    flame_.coverage = resolved->coverage;
    // Not by add_node(): a function called "all" is another node, below this one.
    nodes_.push_back({0, number("all")});
    if (auto merged = merge(*cells); !merged) {
      return propagate(merged);
    }
    sum_totals();
    set_coverage(*cells);
    cut_and_order();
    return std::move(flame_);
  }

 private:
  struct Node {
    uint32_t parent;
    uint32_t name;
    double self = 0;
    double total = 0;
  };

  uint32_t number(const std::string& name) {
    const auto [entry, is_new] = numbers_.try_emplace(name, static_cast<uint32_t>(flame_.names.size()));
    if (is_new) {
      flame_.names.push_back(name);
    }
    return entry->second;
  }

  uint32_t add_node(uint32_t parent, uint32_t name) {
    const uint64_t key = uint64_t{parent} << 32U | name;
    const auto [entry, is_new] = children_.try_emplace(key, static_cast<uint32_t>(nodes_.size()));
    if (is_new) {
      nodes_.push_back({parent, name});
    }
    return entry->second;
  }

  // The names of a location's frames, outermost first.
  const std::vector<uint32_t>& names_of(uint32_t location) {
    auto& names = location_names_[location];
    if (names.empty()) {
      for (auto depth = static_cast<uint32_t>(frames_of(snapshot_, location)); depth-- > 0;) {
        names.push_back(number(frame_value(snapshot_, "function", {location, depth})));
      }
    }
    return names;
  }

  uint32_t descend(uint32_t node, uint32_t location) {
    for (const uint32_t name : names_of(location)) {
      node = add_node(node, name);
    }
    return node;
  }

  Status merge(const store::Cells& cells) {
    std::vector<bool> is_needed(stacks_.size());
    for (const store::CellKey& cell : cells.keys) {
      for (uint32_t id = cell.stack; id != 0 && !is_needed[id]; id = stacks_[id].parent) {
        is_needed[id] = true;
      }
    }
    std::vector<uint32_t> node_of(stacks_.size());
    // Parents come first: their IDs are smaller.
    for (uint32_t id = 1; id < stacks_.size(); ++id) {
      if (is_needed[id]) {
        node_of[id] = descend(node_of[stacks_[id].parent], stacks_[id].location);
      }
      if (nodes_.size() > kMaxFlameNodes) {
        return with_hint(
            fail(ErrorCode::kTooLarge, "the tree of these stacks has over {} nodes", kMaxFlameNodes),
            "select less: with a filter (where), or a shorter time (since, until)");
      }
    }
    for (size_t i = 0; i < cells.size(); ++i) {
      const uint32_t stack = cells.keys[i].stack;
      nodes_[stack == 0 ? descend(0, 0) : node_of[stack]].self += cells.sum(i, kValue);
    }
    return {};
  }

  void sum_totals() {
    // Children come later than their parents.
    for (size_t i = nodes_.size(); i-- > 0;) {
      nodes_[i].total += nodes_[i].self;
      if (i > 0) {
        nodes_[nodes_[i].parent].total += nodes_[i].total;
      }
    }
  }

  void set_coverage(const store::Cells& cells) {
    SymbolCoverage symbols(snapshot_);
    for (size_t i = 0; i < cells.size(); ++i) {
      symbols.add(cells.keys[i].stack, cells.sum(i, kValue), cells.sum(i, kSamples));
    }
    symbols.describe(flame_.coverage);
  }

  // The nodes that stay, largest total first: no node comes before its parent, whose total is no smaller.
  std::vector<uint32_t> kept() {
    std::vector<uint32_t> order(nodes_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
      return nodes_[a].total != nodes_[b].total ? nodes_[a].total > nodes_[b].total : a < b;
    });
    const double least = request_.min_share * nodes_[0].total;
    const auto first_cut =
        std::ranges::find_if(order, [&](uint32_t node) { return node != 0 && nodes_[node].total < least; });
    order.resize(std::min(static_cast<size_t>(first_cut - order.begin()), request_.limit));
    return order;
  }

  void cut_and_order() {
    const std::vector<uint32_t> order = kept();
    if (order.size() < nodes_.size()) {
      flame_.notes.push_back(fmt::format("{} of {} nodes are shown", order.size(), nodes_.size()));
    }
    std::vector<std::vector<uint32_t>> children(nodes_.size());
    for (const uint32_t node : order) {
      if (node != 0) {
        children[nodes_[node].parent].push_back(node);
      }
    }
    std::vector<std::pair<uint32_t, uint32_t>> pending{{0, 0}};  // node and depth
    while (!pending.empty()) {
      const auto [node, depth] = pending.back();
      pending.pop_back();
      flame_.nodes.push_back({nodes_[node].name, nodes_[node].self, nodes_[node].total, depth});
      std::ranges::sort(children[node], [&](uint32_t a, uint32_t b) {
        return nodes_[a].total != nodes_[b].total
                   ? nodes_[a].total < nodes_[b].total
                   : flame_.names[nodes_[a].name] > flame_.names[nodes_[b].name];
      });
      for (const uint32_t child : children[node]) {
        pending.emplace_back(child, depth + 1);
      }
    }
  }

  const FlameRequest& request_;
  const Snapshot& snapshot_;
  const std::vector<store::StackNode>& stacks_;
  Flame flame_;
  std::vector<Node> nodes_;
  boost::unordered_flat_map<uint64_t, uint32_t> children_;  // parent << 32 | name
  boost::unordered_flat_map<std::string, uint32_t> numbers_;
  boost::unordered_flat_map<uint32_t, std::vector<uint32_t>> location_names_;
};

Status add_parameter(const std::string& name, const std::string& text, int64_t now_ns,
                     FlameRequest& request) {
  const auto taken = add_to_selection(name, text, now_ns, request.selection);
  if (!taken) {
    return propagate(taken);
  }
  if (*taken) {
    return {};
  }
  if (name == "min_share") {
    const auto share = parse_share(name, text);
    request.min_share = share.value_or(0);
    return share ? Status() : propagate(share);
  }
  if (name == "limit") {
    const auto limit = parse_count(name, text, kMaxFlameNodes);
    request.limit = limit.value_or(kMaxFlameNodes);
    return limit ? Status() : propagate(limit);
  }
  constexpr std::array<std::string_view, 6> kKnown{"event", "where", "since", "until", "min_share", "limit"};
  return unknown_parameter(name, kKnown);
}

}  // namespace

Result<FlameRequest> parse_flame(const Parameters& parameters, int64_t now_ns) {
  FlameRequest request;
  for (const auto& [name, text] : parameters) {
    if (auto added = add_parameter(name, text, now_ns, request); !added) {
      return propagate(added);
    }
  }
  if (auto checked = check_selection(request.selection); !checked) {
    return propagate(checked);
  }
  return request;
}

Result<Flame> flame(const FlameRequest& request, const Snapshot& snapshot) {
  return FlameQuery(request, snapshot).run();
}

}  // namespace plimsoll::query
