// What the rows that a view shows come to machine by machine, for their margins.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "query/rows/grouping.h"
#include "query/rows/row_sums.h"
#include "query/selection/machine_sample.h"
#include "query/snapshot/snapshot.h"
#include "store/rows/aggregation.h"

namespace plimsoll::query {

// A row's part that one unit of a MachineSample brought.
struct UnitValues {
  uint32_t unit = 0;
  RowValues value = {};
  RowValues samples = {};
};

struct SampledRows {
  size_t events = 1;
  std::vector<std::vector<UnitValues>>
      rows;  // row-major, by event; units ascend, and those without samples are left out

  // Of all that was selected, by event and unit.
  std::vector<std::vector<double>> whole;
  std::vector<std::vector<double>> whole_samples;

  std::span<const UnitValues> of(size_t row, size_t event = 0) const { return rows[row * events + event]; }
};

// Of the same rows, events and sample: what both have together.
SampledRows sum_of(const SampledRows& a, const SampledRows& b);

// The rows called `keys` (none twice), of a request whose groups `grouping` has set, and whose measures are kValue and kSamples. One
// pass over the stored rows, and one over their groups alone; takes 48 bytes for each row, event and machine that has some of it.
// kTooLarge past the request's max_sums.
Result<SampledRows> sample_rows(const store::AggregateRequest& request, std::span<const RowKey> keys,
                                size_t events, const MachineSample& sample, Grouping& grouping,
                                const Snapshot& snapshot);
// The same in two selections, which share what is worked out about the keys.
Result<std::array<SampledRows, 2>> sample_rows_of_two(
    const std::array<const store::AggregateRequest*, 2>& requests, std::span<const RowKey> keys,
    size_t events, const MachineSample& sample, Grouping& grouping, const Snapshot& snapshot);

}  // namespace plimsoll::query
