#include "query/fdo/code/flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "query/fdo/code/network.h"

namespace plimsoll::fdo {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

FlowGraph diamond(std::vector<FlowBlock> blocks) {
  return {.blocks = std::move(blocks),
          .edges = {{0, 1, false}, {0, 2, true}, {1, 3, true}, {2, 3, false}},
          .exits = {3}};
}

void expect_conserved(const FlowGraph& graph, const Flow& flow) {
  std::vector<double> in = flow.outside_in;
  std::vector<double> out = flow.outside_out;
  for (size_t i = 0; i < graph.edges.size(); ++i) {
    in[graph.edges[i].to] += flow.edges[i];
    out[graph.edges[i].from] += flow.edges[i];
    ASSERT_GE(flow.edges[i], 0);
  }
  for (size_t block = 0; block < graph.blocks.size(); ++block) {
    ASSERT_EQ(in[block], flow.blocks[block]) << block;
    ASSERT_EQ(out[block], flow.blocks[block]) << block;
  }
}

TEST(Flow, KeepsWhatIsConsistent) {
  const FlowGraph graph = diamond({{100, 1}, {140, 2}, {30, 1}, {300, 3}});
  const Flow flow = find_flow(graph);
  EXPECT_TRUE(flow.is_smooth);
  EXPECT_THAT(flow.blocks, ElementsAre(DoubleNear(100, 0.1), DoubleNear(70, 0.1), DoubleNear(30, 0.1),
                                       DoubleNear(100, 0.1)));
  EXPECT_THAT(flow.edges, ElementsAre(DoubleNear(70, 0.1), DoubleNear(30, 0.1), DoubleNear(70, 0.1),
                                      DoubleNear(30, 0.1)));
  EXPECT_NEAR(flow.entry, 100, 0.1);
  expect_conserved(graph, flow);
}

// Without what is unknown of costs: the most likely flow is the sum of samples by the sum of costs.
TEST(Flow, OfAChainIsTheMeanOfItsBlocks) {
  const FlowGraph graph{
      .blocks = {{0, 1}, {90, 3}, {10, 1}}, .edges = {{0, 1, false}, {1, 2, false}}, .exits = {2}};
  const Flow flow = find_flow(graph, {.cost_deviation = 0});
  EXPECT_THAT(flow.blocks, ElementsAre(DoubleNear(20, 1e-3), DoubleNear(20, 1e-3), DoubleNear(20, 1e-3)));
}

TEST(Flow, GivesBlocksWithoutSamplesWhatOthersNeed) {
  const FlowGraph graph = diamond({{50, 1}, {0, 1}, {0, 1}, {50, 1}});
  const Flow flow = find_flow(graph);
  EXPECT_GT(flow.blocks[1] + flow.blocks[2], 20);
  EXPECT_EQ(flow.blocks[1] + flow.blocks[2], flow.blocks[0]);
}

TEST(Flow, OfALoopIsItsOwn) {
  // 0 -> 1 -> 1 .. -> 2, and 3 that nothing leads to, as a landing pad.
  const FlowGraph graph{.blocks = {{10, 1}, {1000, 1}, {10, 1}, {5, 1}},
                        .edges = {{0, 1, false}, {1, 1, true}, {1, 2, false}, {3, 2, true}},
                        .exits = {2}};
  const Flow flow = find_flow(graph);
  EXPECT_NEAR(flow.blocks[1], 1000, 20);
  EXPECT_NEAR(flow.entry + flow.outside_in[3], flow.blocks[2], 1e-9);
  EXPECT_LT(flow.entry, 20);
  expect_conserved(graph, flow);
}

TEST(Flow, OfALoopWithoutAnExitLeavesItSomewhere) {
  const FlowGraph graph{.blocks = {{1, 1}, {500, 1}, {500, 1}},
                        .edges = {{0, 1, false}, {1, 2, false}, {2, 1, true}}};
  const Flow flow = find_flow(graph);
  EXPECT_NEAR(flow.blocks[1], 500, 20);
  expect_conserved(graph, flow);
}

TEST(Flow, OfUnknownJumpsGoesToBlocksThatNothingElseLeadsTo) {
  const FlowGraph graph{
      .blocks = {{100, 1}, {60, 1}, {40, 1}}, .edges = {}, .exits = {1, 2}, .unknown_jumps = {0}};
  const Flow flow = find_flow(graph);
  EXPECT_NEAR(flow.blocks[0], 100, 1);
  EXPECT_NEAR(flow.blocks[1], 60, 1);
  EXPECT_NEAR(flow.outside_in[1] + flow.outside_in[2], flow.outside_out[0], 1);
  expect_conserved(graph, flow);
}

TEST(Flow, OfUnknownJumpsNeedNotGoToLandingPads) {
  // 1 is what nothing leads to, and has no samples.
  const FlowGraph graph{
      .blocks = {{100, 1}, {0, 1}, {0, 1}}, .edges = {{1, 2, false}}, .exits = {2}, .unknown_jumps = {0}};
  const Flow flow = find_flow(graph);
  EXPECT_NEAR(flow.blocks[0], 100, 5);
  EXPECT_LT(flow.blocks[1], 1);
  expect_conserved(graph, flow);
}

TEST(Flow, WithoutSamplesIsNothing) {
  const Flow flow = find_flow(diamond({{0, 1}, {0, 1}, {0, 1}, {0, 1}}));
  EXPECT_THAT(flow.blocks, ElementsAre(0, 0, 0, 0));
}

TEST(Flow, TooLargeIsNotSmoothed) {
  const Flow flow = find_flow(diamond({{10, 1}, {20, 2}, {0, 1}, {0, 1}}), {.max_updates = 1});
  EXPECT_FALSE(flow.is_smooth);
  EXPECT_THAT(flow.blocks, ElementsAre(10, 10, 0, 0));
}

FlowGraph random_graph(std::mt19937_64& random, uint32_t blocks) {
  FlowGraph graph;
  for (uint32_t i = 0; i < blocks; ++i) {
    graph.blocks.push_back({0, static_cast<double>(1 + random() % 8)});
    if (i + 1 < blocks) {
      graph.edges.push_back({i, i + 1, false});
    }
    if (random() % 2 == 0) {
      const auto back = static_cast<uint32_t>(random() % 4 == 0 ? std::min<uint64_t>(i, random() % 12) : 0);
      const auto to =
          back != 0 ? i - back : std::min<uint32_t>(blocks - 1, i + 2 + static_cast<uint32_t>(random() % 6));
      graph.edges.push_back({i, to, true});
    }
  }
  graph.exits.push_back(blocks - 1);
  return graph;
}

// How often walks from the entry come to each block.
std::vector<double> walked(const FlowGraph& graph, std::mt19937_64& random, int walks) {
  std::vector<double> shares(graph.edges.size());
  for (double& share : shares) {
    share = static_cast<double>(1 + random() % 100);
  }
  std::vector<double> counts(graph.blocks.size());
  for (int walk = 0; walk < walks; ++walk) {
    uint32_t at = 0;
    for (int steps = 0; steps < 300; ++steps) {
      ++counts[at];
      std::vector<double> weights;
      std::vector<uint32_t> targets;
      for (size_t i = 0; i < graph.edges.size(); ++i) {
        if (graph.edges[i].from == at) {
          weights.push_back(shares[i]);
          targets.push_back(graph.edges[i].to);
        }
      }
      if (targets.empty()) {
        break;
      }
      at = targets[static_cast<size_t>(
          std::discrete_distribution<int>(weights.begin(), weights.end())(random))];
    }
  }
  return counts;
}

TEST(Flow, OfRandomGraphsIsConservedExactly) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    FlowGraph graph = random_graph(random, 2 + static_cast<uint32_t>(random() % 60));
    for (FlowBlock& block : graph.blocks) {
      block.samples = random() % 3 == 0 ? static_cast<double>(random() % 1000) : 0;
    }
    const Flow flow = find_flow(graph);
    const bool has_samples =
        std::ranges::any_of(graph.blocks, [](const FlowBlock& block) { return block.samples > 0; });
    ASSERT_TRUE(flow.is_smooth || !has_samples) << seed;
    ASSERT_NO_FATAL_FAILURE(expect_conserved(graph, flow)) << seed;
  }
}

