#include "query/fdo/code/flow.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "query/fdo/code/elimination.h"
#include "query/fdo/code/network.h"

namespace plimsoll::fdo {
namespace {

constexpr size_t kMaxSteps = 100;
constexpr size_t kMinSteps = 30;
// Weights follow the flow for so many steps; then the problem is convex.
constexpr size_t kStepsWithNewWeights = 15;
// Arcs times steps: about a second.
constexpr size_t kMaxWork = 12'000'000;
// An arc in a step, or while the network is made, beside a multiplication.
constexpr uint64_t kArcWork = 40;
// Where the barrier ends: what an arc without any evidence still gets, in samples.
constexpr double kLastBarrier = 1e-4;
constexpr double kMaxImbalance = 1e-6;
// Of the last step, in squares of standard deviations of the counts.
constexpr double kMaxDecrement = 0.01;
// Against flow that comes from nowhere: as many samples as an execution of the cheapest block costs, times this.
constexpr double kOutsideCost = 1e-3;

class FlowSolver {
 public:
  FlowSolver(const FlowGraph& graph, const FlowOptions& options, const Network& network,
             Elimination elimination)
      : graph_(graph), options_(options), network_(network), elimination_(std::move(elimination)) {
    start();
  }

  // False where numbers left their range, or it does not end.
  bool solve() {
    const size_t steps =
        std::min<size_t>(std::clamp(kMaxWork / flow_.size(), kMinSteps, kMaxSteps), options_.max_steps);
    for (size_t step = 0; step < steps; ++step) {
      const double barrier = complementarity();
      if (barrier <= kLastBarrier && decrement_ < kMaxDecrement && imbalance() < kMaxImbalance) {
        return true;
      }
      if (!advance(barrier)) {
        break;
      }
    }
    // Numbers left their range, or steps became short: near the end that is good enough, and rounding evens out the rest.
    constexpr double kAcceptable = 1e-3;
    return imbalance() < kAcceptable;
  }

  // As FlowOptions::budget counts it.
  uint64_t work() const { return steps_ * (elimination_.updates() + kArcWork * flow_.size()); }
  std::vector<double>& flow() { return flow_; }
  // Of one execution in the unit of flow().
  double scale() const { return scale_; }

 private:
  size_t blocks() const { return graph_.blocks.size(); }

  // Flows near the estimates of their blocks, the largest about 1.
  void start() {
    std::vector<double> estimates(blocks());
    double cheapest = graph_.blocks.front().cost;
    for (size_t b = 0; b < blocks(); ++b) {
      estimates[b] = (graph_.blocks[b].samples + 0.1) / graph_.blocks[b].cost;
      cheapest = std::min(cheapest, graph_.blocks[b].cost);
    }
    const double samples =
        std::accumulate(graph_.blocks.begin(), graph_.blocks.end(), 0.0,
                        [](double sum, const FlowBlock& block) { return sum + block.samples; });
    const double barrier = std::max(0.1, samples / static_cast<double>(network_.arcs.size()));
    scale_ = *std::ranges::max_element(estimates);
    outside_cost_ = kOutsideCost * cheapest * scale_;
    weights_.resize(blocks());
    flow_.resize(network_.arcs.size());
    dual_.resize(flow_.size());
    curvature_.resize(flow_.size());
    conductance_.resize(flow_.size());
    slope_.resize(flow_.size());
    product_.resize(flow_.size());
    change_.resize(flow_.size());
    dual_change_.resize(flow_.size());
    const auto estimate_at = [&](uint32_t node) {
      return node / 2 < blocks() ? std::max(estimates[node / 2] / scale_, 1e-6) : 1.0;
    };
    for (size_t i = 0; i < flow_.size(); ++i) {
      const Arc& arc = network_.arcs[i];
      flow_[i] = std::min(arc.tail == kGround ? 1.0 : estimate_at(arc.tail),
                          arc.head == kGround ? 1.0 : estimate_at(arc.head));
      dual_[i] = barrier / flow_[i];
    }
  }

