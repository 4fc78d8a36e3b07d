// What a view tells of a row: its share of all, or how much of it there is per machine and second.
#pragma once

#include <vector>

#include "query/selection/parameters.h"
#include "query/selection/selection.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"
#include "statistics/linearized_row.h"

namespace plimsoll::query {

enum class Measure {
  kShare,  // in all of its selection
  kRate,   // per machine and second of its selection; of snapshots, per machine
};

// "measure": "share" or "rate".
Parameter measure_parameter(Measure& measure);

statistics::Statistic statistic_of(Measure measure);

// What columns of it are called, and their unit: "share", or "rate" in "ns/s"; of snapshots in "bytes".
TableColumn measure_column(Measure measure, const store::EventEntry& event);

// What rates are of, by origin: seconds of machines (of snapshots, machines), weighted as values are.
std::vector<double> rate_exposures(const ResolvedSelection& selection, const Snapshot& snapshot);

}  // namespace plimsoll::query
