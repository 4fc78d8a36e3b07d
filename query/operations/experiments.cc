#include "query/operations/experiments.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "base/suggest.h"
#include "base/time.h"

namespace plimsoll::query {
namespace {

constexpr std::array<std::string_view, 6> kLists{"control", "focus", "hide", "ignore", "test", "where"};

std::string first_of(const store::ExperimentDefinition& definition, std::string_view parameter) {
  const std::vector<std::string> values = definition.values_of(parameter);
  return values.empty() ? std::string() : values.front();
}

std::string joined_filters(const store::ExperimentDefinition& definition, std::string_view parameter) {
  return fmt::format("{}", fmt::join(definition.values_of(parameter), " and "));
}

std::string to_the_second_of(int64_t time_ns) {
  return format_time(time_ns / kNsPerSecond * kNsPerSecond);
}

}  // namespace

Result<ExperimentsRequest> parse_experiments(const Parameters& parameters, int64_t now_ns) {
  ExperimentsRequest request{.name = {}, .now_ns = now_ns};
  const std::array all{text_parameter("name", request.name)};
  const auto read = read_parameters(parameters, all);
  return read ? Result<ExperimentsRequest>(std::move(request)) : propagate(read);
}

std::string_view name_of(ExperimentState state) {
  switch (state) {
    case ExperimentState::kPlanned:
      return "planned";
    case ExperimentState::kRunning:
      return "running";
    case ExperimentState::kEnded:
      break;
  }
  return "ended";
}

ExperimentState state_of(const store::ExperimentDefinition& definition, int64_t now_ns) {
  const auto since_ns = parse_time_ns(first_of(definition, "since"), now_ns);
  if (!since_ns || *since_ns > now_ns) {
    return ExperimentState::kPlanned;
  }
  const auto until_ns = parse_time_ns(first_of(definition, "until"), now_ns);
  return until_ns && *until_ns <= now_ns ? ExperimentState::kEnded : ExperimentState::kRunning;
}

Result<std::vector<store::ExperimentDefinition>> load_experiments(const ExperimentsRequest& request,
                                                                  const store::Fleet& fleet) {
  auto known = fleet.experiments();
  if (!known || request.name.empty()) {
    return known;
  }
  const auto found = std::ranges::find(*known, request.name, &store::ExperimentDefinition::name);
  if (found == known->end()) {
    return no_such_experiment(request.name, *known);
  }
  return std::vector<store::ExperimentDefinition>{*found};
}

std::unexpected<Error> no_such_experiment(std::string_view name,
                                          const std::vector<store::ExperimentDefinition>& known) {
  std::vector<std::string_view> names;
  for (const store::ExperimentDefinition& definition : known) {
    names.emplace_back(definition.name);
  }
  const auto nearest = nearest_word(name, names);
  return with_hint(
      fail(ErrorCode::kNotFound, "no experiment is called \"{}\"", printable(name)),
      nearest ? fmt::format("did you mean {}?", *nearest) : "\"plimsoll experiment list\" lists the names");
}

Table experiments(const ExperimentsRequest& request,
                  const std::vector<store::ExperimentDefinition>& definitions) {
  Table table;
  table.columns = {{"experiment", ""}, {"state", ""},   {"feature", ""}, {"owner", ""},
                   {"control", ""},    {"test", ""},    {"where", ""},   {"since", ""},
                   {"until", ""},      {"defined", ""}, {"changed", ""}, {"definition", ""}};
  for (const store::ExperimentDefinition& definition : definitions) {
    table.rows.push_back({definition.name, std::string(name_of(state_of(definition, request.now_ns))),
                          definition.feature, definition.owner, joined_filters(definition, "control"),
                          joined_filters(definition, "test"), joined_filters(definition, "where"),
                          first_of(definition, "since"), first_of(definition, "until"),
                          to_the_second_of(definition.defined_ns), to_the_second_of(definition.changed_ns),
                          definition_json(definition)});
  }
  if (table.rows.empty()) {
    table.notes.emplace_back("no experiments are defined: plimsoll experiment define NAME");
  }
  return table;
}

bool is_list_of_experiment(std::string_view parameter) {
  return std::ranges::find(kLists, parameter) != kLists.end();
}

}  // namespace plimsoll::query
