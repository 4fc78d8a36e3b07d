// The ratio of two events (IPC: instructions / cycles), by any dimensions, with its margin.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/selection/selection.h"
#include "query/snapshot/dimension.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"
#include "statistics/estimate.h"

namespace plimsoll::query {

struct RatioRequest {
  Selection selection;  // of no event
  std::string ratio;    // as parse_ratio() gives it
  std::vector<Dimension> by;
  size_t limit = 20;
  bool margins = true;
};

// "ratio": two events, or a named ratio; sets what parse_ratio() makes of it.
Parameter ratio_parameter(std::string& ratio);

struct RatioRow {
  std::vector<std::string> key;  // a text for each dimension
  std::optional<double> ratio;   // absent where either event has no samples
  // Nothing: no margins were asked for.
  std::optional<statistics::Estimate> estimate;
  double numerator = 0;  // self, in the events' units
  double denominator = 0;
};

// What ratio_table() shows.
struct RatioRows {
  std::string event;       // "instructions/cycles"
  std::string ratio_unit;  // as ratio_unit() has it
  std::string numerator_unit;
  std::string denominator_unit;
  std::vector<TableColumn> dimensions;
  std::vector<RatioRow> rows;
  std::vector<std::string> notes;
  Coverage coverage;
};

// In the order and within the limit of ratio_table(), which has the same errors and cost. For those that compute with ratios.
Result<RatioRows> ratio_rows(const RatioRequest& request, const Snapshot& snapshot);

// Columns: the dimensions, ratio, ratio_margin, ratio_low and ratio_high (in "instructions/cycles", or "bytes" where the denominator counts things; the 95 % interval, and half of its
// width), margin_kind (what it is made of, or why there is none: statistics/estimate.h), numerator, denominator (self, in their
// units), machines (that have samples of the numerator, each once for each draw). Sorted by denominator, then the dimensions; cut at the
// limit. A row of a machine, a platform and the like is about those machines: its margin knows of no others.
//
// Only profiles with both events go in, since windows of one event say nothing of the other's; a note says how many were left out.
// A ratio is absent where either has no samples. The coverage counts the samples of both events; its share without
// symbols is the denominator's. kNotFound where the snapshot lacks an event. Costs two passes over the rows; one without margins, and then there is no count of
// machines either.
Result<Table> ratio_table(const RatioRequest& request, const Snapshot& snapshot);

}  // namespace plimsoll::query