  // Slope and curvature of what is minimized, without the barrier.
  void differentiate() {
    const double variance = options_.cost_deviation * options_.cost_deviation;
    for (size_t i = 0; i < flow_.size(); ++i) {
      slope_[i] = i >= network_.first_doubtful ? outside_cost_ : 0;
      curvature_[i] = 0;
    }
    for (size_t b = 0; b < blocks(); ++b) {
      const double samples = graph_.blocks[b].samples;
      const double cost = graph_.blocks[b].cost * scale_;
      if (steps_ < kStepsWithNewWeights) {
        weights_[b] = 1 / (1 + variance * std::max(samples, cost * flow_[b]));
      }
      slope_[b] = weights_[b] * (cost - samples / flow_[b]);
      curvature_[b] = weights_[b] * samples / (flow_[b] * flow_[b]);
    }
  }

  // One step of Mehrotra's method: where the constraints would lead without a barrier tells how far the barrier may fall.
  bool advance(double barrier) {
    differentiate();
    ++steps_;
    for (size_t i = 0; i < flow_.size(); ++i) {
      conductance_[i] = 1 / (curvature_[i] + dual_[i] / flow_[i]);
    }
    elimination_.factor(conductance_);
    std::ranges::fill(product_, 0.0);
    if (!find_change()) {
      return false;
    }
    const auto [flow_length, dual_length] = lengths(1);
    double reached = 0;
    for (size_t i = 0; i < flow_.size(); ++i) {
      reached += (flow_[i] + flow_length * change_[i]) * (dual_[i] + dual_length * dual_change_[i]);
    }
    const double ratio = reached / static_cast<double>(flow_.size()) / barrier;
    const double next = std::max(barrier * std::min(1.0, ratio * ratio * ratio), 0.3 * kLastBarrier);
    for (size_t i = 0; i < flow_.size(); ++i) {
      product_[i] = next - flow_length * dual_length * change_[i] * dual_change_[i];
    }
    if (!find_change()) {
      return false;
    }
    constexpr double kShortOfZero = 0.99;
    const auto [flow_step, dual_step] = lengths(kShortOfZero);
    decrement_ = 0;
    for (size_t i = 0; i < flow_.size(); ++i) {
      decrement_ += change_[i] * change_[i] / conductance_[i];
      flow_[i] += flow_step * change_[i];
      dual_[i] += dual_step * dual_change_[i];
    }
    return true;
  }

  // The step to where flow times dual is `product_`, as the equations are at this point.
  bool find_change() {
    currents_.assign(network_.nodes, 0.0);
    const auto add = [&](uint32_t node, double value) {
      if (node != kGround) {
        currents_[node] += value;
      }
    };
    for (size_t i = 0; i < flow_.size(); ++i) {
      const double current = flow_[i] - (slope_[i] - product_[i] / flow_[i]) * conductance_[i];
      add(network_.arcs[i].head, current);
      add(network_.arcs[i].tail, -current);
    }
    elimination_.solve(currents_);
    const auto potential = [&](uint32_t node) { return node == kGround ? 0.0 : currents_[node]; };
    for (size_t i = 0; i < flow_.size(); ++i) {
      const Arc& arc = network_.arcs[i];
      change_[i] =
          -(slope_[i] - product_[i] / flow_[i] + potential(arc.head) - potential(arc.tail)) * conductance_[i];
      dual_change_[i] = (product_[i] - dual_[i] * change_[i]) / flow_[i] - dual_[i];
      if (!std::isfinite(change_[i]) || !std::isfinite(dual_change_[i])) {
        return false;
      }
    }
    return true;
  }

  // How much of the step leaves flow and dual above 0.
  std::pair<double, double> lengths(double share) const {
    double flow_length = 1;
    double dual_length = 1;
    for (size_t i = 0; i < flow_.size(); ++i) {
      flow_length = change_[i] < 0 ? std::min(flow_length, -share * flow_[i] / change_[i]) : flow_length;
      dual_length =
          dual_change_[i] < 0 ? std::min(dual_length, -share * dual_[i] / dual_change_[i]) : dual_length;
    }
    return {flow_length, dual_length};
  }

  double complementarity() const {
    return std::inner_product(flow_.begin(), flow_.end(), dual_.begin(), 0.0) /
           static_cast<double>(flow_.size());
  }

