// `experiments`: those that users have defined on the server, whatever their results.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/table/table.h"
#include "store/draws/experiment.h"
#include "store/fleet.h"

namespace plimsoll::query {

struct ExperimentsRequest {
  std::string name;  // empty: all
  int64_t now_ns = 0;
};

// Parameters: name.
Result<ExperimentsRequest> parse_experiments(const Parameters& parameters, int64_t now_ns);

enum class ExperimentState : uint8_t {
  kPlanned,  // without `since`, or before it
  kRunning,
  kEnded,  // `until` has passed
};
std::string_view name_of(ExperimentState state);  // "planned", "running", "ended"
ExperimentState state_of(const store::ExperimentDefinition& definition, int64_t now_ns);

// Of a data directory. With a name that one alone; kNotFound, with the nearest name, where there is none.
Result<std::vector<store::ExperimentDefinition>> load_experiments(const ExperimentsRequest& request,
                                                                  const store::Fleet& fleet);

// kNotFound; the hint has the nearest of the known names.
std::unexpected<Error> no_such_experiment(std::string_view name,
                                          const std::vector<store::ExperimentDefinition>& known);

// A row for each, by name: experiment, state, feature, owner, control, test, where (filters, " and " between), since, until, defined,
// changed, definition (definition_json()). A note where there are none.
Table experiments(const ExperimentsRequest& request,
                  const std::vector<store::ExperimentDefinition>& definitions);

// Whether a definition may have several values of it: control, test, where, focus, ignore, hide.
bool is_list_of_experiment(std::string_view parameter);

// {"feature", "owner", "control": [...], "test": [...], "since", "margin", ...}: texts, or lists of texts where there may be several.
std::string definition_json(const store::ExperimentDefinition& definition);
// The inverse; takes numbers in place of texts, too. Empty texts and null are left out. kInvalid where it is no such object, or has several
// values of a parameter that takes one. Parameters are checked by check_definition() (query/wsmeter/asked).
Result<store::ExperimentDefinition> definition_from_json(std::string name, std::string_view json);

}  // namespace plimsoll::query
