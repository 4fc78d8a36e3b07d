#include "query/rows/row_sums.h"

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <utility>

#include "base/run_both.h"
#include "base/stop_scope.h"
#include "query/selection/empty_selection.h"

namespace plimsoll::query {
namespace {

// Cells with the same groups of entries, one after the other.
class Run {
 public:
  Run(const store::Cells& cells, size_t first) : cells_(cells), first_(first), last_(first) {
    while (last_ < cells.size() && is_same(cells.keys[last_], cells.keys[first])) {
      ++last_;
    }
  }

  size_t first() const { return first_; }
  size_t last() const { return last_; }
  size_t size() const { return last_ - first_; }
  const store::CellKey& groups() const { return cells_.keys[first_]; }

 private:
  static bool is_same(const store::CellKey& a, const store::CellKey& b) {
    return std::ranges::all_of(store::kGroupColumns, [&](Column column) { return a[column] == b[column]; });
  }

  const store::Cells& cells_;
  size_t first_;
  size_t last_;
};

class RowSummation {
 public:
  RowSummation(const store::Cells& cells, size_t events, Grouping& grouping, const Snapshot& snapshot)
      : cells_(cells), grouping_(grouping), stacks_(snapshot.dictionaries.stacks.size()) {
    summed_.events = events;
    if (const FrameKeys* frames = grouping.frames()) {
      sums_of_key_.resize(frames->size());
    }
  }

  SummedRows run() {
    for (size_t first = 0; first < cells_.size();) {
      const Run run(cells_, first);
      first = run.last();
      if (grouping_.groups_by_stack()) {
        add_by_stack(run);
      } else if (grouping_.frames() == nullptr) {
        add_whole(run);
      } else if (run.size() * kNodesPerCell > stacks_) {
        project(run);
      } else {
        walk(run);
      }
    }
    return std::move(summed_);
  }

 private:
  // Fewer cells than one of so many nodes are cheaper to walk up from.
  static constexpr size_t kNodesPerCell = 64;

  RowValues& row(const RowKey& key, uint32_t event) {
    const auto [entry, is_new] = number_of_.try_emplace(key, static_cast<uint32_t>(summed_.keys.size()));
    if (is_new) {
      summed_.keys.push_back(key);
      summed_.values.resize(summed_.values.size() + summed_.events);
    }
    return summed_.values[entry->second * summed_.events + event];
  }

  void add(RowKey key, uint32_t event, uint32_t frame, RowValues values) {
    key.frame = frame;
    RowValues& row_values = row(key, event);
    row_values.self += values.self;
    row_values.total += values.total;
  }

  void add_whole(const Run& run) {
    double sum = 0;
    for (size_t i = run.first(); i < run.last(); ++i) {
      sum += cells_.sum(i, kValue);
    }
    add(groups_of(run.groups()), run.groups()[Column::kEvent], 0, {sum, sum});
  }

  void add_by_stack(const Run& run) {
    for (size_t i = run.first(); i < run.last(); ++i) {
      RowKey key = groups_of(run.groups());
      key.group[Column::kStack] = grouping_.stack_number(cells_.keys[i][Column::kStack]);
      if (grouping_.frames() == nullptr) {
        const double value = cells_.sum(i, kValue);
        add(key, run.groups()[Column::kEvent], 0, {value, value});
      } else {
        add_frames(i);
        hand_out(key, run.groups()[Column::kEvent]);
      }
    }
  }

  // All nodes at once.
  void project(const Run& run) {
    by_stack_.assign(stacks_, 0);
    for (size_t i = run.first(); i < run.last(); ++i) {
      by_stack_[cells_.keys[i][Column::kStack]] += cells_.sum(i, kValue);
    }
    const store::StackProjection& projection = grouping_.frames()->stacks();
    const std::vector<double> self = projection.self(by_stack_);
    const std::vector<double> total = projection.total(by_stack_);
    for (uint32_t key = 0; key < total.size(); ++key) {
      if (self[key] != 0 || total[key] != 0) {
        add(groups_of(run.groups()), run.groups()[Column::kEvent], key, {self[key], total[key]});
      }
    }
  }

  // Each cell's stack, from its leaf up.
  void walk(const Run& run) {
    for (size_t i = run.first(); i < run.last(); ++i) {
      add_frames(i);
    }
    hand_out(groups_of(run.groups()), run.groups()[Column::kEvent]);
  }

