// Counts of blocks and edges that could have been, nearest to samples.
//
// What flows into a block flows out of it, so that blocks with few samples learn from those around them. Of all flows the one is found that makes the samples
// most likely: a block that ran x times and costs c has Poisson(c x) samples, whose variance is enlarged by what is unknown of its cost. A convex problem, solved by
// a primal-dual interior point method (Nocedal and Wright, Numerical Optimization, 14.1 and 19), one sparse elimination (elimination.h) a step. Levin, Newman and
// Haber ("Complementing missing and inaccurate profiling using a minimum cost circulation algorithm", HiPEAC 2008), Chen et al. ("Taming hardware event samples
// for FDO compilation", CGO 2010) and He et al. ("Profile inference revisited", POPL 2022) take costs by linear pieces and whole numbers instead.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "query/fdo/code/program_code.h"

namespace plimsoll::fdo {

struct FlowBlock {
  double samples = 0;  // >= 0
  double cost = 1;  // > 0: expected samples of one execution, times any factor that all blocks have in common
};

struct FlowGraph {
  std::vector<FlowBlock> blocks = {};
  std::vector<Edge> edges = {};
  uint32_t entry = 0;
  std::vector<uint32_t> exits = {};  // blocks that may leave the function
  std::vector<uint32_t> unknown_jumps =
      {};  // blocks that go on to any block that nothing else leads to, or leave the function
};

struct FlowOptions {
  // Relative standard deviation of what a block costs; 0: counts follow the samples as their number permits.
  double cost_deviation = 0.5;
  uint64_t max_updates = 20'000'000;  // multiplications of a step
  uint64_t max_steps = 100;
  // What many graphs together may cost, in multiplications of about 2 ns: what one took is taken off, down to 0. Once nothing is left, flows are not smooth.
  // Null: no bound.
  uint64_t* budget = nullptr;
};

struct Flow {
  // Conservation holds exactly: for each block, `blocks[b]` is what its edges and `outside_in` bring, and what its edges and `outside_out` take away, as sums of
  // doubles in any order.
  std::vector<double> blocks = {};
  std::vector<double> edges = {};        // as FlowGraph::edges
  std::vector<double> outside_in = {};   // by block: from outside, or from an unknown jump
  std::vector<double> outside_out = {};  // by block: to outside, or from it by an unknown jump
  double entry = 0;                      // how often the entry was come to from outside
  bool is_smooth =
      false;  // else too large, over the budget, or not solved: blocks alone, samples by cost; edges and the others are 0
};

// Deterministic. Takes about 1 ms for 100 blocks.
Flow find_flow(const FlowGraph& graph, const FlowOptions& options = {});

}  // namespace plimsoll::fdo
