// What `plimsoll assign` goes by where it is not told: what jobs cost on platforms, and how much of them runs where, as it was measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/operations/machines.h"
#include "query/placement/tables/placement_tables.h"
#include "query/selection/parameters.h"
#include "query/selection/selection.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"

namespace plimsoll::query {

struct MeasuredPairsRequest {
  Selection selection = {};  // of no event
  int64_t now_ns = 0;        // wall clock: which machines are live
};

// Parameters: those of a selection but for event.
Result<MeasuredPairsRequest> parse_measured_pairs(const Parameters& parameters, int64_t now_ns);

// A job on a platform.
struct MeasuredPair {
  std::string job;
  std::string platform;
  double cpi = 0;
  std::optional<double> margin = {};  // of it, 95 %
  std::string margin_kind = {};       // what it is made of, or why there is none
  // Instructions a second on all machines of the platform: those that are live and that filters on machines let pass, or, where none has
  // registered, those that were seen.
  double load = 0;
  int64_t machines = 0;
};

struct MeasuredPairs {
  std::string event = {};
  std::vector<MeasuredPair> pairs = {};  // by job, then platform
  std::vector<std::string> notes = {};
  Coverage coverage = {};
};

// What has no samples of cycles or instructions is left out; a note counts those. kNotFound where no machine counted both.
Result<MeasuredPairs> measure_pairs(const MeasuredPairsRequest& request, const Snapshot& snapshot,
                                    const LiveFleet& fleet);

//   job, platform, cpi, margin, margin_kind, load, machines
Table table_of(const MeasuredPairs& measured);
// The inverse, for a table of unknown origin: a server may be of another version. kCorrupt where a column is missing or a number is none.
Result<MeasuredPairs> measured_pairs_in(const Table& table);

// Both of the above, for the view.
Result<Table> measured_pairs(const MeasuredPairsRequest& request, const Snapshot& snapshot,
                             const LiveFleet& fleet);

// What a placement takes of them, called `name` in errors; lines are those of the table as CSV.
CostTable costs_of(const MeasuredPairs& measured, const std::string& name);
LoadTable loads_of(const MeasuredPairs& measured, const std::string& name);  // of each job, on any platform
TodayTable today_of(const MeasuredPairs& measured, const std::string& name);

}  // namespace plimsoll::query