  // What does not balance at a node, of the largest flow.
  double imbalance() {
    currents_.assign(network_.nodes, 0.0);
    for (size_t i = 0; i < flow_.size(); ++i) {
      if (network_.arcs[i].head != kGround) {
        currents_[network_.arcs[i].head] += flow_[i];
      }
      if (network_.arcs[i].tail != kGround) {
        currents_[network_.arcs[i].tail] -= flow_[i];
      }
    }
    double worst = 0;
    for (const double current : currents_) {
      worst = std::max(worst, std::abs(current));
    }
    return worst / *std::ranges::max_element(flow_);
  }

  const FlowGraph& graph_;
  const FlowOptions& options_;
  const Network& network_;
  Elimination elimination_;
  double scale_ = 1;
  double outside_cost_ = 0;
  double decrement_ = std::numeric_limits<double>::infinity();
  size_t steps_ = 0;
  std::vector<double> weights_;  // of blocks
  std::vector<double> flow_;
  std::vector<double> dual_;  // of flow >= 0
  std::vector<double> curvature_;
  std::vector<double> conductance_;
  std::vector<double> slope_;
  std::vector<double> product_;
  std::vector<double> change_;
  std::vector<double> dual_change_;
  std::vector<double> currents_;  // by node, then potentials
};

Flow without_smoothing(const FlowGraph& graph) {
  Flow flow;
  for (const FlowBlock& block : graph.blocks) {
    flow.blocks.push_back(block.samples / block.cost);
  }
  flow.edges.resize(graph.edges.size());
  flow.outside_in.resize(graph.blocks.size());
  flow.outside_out.resize(graph.blocks.size());
  flow.entry = flow.blocks.empty() ? 0 : flow.blocks[graph.entry];
  return flow;
}

}  // namespace

Flow find_flow(const FlowGraph& graph, const FlowOptions& options) {
  const auto spend = [&](uint64_t work) {
    if (options.budget != nullptr) {
      *options.budget -= std::min(*options.budget, work);
    }
  };
  const bool has_samples =
      std::ranges::any_of(graph.blocks, [](const FlowBlock& block) { return block.samples > 0; });
  if (!has_samples) {
    Flow flow = without_smoothing(graph);
    flow.is_smooth = true;
    return flow;
  }
  if (options.budget != nullptr && *options.budget == 0) {
    return without_smoothing(graph);
  }
  const Network network = make_network(graph);
  spend(kArcWork * network.arcs.size());
  auto elimination = Elimination::plan(network.nodes, network.arcs, options.max_updates);
  if (!elimination) {
    // The search for an order ends after so many: elimination.cc.
    constexpr uint64_t kMostMerges = 8;
    spend(kMostMerges * options.max_updates);
    return without_smoothing(graph);
  }
  FlowSolver solver(graph, options, network, std::move(*elimination));
  const bool is_solved = solver.solve();
  spend(solver.work());
  if (!is_solved) {
    return without_smoothing(graph);
  }
  std::vector<double>& arcs = solver.flow();
  std::ranges::for_each(arcs, [&](double& x) { x *= solver.scale(); });
  if (!make_exact(network, arcs)) {
    return without_smoothing(graph);
  }
  Flow flow;
  const auto blocks = static_cast<std::ptrdiff_t>(graph.blocks.size());
  flow.blocks.assign(arcs.begin(), arcs.begin() + blocks);
  flow.edges.assign(arcs.begin() + blocks, arcs.begin() + network.first_outside);
  flow.outside_in.resize(graph.blocks.size());
  flow.outside_out.resize(graph.blocks.size());
  for (size_t i = network.first_outside; i < arcs.size(); ++i) {
    const Arc& arc = network.arcs[i];
    if (arc.head != kGround && arc.head < 2 * graph.blocks.size()) {
      flow.outside_in[arc.head / 2] += arcs[i];
    }
    if (arc.tail != kGround && arc.tail < 2 * graph.blocks.size()) {
      flow.outside_out[arc.tail / 2] += arcs[i];
    }
  }
  flow.entry = arcs[network.entry];
  flow.is_smooth = true;
  return flow;
}

}  // namespace plimsoll::fdo
