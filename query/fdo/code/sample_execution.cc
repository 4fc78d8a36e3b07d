#include "query/fdo/code/sample_execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "query/fdo/code/flow.h"
#include "query/fdo/code/indirect_calls.h"

namespace plimsoll::fdo {
namespace {

// About a second. Larger functions are generated, and hardly any block of them has enough samples.
constexpr size_t kMaxSmoothBlocks = 40'000;

// Of all functions together: about a minute.
constexpr uint64_t kMaxSmoothWork = 30'000'000'000;

// Of an average instruction in a pipeline. Other figures for the first six changed the overlap with exact counts by less than one percent (fdo_bench --only flow).
double cost_of(CostClass cost) {
  switch (cost) {
    case CostClass::kSimple:
    case CostClass::kStore:
    case CostClass::kBranch:
    case CostClass::kNothing:
      return 1;
    case CostClass::kLoad:
      return 1.2;
    case CostClass::kCall:
      return 3;
    case CostClass::kMultiply:
      return 2;
    case CostClass::kDivide:
      return 15;
    case CostClass::kSlow:
      return 20;
  }
  return 1;
}

class SampleReader {
 public:
  SampleReader(const ProgramCode& code, const BinaryCounts& counts, const SampleOptions& options,
               uint64_t max_work)
      : code_(code), counts_(counts), options_(options), work_left_(max_work) {
    double value = 0;
    double samples = 0;
    for (const AddressSamples& at : counts.addresses) {
      value += at.value;
      samples += at.samples;
    }
    samples_of_value_ = value > 0 && samples > 0 ? samples / value : 1;
    result_.value_elsewhere = value;
  }

  Execution read() {
    for (const FunctionCode* function : functions_by_value()) {
      add_function(*function);
    }
    if (result_.functions_raw > after_budget_) {
      result_.notes.push_back(
          fmt::format("{} functions are too large to be smoothed: their counts are samples by instruction",
                      result_.functions_raw - after_budget_));
    }
    if (after_budget_ != 0) {
      result_.notes.push_back(fmt::format(
          "{} functions with fewer samples than others are not smoothed, for all of them together "
          "would take too long: their counts are samples by instruction",
          after_budget_));
    }
    for (auto* ranges : {&result_.counts.ranges, &result_.counts.entries}) {
      std::ranges::sort(*ranges, {}, [](const CountedRange& range) {
        return std::tuple(range.first, range.last, range.count);
      });
    }
    result_.counts.branches = indirect_calls(code_, counts_, result_.counts.ranges);
    result_.value_elsewhere = std::max(0.0, result_.value_elsewhere - result_.value_matched);
    return std::move(result_);
  }

 private:
  std::span<const AddressSamples> samples_in(uint64_t from, uint64_t to) const {
    const auto first = std::ranges::lower_bound(counts_.addresses, from, {}, &AddressSamples::address);
    const auto last =
        std::ranges::lower_bound(first, counts_.addresses.end(), to, {}, &AddressSamples::address);
    return {first, last};
  }

  // The most samples first, for the work is limited. Those without any are left out.
  std::vector<const FunctionCode*> functions_by_value() const {
    std::vector<std::pair<double, const FunctionCode*>> values;
    for (const FunctionCode& function : code_.functions) {
      double value = 0;
      for (const CodeRange& part : function.parts) {
        for (const AddressSamples& at : samples_in(part.from, part.to)) {
          value += at.value;
        }
      }
      if (value > 0) {
        values.emplace_back(value, &function);
      }
    }
    std::sort(values.begin(), values.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second->entry < b.second->entry;
    });
    std::vector<const FunctionCode*> functions;
    functions.reserve(values.size());
    for (const auto& [value, function] : values) {
      functions.push_back(function);
    }
    return functions;
  }

  void add_function(const FunctionCode& function) {
    FlowGraph graph;
    double value = 0;
    for (const Block& block : function.blocks) {
      double of_block = 0;
      for (const AddressSamples& at : samples_in(block.from, block.to)) {
        of_block += at.value;
      }
      double cost = 0;
      for (const Instruction& instruction : function.instructions_of(block)) {
        cost += options_.smooth ? cost_of(instruction.cost) : 1;
      }
      graph.blocks.push_back({of_block * samples_of_value_, cost});
      value += of_block;
    }
    if (value <= 0) {
      return;
    }
    ++result_.functions;
    result_.value_matched += value;
    result_.value_in_unknown += function.has_unknown_jumps ? value : 0;
    const Flow flow = flow_of(function, graph);
    for (size_t i = 0; i < flow.blocks.size(); ++i) {
      if (flow.blocks[i] > 0) {
        result_.counts.ranges.push_back({function.blocks[i].from, function.blocks[i].last, flow.blocks[i]});
      }
    }
    const auto part = std::ranges::find_if(function.parts, [&](const CodeRange& range) {
      return range.from <= function.entry && function.entry < range.to;
    });
    const uint32_t end = part == function.parts.end() ? graph.entry : function.block_at(part->to - 1);
    const uint64_t last = end < function.blocks.size() ? function.blocks[end].last : function.entry;
    result_.counts.entries.push_back({function.entry, last, flow.entry});
  }

  Flow flow_of(const FunctionCode& function, FlowGraph& graph) {
    const uint32_t entry = function.block_at(function.entry);
    graph.entry = entry < function.blocks.size() ? entry : 0;
    FlowOptions flow_options;
    flow_options.budget = &work_left_;
    if (options_.smooth && work_left_ == 0) {
      ++result_.functions_raw;
      ++after_budget_;
      return find_flow(graph, flow_options);
    }
    if (!options_.smooth || function.blocks.size() > kMaxSmoothBlocks) {
      result_.functions_raw += options_.smooth ? 1 : 0;
      flow_options.max_updates = 0;
      flow_options.budget = nullptr;
      return find_flow(graph, flow_options);
    }
    graph.edges = function.edges;
    for (uint32_t i = 0; i < function.blocks.size(); ++i) {
      const Block& block = function.blocks[i];
      if (block.end == BlockEnd::kUnknownJump) {
        graph.unknown_jumps.push_back(i);
      } else if (block.edges == 0 || (block.end == BlockEnd::kConditional && block.edges < 2)) {
        graph.exits.push_back(i);
      }
    }
    Flow flow = find_flow(graph, flow_options);
    result_.functions_raw += flow.is_smooth ? 0 : 1;
    return flow;
  }

  const ProgramCode& code_;
  const BinaryCounts& counts_;
  const SampleOptions& options_;
  double samples_of_value_ = 1;
  uint64_t work_left_;
  uint64_t after_budget_ = 0;  // functions
  Execution result_;
};

}  // namespace

Execution execution_of_samples(const ProgramCode& code, const BinaryCounts& counts,
                               const SampleOptions& options) {
  return execution_within(code, counts, options, kMaxSmoothWork);
}

Execution execution_within(const ProgramCode& code, const BinaryCounts& counts, const SampleOptions& options,
                           uint64_t max_work) {
  return SampleReader(code, counts, options, max_work).read();
}

}  // namespace plimsoll::fdo
