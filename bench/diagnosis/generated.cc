#include "bench/diagnosis/parts.h"
#include "tests/traces/generated_answers.h"

namespace plimsoll::bench {
namespace {

using diagnosis::Counts;
using diagnosis::GeneratedAnswers;

// Fixed before anything was measured.
constexpr uint64_t kFirstSeed = 1000;

struct Goal {
  std::optional<double> min_precision = {};
  std::optional<double> min_recall = {};
};

struct Setting {
  std::string name;
  diagnosis::GeneratorOptions options;
  Goal pairs = {};         // of method and replica, by our own test
  Goal rpca_methods = {};  // the paper's figures
};

void add_counts(const Setting& setting, const std::string& method, const Counts& counts, const Goal& goal,
                Report& report) {
  const std::string note =
      fmt::format("{} found, {} false, {} missed", counts.found, counts.false_ones, counts.missed);
  report.add({.name = fmt::format("{}-{}-precision", setting.name, method),
              .value = counts.precision(),
              .unit = "share",
              .better = Better::kHigher,
              .goal = goal.min_precision,
              .note = note});
  report.add({.name = fmt::format("{}-{}-recall", setting.name, method),
              .value = counts.recall(),
              .unit = "share",
              .better = Better::kHigher,
              .goal = goal.min_recall,
              .note = note});
}

// All methods over the whole path, from spans with clocks off and some lost.
Status measure_setting(const Setting& setting, uint64_t trials, Report& report) {
  GeneratedAnswers all;
  for (uint64_t trial = 0; trial < trials; ++trial) {
    diagnosis::GeneratorOptions options = setting.options;
    options.seed = kFirstSeed + trial;
    const auto answers = diagnosis::answers_of(options);
    if (!answers) {
      return propagate(answers);
    }
    all += *answers;
  }
  add_counts(setting, "exceedances-pairs", all.pairs, setting.pairs, report);
  add_counts(setting, "rpca-methods", all.rpca_methods, setting.rpca_methods, report);
  add_counts(setting, "rpca-pairs", all.rpca_pairs, {}, report);
  add_counts(setting, "clouddiag-as-printed-methods", all.printed_methods, {}, report);
  add_counts(setting, "pca-mann-whitney-methods", all.pca_methods, {}, report);
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
  const auto without_fault = [&usual](uint32_t replicas) {
    diagnosis::GeneratorOptions options = usual;
    options.replicas = replicas;
    options.max_faulty_methods = 0;
    return options;
  };
  const Goal ours{.min_precision = 0.98, .min_recall = 0.98};
  const Goal paper{.min_precision = 0.97, .min_recall = 0.91};
  const std::vector<Setting> settings{
      {"replicas-20-hit-1", with(20, 1, 3, 8), ours, paper},
      {"replicas-20-hit-0.3", with(20, 0.3, 3, 8), ours, paper},
      {"replicas-100-hit-1", with(100, 1, 3, 8), ours, paper},
      {"replicas-100-hit-0.3", with(100, 0.3, 3, 8), ours, paper},
      {"replicas-100-hit-0.5-factor-2-to-4", with(100, 0.5, 2, 4)},
      {"replicas-100-hit-0.5-factor-1.5-to-2.5", with(100, 0.5, 1.5, 2.5), {.min_recall = 0.75}},
      {"no-fault", without_fault(20), {.min_precision = 0.99}},
      {"replicas-100-no-fault", without_fault(100), {.min_precision = 0.99}}};
  for (const Setting& setting : settings) {
    if (auto done = measure_setting(setting, flags.quick ? 1 : 5, report); !done) {
      return propagate(done, "{}", setting.name);
    }
  }
  return {};
}

}  // namespace plimsoll::bench
