// A flow graph as arcs between nodes: what the solver works on. Only query/fdo/code includes this.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "query/fdo/code/elimination.h"
#include "query/fdo/code/flow.h"

namespace plimsoll::fdo {

// Block b is the arc b, from node 2b to 2b + 1; then come the edges, in their order, then arcs from and to the outside, which is the ground. Every arc lies on a
// way from the outside to the outside.
struct Network {
  uint32_t nodes = 0;
  std::vector<Arc> arcs = {};
  uint32_t first_outside = 0;  // arcs from here on
  uint32_t first_doubtful =
      0;  // arcs from here on: from and to outside where the graph has no such way, and from jumps through tables
  uint32_t entry = 0;  // the arc from outside to the entry
};

Network make_network(const FlowGraph& graph);

// Rounds a flow to multiples of a power of two that sums of doubles hold exactly, so that at every node the same flows in and out. `flow` >= 0 by arc. False, and
// `flow` is of no use, where it did not balance to begin with: evening that out would take more than a hundredth of all flow.
bool make_exact(const Network& network, std::span<double> flow);

}  // namespace plimsoll::fdo
