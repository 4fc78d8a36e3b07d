// What WSMeter stands on: how fast each instance of each job ran on each machine. As types, and as the table that the view
// `observations` answers with.
//
// Pure: no I/O; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/table/table.h"

namespace plimsoll::query {

// An instance on a machine; one whose machine changed its platform has one for each.
struct Observation {
  std::string job;
  std::string machine;  // empty: not said
  std::string rack = {};
  std::string platform;
  std::string instance;
  double performance = 0;  // higher is better
  // Half of the 95 % interval, and what it is made of or why there is none.
  std::optional<double> margin = {};
  std::string margin_kind = {};
  double load = 0;  // of the ratio's denominator (cycles)
  std::optional<double> quota_cpus = {};
};

struct Observations {
  std::string event;             // the ratio
  std::string performance_unit;  // of performance and margin
  std::string load_unit;
  std::vector<Observation> seen;
  std::vector<std::string> notes;  // what they lack
  Coverage coverage;
};

//   job, machine, rack, platform, instance, performance, performance_margin, margin_kind, denominator, quota_cpus
Table table_of(const Observations& observations);

// The inverse, for a table of unknown origin: a server may be of another version. The only place that knows the columns by their
// names. kCorrupt where one is missing, or a performance or load is no number.
Result<Observations> observations_in(const Table& table);

}  // namespace plimsoll::query