TEST(Flow, StopsWhereTheBudgetIsSpent) {
  const FlowGraph graph = diamond({{50, 1}, {0, 1}, {0, 1}, {50, 1}});
  uint64_t budget = 1'000'000;
  EXPECT_TRUE(find_flow(graph, {.budget = &budget}).is_smooth);
  const uint64_t taken = 1'000'000 - budget;
  EXPECT_GT(taken, 1000);
  budget = taken;
  EXPECT_TRUE(find_flow(graph, {.budget = &budget}).is_smooth);
  EXPECT_EQ(budget, 0);
  EXPECT_FALSE(find_flow(graph, {.budget = &budget}).is_smooth);
}

// A solver that ends before its flow balances: nothing is made of that, or what it needed to balance is small.
TEST(Flow, StoppedEarlyIsNotMoreThanThereWas) {
  int raw = 0;
  int smooth = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    FlowGraph graph = random_graph(random, 20 + static_cast<uint32_t>(random() % 200));
    for (FlowBlock& block : graph.blocks) {
      block.samples = random() % 3 == 0 ? std::exp(static_cast<double>(random() % 30)) : 0;
    }
    const auto blocks_of = [](const Flow& flow) {
      return std::accumulate(flow.blocks.begin(), flow.blocks.end(), 0.0);
    };
    double sum = 0;
    for (const FlowBlock& block : graph.blocks) {
      sum += block.samples / block.cost;
    }
    for (uint64_t steps = 0; steps < 30; ++steps) {
      const Flow flow = find_flow(graph, {.max_steps = steps});
      ++(flow.is_smooth ? smooth : raw);
      ASSERT_LT(blocks_of(flow), 1000 * sum) << seed << " after " << steps;
      if (flow.is_smooth) {
        ASSERT_NO_FATAL_FAILURE(expect_conserved(graph, flow)) << seed << " after " << steps;
      }
    }
  }
  EXPECT_GT(raw, 20);
  EXPECT_GT(smooth, 20);
}

