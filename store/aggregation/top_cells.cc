#include "store/aggregation/top_cells.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace plimsoll::store {
namespace {

// Dictionaries are smaller: an ID beyond is damage, and gets no table.
constexpr uint32_t kMaxIds = uint32_t{1} << 28U;

// The cells at these places, which ascend.
Cells picked(const Cells& cells, const std::vector<size_t>& places) {
  Cells picked;
  picked.measures = cells.measures;
  picked.machine_groups = cells.machine_groups;
  const size_t width = cells.measures * cells.machine_groups;
  for (const size_t place : places) {
    picked.keys.push_back(cells.keys[place]);
    const auto sums = std::span(cells.sums).subspan(place * width, width);
    picked.sums.insert(picked.sums.end(), sums.begin(), sums.end());
  }
  return picked;
}

// The wanted groups of one column, numbered from 0 so that they keep their order; all others share a number. Group 0 keeps
// its number, wanted or not, because IDs that no table has belong to it.
class WantedGroups {
 public:
  WantedGroups(const Cells& wanted, Column column) : column_(column) {
    for (const CellKey& key : wanted.keys) {
      groups_.push_back(key[column]);
    }
    groups_.push_back(0);
    std::ranges::sort(groups_);
    groups_.erase(std::ranges::unique(groups_).begin(), groups_.end());
  }

  IdGrouping renumbered(const IdGrouping& grouping) const {
    if (grouping.is_one()) {
      return grouping;
    }
    if (grouping.is_each()) {
      return IdGrouping::by(table());
    }
    if (grouping.lists() != nullptr) {
      StackGroups lists = *grouping.lists();
      renumber(lists.groups);
      return IdGrouping::in_lists(std::move(lists));
    }
    std::vector<uint32_t> numbers(grouping.table().begin(), grouping.table().end());
    renumber(numbers);
    return IdGrouping::by(std::move(numbers));
  }

  void restore(CellKey& key) const {
    uint32_t& group = key[column_];
    group = group == others() ? UINT32_MAX : groups_[group];
  }

 private:
  void renumber(std::vector<uint32_t>& groups) const {
    for (uint32_t& group : groups) {
      group = number_of(group);
    }
  }

  // For a column whose groups are IDs.
  std::vector<uint32_t> table() const {
    std::vector<uint32_t> table(groups_.back() + 1, others());
    for (const uint32_t group : groups_) {
      table[group] = number_of(group);
    }
    return table;
  }

  uint32_t others() const { return static_cast<uint32_t>(groups_.size()); }
  uint32_t number_of(uint32_t group) const {
    const auto found = std::ranges::lower_bound(groups_, group);
    return found == groups_.end() || *found != group ? others()
                                                     : static_cast<uint32_t>(found - groups_.begin());
  }

  Column column_;
  std::vector<uint32_t> groups_;  // ascending
};

// Of a column whose groups are IDs.
std::vector<uint32_t> ids_of(const Cells& wanted, Column column) {
  std::vector<uint32_t> ids;
  for (const CellKey& key : wanted.keys) {
    ids.push_back(key[column]);
  }
  return ids;
}

// Whether a table for IDs up to the largest wanted one is small enough.
bool may_have_tables(const AggregateRequest& request, const Cells& wanted) {
  return std::ranges::all_of(kColumns, [&](Column column) {
    return !request.group[column].is_each() || std::ranges::max(ids_of(wanted, column)) < kMaxIds;
  });
}

}  // namespace

Cells largest_cells(const Cells& cells, size_t count) {
  std::vector<std::pair<double, size_t>> by_size;  // ascending: largest first, then smaller keys
  by_size.reserve(cells.size());
  for (size_t cell = 0; cell < cells.size(); ++cell) {
    by_size.emplace_back(-cells.sum(cell), cell);
  }
  const size_t shown = std::min(count, by_size.size());
  std::ranges::nth_element(by_size, by_size.begin() + static_cast<ptrdiff_t>(shown));
  std::vector<size_t> places;
  for (size_t i = 0; i < shown; ++i) {
    places.push_back(by_size[i].second);
  }
  std::ranges::sort(places);
  return picked(cells, places);
}

Result<Cells> aggregate_top(const RowSource& rows, const AggregateRequest& request, size_t count) {
  AggregateRequest whole = request;
  whole.machine_group = {};
  const auto all = rows.aggregate(whole);
  if (!all) {
    return all;
  }
  if (request.machine_group.empty() || all->keys.empty() || count == 0) {
    return largest_cells(*all, count);
  }
  const Cells wanted = largest_cells(*all, count);
  if (!may_have_tables(request, wanted)) {
    const auto split = rows.aggregate(request);
    return split ? largest_cells(*split, count) : split;
  }
  AggregateRequest narrowed = std::move(whole);
  narrowed.machine_group = request.machine_group;
  // By numbers that are no longer; the largest cells are among them.
  narrowed.wanted.clear();
  std::vector<WantedGroups> wanted_groups;  // by column
  for (const Column column : kColumns) {
    if (request.group[column].is_each()) {
      narrowed.filter[column] = IdSet::of(ids_of(wanted, column));
    }
    narrowed.group[column] = wanted_groups.emplace_back(wanted, column).renumbered(request.group[column]);
  }
  auto split = rows.aggregate(narrowed);
  if (!split) {
    return split;
  }
  std::vector<size_t> places;
  for (size_t cell = 0; cell < split->size(); ++cell) {
    CellKey& key = split->keys[cell];
    for (const WantedGroups& groups : wanted_groups) {
      groups.restore(key);
    }
    if (std::ranges::binary_search(wanted.keys, key)) {
      places.push_back(cell);
    }
  }
  return picked(*split, places);
}

}  // namespace plimsoll::store
