#include "config/experiment_config.h"

namespace plimsoll::config {
namespace {

Status check(const ExperimentConfig& config, const std::string& path) {
  if (config.since.empty()) {
    return with_hint(
        fail(ErrorCode::kInvalid, "{}: time.since is missing: when the feature was enabled", path),
        "set time.since, such as \"2026-11-24T12:00:00Z\"");
  }
  if (config.control.empty() || config.test.empty()) {
    return with_hint(fail(ErrorCode::kInvalid, "{}: no filter for the {}", path,
                          config.control.empty() ? "control arm" : "test arm"),
                     "set arms.control and arms.test, such as [\"revision=41\"] and [\"revision=42\"]");
  }
  return {};
}

}  // namespace

std::vector<Key> ExperimentConfig::keys() {
  return {
      {"experiment.name", "Name of the experiment in reports.", &name},
      {"experiment.feature", "The feature under test, in a sentence.", &feature},
      {"arms.control",
       "Filters, as --where takes them, of the instances without the feature; all must match.", &control},
      {"arms.test", "Filters of the instances with the feature; all must match.", &test},
      {"arms.both", "Filters of both arms, such as [\"platform=AMD Zen 4\"].", &both},
      {"time.since",
       "When the feature was enabled: RFC 3339, or relative to the time of the command (7d). Both arms cover "
       "the same time.",
       &since},
      {"time.until", "End of the time. Default: now.", &until},
      {"target.ratio",
       "Performance metric: two events (instructions/cycles), or ipc, exact-ipc; higher is better.", &ratio},
      {"target.margin_percent", "Margin of the metric (95 %).", &margin_percent, Range{0, 1000}},
      {"target.detect_percent",
       "Instead of a margin: the change of the metric to detect, with the power below. 0: none.",
       &detect_percent, Range{0, 1000}},
      {"target.power_percent", "Power: the probability of detecting that change.", &power_percent,
       Range{50, 99}},
      {"target.min_instances", "Minimum instances per job.", &min_instances, Range{2, 1'000'000}},
  };
}

Result<ExperimentConfig> load_experiment(const std::string& path) {
  ExperimentConfig config;
  const auto sources =
      load(config.keys(), {.path = path, .environment = [](const char*) -> const char* { return nullptr; }});
  if (!sources) {
    return propagate(sources, "reading the experiment");
  }
  auto checked = check(config, path);
  return checked ? Result<ExperimentConfig>(std::move(config)) : propagate(checked);
}

std::string experiment_file(ExperimentConfig config) {
  return "# An experiment of Plimsoll (docs/wsmeter.md): plan, watch and report read this file.\n" +
         file_of(config.keys());
}

}  // namespace plimsoll::config
