#include "query/fdo/code/network.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace plimsoll::fdo {
namespace {

constexpr uint32_t in_of(uint32_t block) {
  return 2 * block;
}
constexpr uint32_t out_of(uint32_t block) {
  return 2 * block + 1;
}

// Arcs by the node that they leave, or, turned around, that they come to.
class Adjacency {
 public:
  Adjacency(uint32_t nodes, std::span<const Arc> arcs, bool is_turned)
      : starts_(nodes + 2), arcs_(arcs.size()) {
    const auto node_of = [&](const Arc& arc) {
      const uint32_t node = is_turned ? arc.head : arc.tail;
      return node == kGround ? nodes : node;
    };
    for (const Arc& arc : arcs) {
      ++starts_[node_of(arc) + 1];
    }
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    std::vector<uint32_t> next(starts_.begin(), starts_.end() - 1);
    for (uint32_t i = 0; i < arcs.size(); ++i) {
      arcs_[next[node_of(arcs[i])]++] = i;
    }
  }
  std::span<const uint32_t> of(uint32_t node) const {
    return std::span(arcs_).subspan(starts_[node], starts_[node + 1] - starts_[node]);
  }

 private:
  std::vector<uint32_t> starts_;
  std::vector<uint32_t> arcs_;
};

class NetworkMaker {
 public:
  explicit NetworkMaker(const FlowGraph& graph) : graph_(graph) {
    blocks_ = static_cast<uint32_t>(graph.blocks.size());
    network_.nodes = 2 * blocks_;
    for (uint32_t block = 0; block < blocks_; ++block) {
      network_.arcs.push_back({in_of(block), out_of(block)});
    }
    for (const Edge& edge : graph.edges) {
      network_.arcs.push_back({out_of(edge.from), in_of(edge.to)});
    }
    network_.first_outside = static_cast<uint32_t>(network_.arcs.size());
  }

  Network make() {
    network_.entry = network_.first_outside;
    network_.arcs.push_back({kGround, in_of(graph_.entry)});
    for (const uint32_t block : graph_.exits) {
      network_.arcs.push_back({out_of(block), kGround});
    }
    const bool has_targets = connect_unknown_jumps();
    if (!has_targets) {
      let_unknown_jumps_leave();
    }
    network_.first_doubtful = static_cast<uint32_t>(network_.arcs.size());
    if (has_targets) {
      let_unknown_jumps_leave();
    }
    connect_rest(false);
    connect_rest(true);
    return std::move(network_);
  }

 private:
  // Marks what is reached from a node along arcs; backwards where turned.
  void mark(const Adjacency& adjacency, uint32_t start, bool is_turned, std::vector<bool>& marked) const {
    std::vector<uint32_t> open{start};
    marked[start] = true;
    while (!open.empty()) {
      const uint32_t node = open.back();
      open.pop_back();
      for (const uint32_t arc : adjacency.of(node)) {
        const uint32_t next = is_turned ? network_.arcs[arc].tail : network_.arcs[arc].head;
        if (next != kGround && !marked[next]) {
          marked[next] = true;
          open.push_back(next);
        }
      }
    }
  }

  // Blocks that nothing leads to, and of loops that nothing leads to the first; or, turned around, those that lead nowhere.
  std::vector<uint32_t> unreached(bool is_turned) const {
    const Adjacency adjacency(network_.nodes, network_.arcs, is_turned);
    std::vector<bool> marked(network_.nodes + 1);
    mark(adjacency, network_.nodes, is_turned, marked);
    const Adjacency opposite(network_.nodes, network_.arcs, !is_turned);
    std::vector<uint32_t> found;
    for (const bool only_ends : {true, false}) {
      for (uint32_t i = 0; i < blocks_; ++i) {
        // A loop without an exit is left at its last block.
        const uint32_t block = is_turned ? blocks_ - 1 - i : i;
        const uint32_t node = is_turned ? out_of(block) : in_of(block);
        if (!marked[node] && (!only_ends || opposite.of(node).empty())) {
          found.push_back(block);
          mark(adjacency, node, is_turned, marked);
        }
      }
    }
    return found;
  }

  // Landing pads are among the blocks that nothing leads to: a way out keeps the flow of a jump from having to go there.
  void let_unknown_jumps_leave() {
    for (const uint32_t block : graph_.unknown_jumps) {
      network_.arcs.push_back({out_of(block), kGround});
    }
  }

  // All of them lead to one node, and that to all blocks that nothing else leads to. False: there are none.
  bool connect_unknown_jumps() {
    if (graph_.unknown_jumps.empty()) {
      return false;
    }
    const std::vector<uint32_t> targets = unreached(false);
    if (targets.empty()) {
      return false;
    }
    const uint32_t hub = network_.nodes++;
    for (const uint32_t block : graph_.unknown_jumps) {
      network_.arcs.push_back({out_of(block), hub});
    }
    for (const uint32_t block : targets) {
      network_.arcs.push_back({hub, in_of(block)});
    }
    return true;
  }

  void connect_rest(bool is_turned) {
    for (const uint32_t block : unreached(is_turned)) {
      network_.arcs.push_back(is_turned ? Arc{out_of(block), kGround} : Arc{kGround, in_of(block)});
    }
  }

