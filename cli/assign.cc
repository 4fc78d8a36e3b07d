#include "cli/assign.h"

#include <map>

#include "cli/fleet_tables.h"
#include "cli/views/terminal.h"
#include "query/table/values.h"

namespace plimsoll::cli {
namespace {

struct AssignTexts {
  std::string costs;
  std::string jobs;
  std::string platforms;
  std::string today;
  std::vector<std::string> notes;  // of what was asked
};

// Of each job, all that it does on any platform.
Result<query::Table> loads_by_job(const query::Table& pairs) {
  const auto job = query::find_column(pairs, "job");
  const auto load = query::find_column(pairs, "load");
  if (!job || !load) {
    return propagate(!job ? job : load);
  }
  std::map<std::string, double> loads;
  for (const auto& row : pairs.rows) {
    const auto of_pair = query::number_in(row[*load]);
    if (!of_pair) {
      return fail(ErrorCode::kCorrupt, "the measured load of {} is not a number", query::text_in(row[*job]));
    }
    loads[query::text_in(row[*job])] += *of_pair;
  }
  query::Table table;
  table.columns = {{"job", ""}, {"load", "count/s"}};
  for (const auto& [name, sum] : loads) {
    table.rows.push_back({name, sum});
  }
  return table;
}

// What no file gives.
Status add_measured(const AssignOptions& options, AssignTexts& texts) {
  if (!is_named(options.measured.source)) {
    if (!options.measured.parameters.empty()) {
      return with_hint(
          fail(ErrorCode::kInvalid, "filters do not apply to --costs and --jobs, which are tables"),
          "give --data or --server, or remove the filters");
    }
    return options.costs.empty() || options.jobs.empty()
               ? with_hint(fail(ErrorCode::kInvalid, "missing --costs and --jobs"),
                           "give both, or --data DIR or --server ADDR to measure them")
               : Status();
  }
  const auto pairs = ask_table("measured-pairs", options.measured);
  if (!pairs) {
    return propagate(pairs);
  }
  texts.notes = pairs->notes;
  texts.costs = options.costs.empty() ? query::to_csv(*pairs) : texts.costs;
  if (options.jobs.empty()) {
    const auto loads = loads_by_job(*pairs);
    if (!loads) {
      return propagate(loads);
    }
    texts.jobs = query::to_csv(*loads);
    texts.today = options.today.empty() ? query::to_csv(*pairs) : texts.today;
  }
  return {};
}

Result<AssignTexts> read_texts(const AssignOptions& options) {
  AssignTexts texts;
  for (const auto& [path, text] :
       {std::pair(&options.costs, &texts.costs), std::pair(&options.jobs, &texts.jobs),
        std::pair(&options.platforms, &texts.platforms), std::pair(&options.today, &texts.today)}) {
    auto read = path->empty() ? Result<std::string>() : read_table_file(*path);
    if (!read) {
      return propagate(read);
    }
    *text = std::move(*read);
  }
  auto added = add_measured(options, texts);
  return added ? Result<AssignTexts>(std::move(texts)) : propagate(added);
}

std::string name_or_measured(const std::string& path) {
  return path.empty() ? "what was measured" : path;
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
  const auto texts = read_texts(options);
  if (!texts) {
    return propagate(texts);
  }
  query::PlacementRequest request{.texts = {.costs = {name_or_measured(options.costs), texts->costs},
                                            .jobs = {name_or_measured(options.jobs), texts->jobs},
                                            .platforms = {options.platforms, texts->platforms}},
                                  .max_unknown_cost = options.max_unknown_cost,
                                  .rows = options.rows};
  if (!texts->today.empty()) {
    request.texts.today = {name_or_measured(options.today), texts->today};
  }
  return print(query::placement_table(request), options.form, texts->notes);
}

}  // namespace plimsoll::cli
