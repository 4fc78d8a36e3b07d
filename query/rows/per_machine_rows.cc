#include "query/rows/per_machine_rows.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/run_both.h"
#include "base/stop_scope.h"
#include "query/rows/row_cells.h"
#include "query/rows/unit_cells.h"
#include "query/selection/selection.h"
#include "query/selection/squares.h"

namespace plimsoll::query {
namespace {

// Starting a thread, and joining what it has made, takes as long as putting this many cells into rows.
constexpr size_t kCellsPerThread = 20'000;

// The sums of one unit at a time, on their way to the rows.
class UnitSums {
 public:
  explicit UnitSums(UnitRows& rows) : rows_(rows), sums_(rows.size()) {}

  // Of one event after the other; of each, units ascend.
  void add(uint32_t unit, size_t row, const RowValues& value, const RowValues& squares) {
    if (unit != unit_) {
      hand_out();
      unit_ = unit;
    }
    UnitValues& sums = sums_[row];
    if (sums.squares == RowValues() && sums.value == RowValues()) {
      touched_.push_back(row);
    }
    sums.value += value;
    sums.squares += squares;
  }

  // After the last.
  void hand_out() {
    for (const size_t row : touched_) {
      UnitValues values = std::exchange(sums_[row], {});
      values.unit = unit_;
      rows_[row].push_back(values);
    }
    touched_.clear();
  }

 private:
  UnitRows& rows_;
  std::vector<UnitValues> sums_;  // as rows_
  std::vector<size_t> touched_;
  uint32_t unit_ = 0;
};

// The sums of one unit at a time, on their way to the nodes that they are below.
class TreeSums {
 public:
  // Parents come before their children; the first is the root.
  TreeSums(std::span<const uint32_t> parents, PerMachineRows& sampled)
      : parents_(parents), sampled_(sampled), sums_(parents.size()) {}

  // Units ascend.
  void add(uint32_t unit, uint32_t node, double value, double squares) {
    if (unit != unit_) {
      hand_out();
      unit_ = unit;
    }
    sums_[node].value.total += value;
    sums_[node].squares.total += squares;
  }

  // After the last.
  void hand_out() {
    for (size_t node = sums_.size(); node-- > 0;) {
      const UnitValues sums = std::exchange(sums_[node], {});
      if (sums.value == RowValues() && sums.squares == RowValues()) {
        continue;
      }
      sampled_.rows[node].push_back({unit_, sums.value, sums.squares});
      if (node != 0) {
        sums_[parents_[node]].value += sums.value;
        sums_[parents_[node]].squares += sums.squares;
      }
    }
  }