// Whether what is left of a flow is of use: a chain of ten blocks that runs once, and beside it a block that comes from two of them more often than it runs.
bool is_made_exact(double more_often) {
  FlowGraph graph;
  for (uint32_t i = 0; i < 10; ++i) {
    graph.blocks.push_back({1, 1});
    if (i > 0) {
      graph.edges.push_back({i - 1, i, false});
    }
  }
  graph.blocks.push_back({1, 1});
  graph.edges.push_back({0, 10, true});
  graph.edges.push_back({1, 10, true});
  graph.exits = {9, 10};
  const Network network = make_network(graph);
  std::vector<double> flow(network.arcs.size(), 1.0);
  flow[10] = 0.1 * more_often;                   // the block
  flow[network.first_outside - 2] = more_often;  // the ways to it
  flow[network.first_outside - 1] = 0.9 * more_often;
  flow.back() = 0.1 * more_often;  // and from it
  const bool is_exact = make_exact(network, flow);
  EXPECT_TRUE(!is_exact || *std::ranges::min_element(flow) >= 0);
  return is_exact;
}

TEST(Network, IsNotMadeExactWhereItDoesNotBalance) {
  EXPECT_TRUE(is_made_exact(1e-6));
  EXPECT_TRUE(is_made_exact(1e-4));
  EXPECT_FALSE(is_made_exact(0.01));
  EXPECT_FALSE(is_made_exact(0.5));
}

// Sum of the differences, each side scaled to a sum of 1.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum_a = 0;
  double sum_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum_a += a[i];
    sum_b += b[i];
  }
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += std::abs(a[i] / sum_a - b[i] / sum_b);
  }
  return sum;
}

TEST(Flow, RecoversNoisyCountsBetterThanTheSamplesSay) {
  int better = 0;
  double ours = 0;
  double plain = 0;
  constexpr int kSeeds = 100;
  for (int seed = 0; seed < kSeeds; ++seed) {
    std::mt19937_64 random(static_cast<uint64_t>(1000 + seed));
    FlowGraph graph = random_graph(random, 40);
    const std::vector<double> truth = walked(graph, random, 60);
    std::vector<double> raw;
    for (size_t i = 0; i < truth.size(); ++i) {
      FlowBlock& block = graph.blocks[i];
      block.samples = truth[i] == 0 ? 0 : std::poisson_distribution<int>(0.2 * truth[i] * block.cost)(random);
      raw.push_back(block.samples / block.cost);
    }
    const double of_flow = distance(find_flow(graph).blocks, truth);
    const double of_samples = distance(raw, truth);
    better += of_flow < of_samples ? 1 : 0;
    ours += of_flow;
    plain += of_samples;
  }
  EXPECT_GE(better, kSeeds * 9 / 10);
  EXPECT_LT(ours, 0.7 * plain);
}

}  // namespace
}  // namespace plimsoll::fdo
