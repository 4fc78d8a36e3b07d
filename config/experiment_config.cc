#include "config/experiment_config.h"

namespace plimsoll::config {
namespace {

Status check(const ExperimentConfig& config, const std::string& path) {
  if (config.since.empty()) {
    return with_hint(fail(ErrorCode::kInvalid, "{}: it is not said since when the feature was there", path),
                     "give time.since, such as \"2026-11-24T12:00:00Z\"");
  }
  if (config.control.empty() || config.test.empty()) {
    return with_hint(fail(ErrorCode::kInvalid, "{}: it is not said who is {}", path,
                          config.control.empty() ? "the control" : "tested"),
                     "give arms.control and arms.test, such as [\"revision=41\"] and [\"revision=42\"]");
  }
  return {};
}

}  // namespace

std::vector<Key> ExperimentConfig::keys() {
  return {
      {"experiment.name", "What it is called in reports.", &name},
      {"experiment.feature", "What is tested: what those who have it have, in a sentence.", &feature},
      {"arms.control", "Filters, as --where takes them, of those without the feature; all must hold.",
       &control},
      {"arms.test", "Likewise of those with it.", &test},
      {"arms.both", "Likewise of both, such as [\"platform=AMD Zen 4\"].", &both},
      {"time.since",
       "When the feature was there: RFC 3339, or relative to whenever one looks (7d). Both arms are looked "
       "at over the "
       "same time.",
       &since},
      {"time.until", "Until when. Default: now.", &until},
      {"target.ratio",
       "What performance is: two events (instructions/cycles), or ipc, exact-ipc; higher is better.", &ratio},
      {"target.margin_percent", "Margin of error that the metric is to have.", &margin_percent,
       Range{0, 1000}},
      {"target.detect_percent",
       "In place of a margin: a change of the metric that is to be found, with the probability below. 0: "
       "none.",
       &detect_percent, Range{0, 1000}},
      {"target.power_percent", "Probability with which that change is to be found.", &power_percent,
       Range{50, 99}},
      {"target.min_instances", "Minimum instances per job.", &min_instances, Range{2, 1'000'000}},
  };
}

Result<ExperimentConfig> load_experiment(const std::string& path) {
  ExperimentConfig config;
  const auto sources =
      load(config.keys(), {.path = path, .environment = [](const char*) -> const char* { return nullptr; }});
  if (!sources) {
    return propagate(sources, "reading an experiment");
  }
  auto checked = check(config, path);
  return checked ? Result<ExperimentConfig>(std::move(config)) : propagate(checked);
}

std::string experiment_file(ExperimentConfig config) {
  return "# An experiment of Plimsoll (docs/wsmeter.md): plan, watch and report read this file.\n" +
         file_of(config.keys());
}

}  // namespace plimsoll::config
