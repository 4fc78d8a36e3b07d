#include "cli/assign.h"

#include <utility>

#include "cli/fleet_tables.h"
#include "cli/views/terminal.h"
#include "query/placement/measured/measured_pairs.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kMeasured = "what was measured";

struct AssignInput {
  query::PlacementTables tables;
  std::vector<std::string> notes;  // of what was asked
};

// No pairs where the files give all that is needed.
Result<query::MeasuredPairs> ask_measured(const AssignOptions& options) {
  if (is_named(options.measured.source)) {
    const auto table = ask_table("measured-pairs", options.measured);
    return table ? query::measured_pairs_in(*table) : propagate(table);
  }
  if (!options.measured.parameters.empty()) {
    return with_hint(
        fail(ErrorCode::kInvalid, "filters do not apply to --costs and --jobs, which are tables"),
        "give --data or --server, or remove the filters");
  }
  if (options.costs.empty() || options.jobs.empty()) {
    return with_hint(fail(ErrorCode::kInvalid, "missing --costs and --jobs"),
                     "give both, or --data DIR or --server ADDR to measure them");
  }
  return query::MeasuredPairs();
}

// A table of a file, by its reader.
template <typename Read>
auto table_from_file(const std::string& path, const Read& read) -> decltype(read(query::NamedText())) {
  const auto text = read_table_file(path);
  return text ? read(query::NamedText{path, *text}) : propagate(text);
}

Status add_today(const AssignOptions& options, const query::MeasuredPairs& measured, AssignInput& input) {
  if (!options.today.empty()) {
    auto today = table_from_file(options.today, query::read_today);
    if (!today) {
      return propagate(today);
    }
    input.tables.today = std::move(*today);
  } else if (options.jobs.empty()) {
    input.tables.today = query::today_of(measured, kMeasured);
  }
  return {};
}

Result<AssignInput> read_input(const AssignOptions& options) {
  const auto measured = ask_measured(options);
  if (!measured) {
    return propagate(measured);
  }
  auto costs = options.costs.empty() ? Result<query::CostTable>(query::costs_of(*measured, kMeasured))
                                     : table_from_file(options.costs, query::read_costs);
  if (!costs) {
    return propagate(costs);
  }
  auto jobs = options.jobs.empty() ? Result<query::LoadTable>(query::loads_of(*measured, kMeasured))
                                   : table_from_file(options.jobs, query::read_loads);
  if (!jobs) {
    return propagate(jobs);
  }
  auto platforms = table_from_file(options.platforms, [unit = costs->unit](const query::NamedText& text) {
    return query::read_capacities(text, unit);
  });
  if (!platforms) {
    return propagate(platforms);
  }
  AssignInput input{
      .tables = {.costs = std::move(*costs), .jobs = std::move(*jobs), .platforms = std::move(*platforms)},
      .notes = measured->notes};
  if (auto added = add_today(options, *measured, input); !added) {
    return propagate(added);
  }
  return input;
}

}  // namespace

Status run_assign(const AssignOptions& options) {
  if (options.is_measured_wanted) {
    return is_named(options.measured.source)
               ? print(ask_table("measured-pairs", options.measured), options.form)
               : fail(ErrorCode::kInvalid, "assign: --measured requires --server ADDR or --data DIR");
  }
  if (options.platforms.empty()) {
    return with_hint(fail(ErrorCode::kInvalid, "--platforms FILE is required"),
                     "the file has the columns platform, capacity");
  }
  auto input = read_input(options);
  if (!input) {
    return propagate(input);
  }
  const query::PlacementRequest request{
      .tables = std::move(input->tables), .max_unknown_cost = options.max_unknown_cost, .rows = options.rows};
  return print(query::placement_table(request), options.form, input->notes);
}

}  // namespace plimsoll::cli
