#include <functional>
#include <map>

#include "bench/diagnosis/parts.h"
#include "diagnosis/clouddiag/clouddiag.h"
#include "diagnosis/clouddiag/pca_peer.h"
#include "diagnosis/localization/exceedances.h"
#include "tests/traces/request_generator.h"
#include "traces/assembly/assembly.h"

namespace plimsoll::bench {
namespace {

using diagnosis::Counts;
using diagnosis::RequestGenerator;
using diagnosis::TimeOf;

// Fixed before anything was measured.
constexpr uint64_t kFirstSeed = 1000;

struct Setting {
  std::string name;
  diagnosis::GeneratorOptions options;
  std::optional<double> min_precision = {};
  std::optional<double> min_recall = {};
};

void add_counts(const Setting& setting, const std::string& method, const Counts& counts, bool is_ours,
                Report& report) {
  const std::string note =
      fmt::format("{} found, {} false, {} missed", counts.found, counts.false_ones, counts.missed);
  report.add({.name = fmt::format("{}-{}-precision", setting.name, method),
              .value = counts.precision(),
              .unit = "share",
              .better = Better::kHigher,
              .goal = is_ours ? setting.min_precision : std::nullopt,
              .note = note});
  report.add({.name = fmt::format("{}-{}-recall", setting.name, method),
              .value = counts.recall(),
              .unit = "share",
              .better = Better::kHigher,
              .goal = is_ours ? setting.min_recall : std::nullopt,
              .note = note});
}

// By our own test, over the whole path from spans with clocks off and some lost.
Counts exceeding_pairs(const RequestGenerator& generator) {
  traces::SpanSet spans;
  generator.add_spans({}, spans);
  const traces::Assembly assembly = traces::assemble(spans);
  const diagnosis::Observations observations = diagnosis::observe(spans, assembly);
  using Names = std::pair<std::string, std::string>;
  std::set<Names> found;
  for (const auto& pair : diagnosis::slow_replicas(
           observations, diagnosis::Sides(assembly.traces.size(), diagnosis::Side::kWindow))) {
    found.emplace(spans.names().operations.name(observations.features[pair.feature].operation),
                  spans.names().replicas.name(pair.replica));
  }
  std::set<Names> truth;
  for (const auto& [method, replica] : generator.faulty_pairs()) {
    truth.emplace(RequestGenerator::method_name(method),
                  generator.replica_name(generator.component_of(method), replica));
  }
  return diagnosis::compared(found, truth);
}

Result<std::map<std::string, Counts>> by_matrix(const RequestGenerator& generator) {
  std::map<std::string, Counts> counts;
  const auto self = generator.matrix(TimeOf::kSelf);
  const auto inclusive = generator.matrix(TimeOf::kInclusive);
  const auto columns = diagnosis::anomalous_columns(self, diagnosis::CloudDiagOptions::improved());
  const auto printed = diagnosis::anomalous_columns(inclusive, {});
  if (!columns || !printed) {
    return propagate(!columns ? columns : printed);
  }
  std::set<uint32_t> methods;
  std::set<RequestGenerator::Pair> pairs;
  for (const auto& column : *columns) {
    methods.insert(static_cast<uint32_t>(column.column));
    for (const uint32_t replica : column.replicas) {
      pairs.emplace(static_cast<uint32_t>(column.column), replica - 1);
    }
  }
  counts["rpca-methods"] = diagnosis::compared(methods, generator.faulty_methods());
  counts["rpca-pairs"] = diagnosis::compared(pairs, generator.faulty_pairs());
  methods.clear();
  for (const auto& column : *printed) {
    methods.insert(static_cast<uint32_t>(column.column));
  }
  counts["clouddiag-as-printed-methods"] = diagnosis::compared(methods, generator.faulty_methods());
  methods.clear();
  const auto by_pca = diagnosis::pca_mann_whitney(inclusive);
  if (!by_pca) {
    return propagate(by_pca);
  }
  for (const auto& suspect : by_pca->methods) {
    methods.insert(static_cast<uint32_t>(suspect.column));
  }
  counts["pca-mann-whitney-methods"] = diagnosis::compared(methods, generator.faulty_methods());
  return counts;
}

Status measure_setting(const Setting& setting, uint64_t trials, Report& report) {
  Counts ours;
  std::map<std::string, Counts> others;
  for (uint64_t trial = 0; trial < trials; ++trial) {
    diagnosis::GeneratorOptions options = setting.options;
    options.seed = kFirstSeed + trial;
    ours += exceeding_pairs(RequestGenerator(options));
    options.trees = 1;
    const auto counts = by_matrix(RequestGenerator(options));
    if (!counts) {
      return propagate(counts);
    }
    for (const auto& [method, count] : *counts) {
      others[method] += count;
    }
  }
  add_counts(setting, "exceedances-pairs", ours, true, report);
  for (const auto& [method, counts] : others) {
    add_counts(setting, method, counts, false, report);
  }
  return {};
}

}  // namespace

Status measure_generated(const Flags& flags, Report& report) {
  const diagnosis::GeneratorOptions usual{.requests = 5000, .trees = 3};
  const auto with = [&usual](uint32_t replicas, double hit, double low, double high) {
    diagnosis::GeneratorOptions options = usual;
    options.replicas = replicas;
    options.hit = hit;
    options.min_factor = low;
    options.max_factor = high;
    return options;
  };
  diagnosis::GeneratorOptions none = usual;
  none.max_faulty_methods = 0;
  const std::vector<Setting> settings{
      {"replicas-20-hit-1", with(20, 1, 3, 8), 0.98, 0.98},
      {"replicas-100-hit-1", with(100, 1, 3, 8), 0.98, 0.98},
      {"replicas-100-hit-0.3", with(100, 0.3, 3, 8), 0.98, 0.98},
      {"replicas-100-hit-0.5-factor-2-to-4", with(100, 0.5, 2, 4)},
      {"replicas-100-hit-0.5-factor-1.5-to-2.5", with(100, 0.5, 1.5, 2.5), {}, 0.75},
      {"no-fault", none, 0.99}};
  for (const Setting& setting : settings) {
    if (auto done = measure_setting(setting, flags.quick ? 1 : 5, report); !done) {
      return propagate(done, "{}", setting.name);
    }
  }
  return {};
}

}  // namespace plimsoll::bench