  void add_frames(size_t cell) {
    const uint32_t stack = cells_.keys[cell][Column::kStack];
    const double value = cells_.sum(cell, kValue);
    const store::StackProjection& projection = grouping_.frames()->stacks();
    touched(projection.self_keys()[stack]).self += value;
    projection.for_each_key(stack, [&](uint32_t key) { touched(key).total += value; });
  }

  RowValues& touched(uint32_t key) {
    if (sums_of_key_[key] == RowValues()) {
      touched_.push_back(key);
    }
    return sums_of_key_[key];
  }

  void hand_out(const RowKey& groups, uint32_t event) {
    for (const uint32_t key : touched_) {
      // A key may have been touched twice: by a value of 0.
      if (const RowValues values = std::exchange(sums_of_key_[key], {}); values != RowValues()) {
        add(groups, event, key, values);
      }
    }
    touched_.clear();
  }

  const store::Cells& cells_;
  Grouping& grouping_;
  const size_t stacks_;
  SummedRows summed_;
  boost::unordered_flat_map<RowKey, uint32_t, boost::hash<RowKey>> number_of_;
  std::vector<RowValues> sums_of_key_;
  std::vector<uint32_t> touched_;
  std::vector<double> by_stack_;
};

}  // namespace

SummedRows sum_rows(const store::Cells& cells, size_t events, Grouping& grouping, const Snapshot& snapshot) {
  return RowSummation(cells, events, grouping, snapshot).run();
}

Result<SummedSelection> sum_selection(store::AggregateRequest request, size_t events,
                                      uint32_t event_of_symbols, Grouping& grouping, const Snapshot& snapshot,
                                      SymbolCoverage& symbols) {
  SummedSelection summed;
  if (!grouping.needs_stacks()) {
    const auto cells = snapshot.rows->aggregate(request);
    if (!cells) {
      return propagate(cells);
    }
    summed.rows = sum_rows(*cells, events, grouping, snapshot);
    // The share without symbols needs the leaves in any case: not for each of the groups.
    for (const Column column : kEntryColumns) {
      request.group[column] = {};
    }
  }
  request.group[Column::kStack] = store::IdGrouping::each();
  Result<store::Cells> cells;
  run_both([&] { cells = snapshot.rows->aggregate(request); }, [&] { grouping.make_ready(); });
  if (!cells) {
    return propagate(cells);
  }
  if (const Status goes_on = check_stop(); !goes_on) {
    return propagate(goes_on);
  }
  for (size_t i = 0; i < cells->size(); ++i) {
    if (const store::CellKey& key = cells->keys[i]; key[Column::kEvent] == event_of_symbols) {
      summed.value += cells->sum(i, kValue);
      summed.samples += cells->sum(i, kSamples);
      symbols.add(key[Column::kStack], cells->sum(i, kValue), cells->sum(i, kSamples));
    }
  }
  if (grouping.needs_stacks()) {
    summed.rows = sum_rows(*cells, events, grouping, snapshot);
  }
  return summed;
}

Result<SummedRows> sum_event(const Selection& selection, ResolvedSelection& resolved, Grouping& grouping,
                             const Snapshot& snapshot, SymbolCoverage& symbols) {
  auto summed = sum_selection(resolved.request, 1, 0, grouping, snapshot, symbols);
  if (!summed) {
    return propagate(summed);
  }
  symbols.describe(resolved.coverage);
  if (resolved.coverage.samples == 0) {
    return with_hint(fail(ErrorCode::kNotFound, "the selection has no samples"),
                     why_empty(selection, snapshot));
  }
  return std::move(summed->rows);
}

SummedRows first_rows(const SummedRows& rows, std::vector<uint32_t> places, size_t count,
                      const std::function<bool(uint32_t, uint32_t)>& before) {
  const auto last = places.begin() + static_cast<ptrdiff_t>(std::min(places.size(), count));
  std::partial_sort(places.begin(), last, places.end(), before);
  places.erase(last, places.end());
  SummedRows first{.events = rows.events, .keys = {}, .values = {}};
  for (const uint32_t row : places) {
    first.keys.push_back(rows.keys[row]);
    for (size_t event = 0; event < rows.events; ++event) {
      first.values.push_back(rows.of(row, event));
    }
  }
  return first;
}

}  // namespace plimsoll::query
