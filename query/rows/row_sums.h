// What the rows of a view come to: of all machines together, to know which rows are shown; then, of those, machine by machine, for
// their margins.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "query/rows/grouping.h"
#include "query/selection/machine_sample.h"
#include "query/snapshot/snapshot.h"
#include "store/rows/aggregation.h"

namespace plimsoll::query {

// Self counts a sample at its leaf (the innermost inlined frame), total once for each row that any frame of its stack falls into. Of
// dimensions that are not of frames the two are equal.
struct RowValues {
  double self = 0;
  double total = 0;

  RowValues& operator+=(const RowValues& other) {
    self += other.self;
    total += other.total;
    return *this;
  }
  friend bool operator==(const RowValues&, const RowValues&) = default;
};

// Of each row, and each event that was asked for (the groups of the request's event_group; without those, one).
struct SummedRows {
  size_t events = 1;
  std::vector<RowKey> keys;       // none twice; in no particular order
  std::vector<RowValues> values;  // key-major

  size_t size() const { return keys.size(); }
  const RowValues& of(size_t row, size_t event = 0) const { return values[row * events + event]; }
};

// The first measure of cells that were grouped by `grouping`, and by stack where it needs that (else by whatever). Costs about 5 ns for
// each frame of each cell, of few cells; of many, 2 ns for each node of the stacks.
SummedRows sum_rows(const store::Cells& cells, size_t events, Grouping& grouping, const Snapshot& snapshot);

// The first `count` of the rows at `places`, in the order that `before` gives any two places.
SummedRows first_rows(const SummedRows& rows, std::vector<uint32_t> places, size_t count,
                      const std::function<bool(uint32_t, uint32_t)>& before);

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

// The rows called `keys`, of a request whose groups `grouping` has set, and whose measures are kValue and kSamples. One pass over the
// stored rows; takes 48 bytes for each row, event and machine that has some of it. kTooLarge past the request's max_sums.
Result<SampledRows> sample_rows(const store::AggregateRequest& request, std::span<const RowKey> keys,
                                size_t events, const MachineSample& sample, Grouping& grouping,
                                const Snapshot& snapshot);
// The same in two selections, which share what is worked out about the keys.
Result<std::array<SampledRows, 2>> sample_rows_of_two(
    const std::array<const store::AggregateRequest*, 2>& requests, std::span<const RowKey> keys,
    size_t events, const MachineSample& sample, Grouping& grouping, const Snapshot& snapshot);

}  // namespace plimsoll::query
