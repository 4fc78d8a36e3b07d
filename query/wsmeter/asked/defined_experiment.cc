#include "query/wsmeter/asked/defined_experiment.h"

#include <set>
#include <string>
#include <string_view>

#include "base/time.h"
#include "query/operations/experiments.h"
#include "query/selection/parameters.h"
#include "query/wsmeter/asked/asked_experiment.h"

namespace plimsoll::query {
namespace {

Parameters parameters_without(const store::ExperimentDefinition& definition, std::string_view left_out) {
  Parameters parameters;
  for (const auto& parameter : definition.parameters) {
    if (parameter.first != left_out) {
      parameters.push_back(parameter);
    }
  }
  return parameters;
}

// One that moves with the clock would never have begun, or always just now.
Status check_fixed_start(const store::ExperimentDefinition& definition) {
  for (const std::string& text : definition.values_of("since")) {
    if (moves_with_clock(text)) {
      return invalid_parameter("since", text,
                               "a time such as 2026-11-24T12:00:00Z, which does not move with the clock");
    }
  }
  return {};
}

}  // namespace

Status check_definition(const store::ExperimentDefinition& definition, int64_t now_ns) {
  Status fits = store::check_experiment_texts(definition);
  fits = fits ? check_fixed_start(definition) : fits;
  if (!fits) {
    return fits;
  }
  const auto asked = parse_experiment(parameters_without(definition, "history"), now_ns);
  if (!asked) {
    return propagate(asked);
  }
  const auto plan = parse_experiment_plan(parameters_without(definition, "test"), now_ns);
  return plan ? Status() : propagate(plan);
}

Status check_change(const store::ExperimentDefinition& before, const store::ExperimentDefinition& after,
                    int64_t now_ns) {
  const ExperimentState state = state_of(before, now_ns);
  if (state == ExperimentState::kPlanned) {
    return {};
  }
  std::set<std::string> names;
  for (const auto* definition : {&before, &after}) {
    for (const auto& [name, value] : definition->parameters) {
      names.insert(name);
    }
  }
  names.erase("until");
  for (const std::string& name : names) {
    if (before.values_of(name) != after.values_of(name)) {
      return with_hint(
          with_field(fail(ErrorCode::kConflict, "experiment {} {}: its {} cannot change", before.name,
                          state == ExperimentState::kRunning ? "is running" : "has ended", name),
                     name),
          "once an experiment has begun, only until, feature and owner can change; define another one under "
          "a new name, or withdraw this one first");
    }
  }
  return {};
}

}  // namespace plimsoll::query