 private:
  std::span<const uint32_t> parents_;
  PerMachineRows& sampled_;
  std::vector<UnitValues> sums_;  // by node
  uint32_t unit_ = 0;
};

store::AggregateRequest without_groups(store::AggregateRequest request) {
  for (const Column column : kEntryColumns) {
    request.group[column] = {};
  }
  request.group[Column::kStack] = {};
  return request;
}

// Two passes, at once.
Status sum_both(UnitCells& whole, UnitCells& parts, const store::RowSource& rows) {
  std::array<Status, 2> done;
  run_both([&] { done[0] = whole.sum(rows); }, [&] { done[1] = parts.sum(rows); });
  if (const Status goes_on = check_stop(); !goes_on) {
    return goes_on;
  }
  return !done[0]   ? propagate(done[0], "summing by machine for margins")
         : !done[1] ? propagate(done[1], "splitting rows by machine for their margins")
                    : Status();
}

PerMachineRows empty_rows(size_t rows, size_t events, size_t sampling_units) {
  return {.events = events,
          .rows = UnitRows(rows * events),
          .whole = std::vector(events, std::vector<double>(sampling_units)),
          .whole_squares = std::vector(events, std::vector<double>(sampling_units))};
}

// Of ranges in order, so that units still ascend.
void join(std::vector<UnitRows>& made, UnitRows& rows) {
  run_all(made.size(), [&](size_t thread) {
    for (size_t row = thread; row < rows.size(); row += made.size()) {
      size_t units = 0;
      for (const UnitRows& of_range : made) {
        units += of_range[row].size();
      }
      rows[row] = std::move(made.front()[row]);
      rows[row].reserve(units);
      for (UnitRows& of_range : std::span(made).subspan(1)) {
        rows[row].insert(rows[row].end(), of_range[row].begin(), of_range[row].end());
        of_range[row] = {};
      }
    }
  });
}

void add_whole(const UnitCells& whole, PerMachineRows& sampled) {
  whole.for_each([&](uint32_t unit, uint32_t /*origin_group*/, const store::CellKey& cell, double value,
                     double squares) {
    sampled.whole[cell[Column::kEvent]][unit] += value;
    sampled.whole_squares[cell[Column::kEvent]][unit] += squares;
  });
}

}  // namespace

UnitTable sum_of(UnitTable a, const UnitTable& b) {
  std::ranges::transform(a.values, b.values, a.values.begin(), std::plus<>());
  std::ranges::transform(a.whole, b.whole, a.whole.begin(), std::plus<>());
  return a;
}

RowSplitter::RowSplitter(std::span<const RowKey> keys, size_t events, const Grouping& grouping,
                         const Snapshot& snapshot, RowMeasures measures)
    : rows_(std::make_unique<const RowCells>(keys, measures.totals, grouping, snapshot)),
      events_(events),
      measures_(measures),
      snapshot_(snapshot) {}

RowSplitter::~RowSplitter() = default;

store::AggregateRequest RowSplitter::measured(store::AggregateRequest request) const {
  if (measures_.squares) {
    return with_squares(std::move(request), snapshot_);
  }
  request.measures.resize(kValue + 1);
  return request;
}

store::AggregateRequest RowSplitter::of_rows(store::AggregateRequest request) const {
  rows_->apply(request);
  return request;
}

Result<PerMachineRows> RowSplitter::split(const store::AggregateRequest& request,
                                          const OriginUnits& sampling_units) const {
  UnitCells whole(without_groups(measured(request)), sampling_units);
  UnitCells parts(of_rows(measured(request)), sampling_units);
  if (const Status summed = sum_both(whole, parts, *snapshot_.rows); !summed) {
    return propagate(summed);
  }
  PerMachineRows sampled = empty_rows(rows_->rows(), events_, sampling_units.count);
  add_whole(whole, sampled);
  const size_t threads = std::max(1U, std::thread::hardware_concurrency());
  const std::vector<UnitCells::Range> ranges =
      parts.ranges(std::clamp<size_t>(parts.size() / kCellsPerThread, 1, threads));
  std::vector<UnitRows> made(ranges.size(), UnitRows(sampled.rows.size()));
  run_all(ranges.size(), [&](size_t i) {
    UnitSums sums(made[i]);
    RowCells::Last last;
    parts.for_each(ranges[i], [&](uint32_t unit, uint32_t origin_group, const store::CellKey& cell,
                                  double value, double squares) {
      if (const auto place = rows_->place_of(origin_group, cell, last)) {
        sums.add(unit, place->row * events_ + cell[Column::kEvent], place->of(value), place->of(squares));
      }
    });
    sums.hand_out();
  });
  join(made, sampled.rows);
  return sampled;
}

Result<UnitTable> RowSplitter::tabulate(const store::AggregateRequest& request,
                                        const OriginUnits& sampling_units) const {
  const size_t columns_of_row = measures_.totals ? 2 : 1;
  UnitTable table;
  table.columns = columns_of_row * rows_->rows() + 1;
  table.has_totals = measures_.totals;
  if (sampling_units.count > request.max_sums / table.columns) {
    return fail(ErrorCode::kTooLarge, "a table of {} rows and {} machines has more than {} sums",
                rows_->rows(), sampling_units.count, request.max_sums);
  }
  UnitCells whole(without_groups(measured(request)), sampling_units);
  UnitCells parts(of_rows(measured(request)), sampling_units);
  if (const Status summed = sum_both(whole, parts, *snapshot_.rows); !summed) {
    return propagate(summed);
  }
  table.values.resize(sampling_units.count * table.columns);
  table.whole.resize(sampling_units.count);
  whole.for_each([&](uint32_t unit, uint32_t /*origin_group*/, const store::CellKey& /*cell*/, double value,
                     double /*squares*/) { table.whole[unit] += value; });
  RowCells::Last last;
  parts.for_each([&](uint32_t unit, uint32_t origin_group, const store::CellKey& cell, double value,
                     double /*squares*/) {
    if (const auto place = rows_->place_of(origin_group, cell, last)) {
      double* const values = &table.values[unit * table.columns + place->row * columns_of_row];
      const RowValues of_row = place->of(value);
      values[0] += of_row.self;
      if (columns_of_row == 2) {
        values[1] += of_row.total;
      }
    }
  });
  return table;
}

Result<PerMachineRows> split_tree(std::span<const uint32_t> parents, std::vector<uint32_t> node_of_stack,
                                  const store::AggregateRequest& request, const OriginUnits& sampling_units,
                                  const Snapshot& snapshot) {
  UnitCells whole(with_squares(without_groups(request), snapshot), sampling_units);
  store::AggregateRequest by_node = with_squares(without_groups(request), snapshot);
  by_node.group[Column::kStack] = store::IdGrouping::by(std::move(node_of_stack));
  UnitCells parts(std::move(by_node), sampling_units);
  if (const Status summed = sum_both(whole, parts, *snapshot.rows); !summed) {
    return propagate(summed);
  }
  PerMachineRows sampled = empty_rows(parents.size(), 1, sampling_units.count);
  add_whole(whole, sampled);
  TreeSums sums(parents, sampled);
  parts.for_each([&](uint32_t unit, uint32_t /*origin_group*/, const store::CellKey& cell, double value,
                     double squares) { sums.add(unit, cell[Column::kStack], value, squares); });
  sums.hand_out();
  return sampled;
}

}  // namespace plimsoll::query