  const FlowGraph& graph_;
  uint32_t blocks_ = 0;
  Network network_;
};

// A tree over all nodes and the outside, of arcs with as much flow as possible.
class FlowTree {
 public:
  FlowTree(const Network& network, std::span<const double> flow)
      : network_(network), parents_(network.nodes + 1), in_tree_(network.arcs.size()) {
    std::iota(parents_.begin(), parents_.end(), 0U);
    std::vector<uint32_t> arcs(network.arcs.size());
    std::iota(arcs.begin(), arcs.end(), 0U);
    std::ranges::sort(arcs,
                      [&](uint32_t a, uint32_t b) { return flow[a] != flow[b] ? flow[a] > flow[b] : a < b; });
    for (const uint32_t arc : arcs) {
      const uint32_t tail = root_of(end(network.arcs[arc].tail));
      const uint32_t head = root_of(end(network.arcs[arc].head));
      if (tail != head) {
        parents_[tail] = head;
        in_tree_[arc] = true;
      }
    }
  }

  bool contains(uint32_t arc) const { return in_tree_[arc]; }

  // Sets the tree's arcs so that every node but the outside balances, and with them the outside.
  void balance(std::vector<int64_t>& flow) const {
    std::vector<int64_t> surplus(network_.nodes + 1);
    std::vector<uint32_t> degree(network_.nodes + 1);
    std::vector<uint64_t> joined(network_.nodes +
                                 1);  // exclusive or of a node's arcs in the tree: of a leaf, its arc
    for (uint32_t i = 0; i < network_.arcs.size(); ++i) {
      const uint32_t tail = end(network_.arcs[i].tail);
      const uint32_t head = end(network_.arcs[i].head);
      if (in_tree_[i]) {
        for (const uint32_t node : {tail, head}) {
          ++degree[node];
          joined[node] ^= i;
        }
      } else {
        surplus[tail] -= flow[i];
        surplus[head] += flow[i];
      }
    }
    std::vector<uint32_t> leaves;
    for (uint32_t node = 0; node < network_.nodes; ++node) {
      if (degree[node] == 1) {
        leaves.push_back(node);
      }
    }
    while (!leaves.empty()) {
      const uint32_t node = leaves.back();
      leaves.pop_back();
      const auto arc = static_cast<uint32_t>(joined[node]);
      const bool leaves_node = end(network_.arcs[arc].tail) == node;
      const uint32_t other = end(leaves_node ? network_.arcs[arc].head : network_.arcs[arc].tail);
      flow[arc] = leaves_node ? surplus[node] : -surplus[node];
      surplus[other] += surplus[node];
      joined[other] ^= arc;
      if (--degree[other] == 1 && other != network_.nodes) {
        leaves.push_back(other);
      }
    }
  }

 private:
  uint32_t end(uint32_t node) const { return node == kGround ? network_.nodes : node; }
  uint32_t root_of(uint32_t node) {
    while (parents_[node] != node) {
      node = parents_[node] = parents_[parents_[node]];
    }
    return node;
  }

  const Network& network_;
  std::vector<uint32_t> parents_;
  std::vector<bool> in_tree_;
};

// A flow in whole numbers that has at least 1 on every arc: one unit goes through each, by ways of a tree.
std::vector<int64_t> positive_flow(const Network& network) {
  std::vector<int64_t> flow(network.arcs.size(), 1);
  for (const bool is_turned : {false, true}) {
    // The way from the outside to each node: the arc by which it was come to first.
    const Adjacency adjacency(network.nodes, network.arcs, is_turned);
    std::vector<uint32_t> by(network.nodes + 1, UINT32_MAX);
    std::vector<uint32_t> order{network.nodes};
    std::vector<int64_t> wanted(network.nodes + 1);
    for (size_t i = 0; i < order.size(); ++i) {
      for (const uint32_t arc : adjacency.of(order[i])) {
        const uint32_t next = is_turned ? network.arcs[arc].tail : network.arcs[arc].head;
        if (next != kGround && by[next] == UINT32_MAX) {
          by[next] = arc;
          order.push_back(next);
        }
      }
    }
    for (const Arc& arc : network.arcs) {
      const uint32_t node = is_turned ? arc.head : arc.tail;
      wanted[node == kGround ? network.nodes : node] += 1;
    }
    for (size_t i = order.size(); i > 1; --i) {
      const uint32_t node = order[i - 1];
      const uint32_t before = is_turned ? network.arcs[by[node]].head : network.arcs[by[node]].tail;
      flow[by[node]] += wanted[node];
      wanted[before == kGround ? network.nodes : before] += wanted[node];
    }
  }
  return flow;
}

}  // namespace

Network make_network(const FlowGraph& graph) {
  return NetworkMaker(graph).make();
}

bool make_exact(const Network& network, std::span<double> flow) {
  const double sum = std::accumulate(flow.begin(), flow.end(), 0.0);
  if (!(sum > 0)) {
    std::ranges::fill(flow, 0.0);
    return true;
  }
  // Sums of all arcs stay below 2^51.
  const int shift = 50 - std::ilogb(sum);
  const FlowTree tree(network, flow);
  std::vector<int64_t> units(flow.size());
  for (uint32_t i = 0; i < units.size(); ++i) {
    units[i] = tree.contains(i) ? 0 : std::llround(std::ldexp(flow[i], shift));
  }
  tree.balance(units);
  const int64_t lowest = *std::ranges::min_element(units);
  if (lowest < 0) {
    const std::vector<int64_t> more = positive_flow(network);
    // In doubles, for the product may leave int64_t.
    constexpr double kMostAdded = 0.01;
    const double added = -static_cast<double>(lowest) *
                         std::accumulate(more.begin(), more.end(), 0.0,
                                         [](double all, int64_t x) { return all + static_cast<double>(x); });
    if (added > kMostAdded * std::ldexp(sum, shift)) {
      return false;
    }
    for (size_t i = 0; i < units.size(); ++i) {
      units[i] += -lowest * more[i];
    }
  }
  for (size_t i = 0; i < units.size(); ++i) {
    flow[i] = std::ldexp(static_cast<double>(units[i]), -shift);
  }
  return true;
}

}  // namespace plimsoll::fdo
