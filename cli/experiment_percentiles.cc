#include "cli/experiment_percentiles.h"

#include "base/time.h"
#include "cli/fleet_tables.h"
#include "cli/views/terminal.h"
#include "query/series_files/arm_values.h"
#include "query/series_files/percentile_table.h"

namespace plimsoll::cli {

Status run_experiment_percentiles(const ExperimentPercentilesOptions& options) {
  statistics::PercentileRequest request{.detect = options.detect};
  if (!options.percentiles.empty()) {
    request.shares.clear();
    for (const double percentile : options.percentiles) {
      request.shares.push_back(percentile / 100);
    }
  }
  if (!options.block.empty()) {
    const auto block_ns = parse_duration_ns(options.block);
    if (!block_ns || *block_ns < kNsPerHour) {
      return fail(ErrorCode::kInvalid, "--block must be a duration of at least 1h, is \"{}\"", options.block);
    }
    request.block_ns = *block_ns;
  }
  const auto text = read_table_file(options.file);
  if (!text) {
    return propagate(text);
  }
  const auto arms = query::read_arm_values({.name = options.file, .text = *text},
                                           {.control = options.control, .test = options.test});
  if (!arms) {
    return propagate(arms);
  }
  const auto comparison = statistics::compare_percentiles(arms->control, arms->test, request);
  if (!comparison) {
    return propagate(comparison, "{}", options.file);
  }
  std::vector<std::string> notes;
  if (arms->other_arms > 0) {
    notes.push_back(std::to_string(arms->other_arms) + " records of other arms are left out");
  }
  return print(query::table_of(*comparison, request), options.form, notes);
}

}  // namespace plimsoll::cli
