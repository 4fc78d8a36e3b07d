// Seeded random rows, and questions about them that use everything an AggregateRequest can say.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/model/aggregation.h"

namespace plimsoll::testing {

// How many IDs the dictionaries of some rows have, the empty entry 0 among them: events, origins, workloads, threads, label sets,
// stacks.
using Cardinalities = store::ByColumn<uint32_t>;
inline constexpr Cardinalities kFewIds{{4, 9, 7, 6, 5, 60}};

class Random {
 public:
  explicit Random(uint64_t seed) : random_(seed) {}

  // A number below `bound`, which is not 0.
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  bool one_in(uint32_t n) { return below(n) == 0; }

  // Quarters, so that sums are exact in any order; one in four is 0.
  double factor() { return one_in(4) ? 0 : below(64) / 4.0; }

  // For a dictionary of `count` entries: now and then one as of before the newest entries came, or after more did.
  std::vector<bool> flags(uint32_t count) {
    const uint32_t selected_in_8 = 1 + below(8);
    std::vector<bool> flags;
    for (uint32_t i = length_for(count); i > 0; --i) {
      flags.push_back(below(8) < selected_in_8);
    }
    return flags;
  }

  // As flags, as ranges, or as few IDs.
  store::IdSet ids(uint32_t count) {
    if (one_in(2)) {
      return store::IdSet::of_flags(flags(count));
    }
    const uint32_t parts = below(5);
    if (one_in(2)) {
      std::vector<uint32_t> some;
      while (some.size() < parts) {
        some.push_back(below(count + 2));
      }
      return store::IdSet::of(some);
    }
    std::vector<store::IdRange> ranges;
    while (ranges.size() < parts) {
      const uint32_t first = below(count + 2);
      ranges.push_back({first, first + below(count)});
    }
    return store::IdSet::of_ranges(std::move(ranges));
  }

  store::StackGroups stack_groups(uint32_t stacks) {
    const uint32_t groups = 1 + below(one_in(2) ? 4 : stacks);
    store::StackGroups lists;
    for (uint32_t list = 1 + below(20); list > 0; --list) {
      std::set<uint32_t> of_list;
      for (uint32_t draws = below(5); draws > 0; --draws) {
        of_list.insert(below(groups));
      }
      lists.groups.insert(lists.groups.end(), of_list.begin(), of_list.end());
      lists.first.push_back(static_cast<uint32_t>(lists.groups.size()));
    }
    lists.list_of_stack = this->groups(stacks, static_cast<uint32_t>(lists.first.size() - 1));
    return lists;
  }

  std::vector<uint32_t> groups(uint32_t count, uint32_t groups) {
    std::vector<uint32_t> numbers;
    for (uint32_t i = length_for(count); i > 0; --i) {
      numbers.push_back(below(groups));
    }
    return numbers;
  }

 private:
  uint32_t length_for(uint32_t count) {
    return one_in(4) ? 1 + below(count) : one_in(4) ? count + below(100) : count;
  }

  std::mt19937_64 random_;
};

inline std::vector<store::Row> random_rows(Random& random, const Cardinalities& ids, size_t count) {
  std::vector<store::Row> rows;
  rows.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    store::Row& row = rows.emplace_back();
    for (const store::Column column : store::kColumns) {
      const bool may_be_none = column == store::Column::kLabels || column == store::Column::kStack;
      row[column] = may_be_none ? random.below(ids[column]) : 1 + random.below(ids[column] - 1);
    }
    row.hits = 1 + random.below(100);
  }
  return rows;
}

// A factor for each event and origin, often the same for all; none for events that are left out.
inline store::Factors random_factors(Random& random, const Cardinalities& ids, const store::IdSet& events) {
  std::vector<std::vector<double>> factors(ids[store::Column::kEvent]);
  const bool is_common = random.one_in(3);
  const double common = random.factor();
  for (uint32_t event = 0; event < ids[store::Column::kEvent]; ++event) {
    if (events.selects(event)) {
      factors[event].resize(ids[store::Column::kOrigin]);
      std::ranges::generate(factors[event], [&] { return is_common ? common : random.factor(); });
    }
  }
  return store::factors_of(std::move(factors));
}

// Sums hits.
inline store::AggregateRequest request_for_all(const Cardinalities& ids) {
  store::AggregateRequest request;
  const store::IdTable<double> ones(std::vector<double>(ids[store::Column::kOrigin], 1));
  request.measures = {store::Factors(ids[store::Column::kEvent], ones)};
  return request;
}

// There are conditions on these dimensions of a column.
inline std::vector<std::string> dimensions_of(store::Column column) {
  switch (column) {
    case store::Column::kOrigin:
      return {"platform", "draw"};
    case store::Column::kWorkload:
      return {"job", "app"};
    case store::Column::kThread:
      return {"thread"};
    default:
      return {};
  }
}

// What an entry has in each of them: neighbours differ.
inline std::string value_of_entry(uint32_t id) {
  return fmt::format("value {}", id % 3);
}

// Of an origin's window.
inline int64_t start_of_origin(uint32_t id) {
  return int64_t{100} * id;
}
inline constexpr int64_t kWindowNs = 25;

// Those of the column's IDs that meet a condition or two; of origins, of some time.
inline store::IdSet random_selection(Random& random, store::Column column, uint32_t count) {
  const std::vector<std::string> dimensions = dimensions_of(column);
  store::IdSelection made;
  if (random.one_in(2)) {
    made.among = store::IdSet::of_ranges({{random.below(count), count}});
  }
  if (column == store::Column::kOrigin && random.one_in(2)) {
    made.middle.from_ns = start_of_origin(random.below(count)) + random.below(20);
    made.middle.to_ns = made.middle.from_ns + start_of_origin(random.below(count));
  }
  made.conditions.resize(1 + random.below(2));
  for (store::EntryCondition& condition : made.conditions) {
    condition.dimension = dimensions[random.below(static_cast<uint32_t>(dimensions.size()))];
    condition.are_prefixes = random.one_in(3);
    condition.is_negated = random.one_in(2);
    condition.values = {value_of_entry(random.below(3)), "value of no entry"};
  }
  std::vector<uint32_t> ids;
  for (uint32_t id = 1; id < count; ++id) {
    const int64_t middle_ns = start_of_origin(id) + kWindowNs / 2;
    const bool meets_all = std::ranges::all_of(made.conditions, [&](const store::EntryCondition& condition) {
      return (condition.values[0] == value_of_entry(id)) != condition.is_negated;
    });
    if (meets_all && made.among.selects(id) && middle_ns >= made.middle.from_ns &&
        middle_ns < made.middle.to_ns) {
      ids.push_back(id);
    }
  }
  return store::IdSet::of(ids).made_by(std::move(made));
}

inline store::RowFilter random_filter(Random& random, const Cardinalities& ids) {
  store::RowFilter filter;
  for (const store::Column column : store::kColumns) {
    if (random.one_in(3)) {
      const bool has_conditions = !dimensions_of(column).empty() && random.one_in(3);
      filter[column] =
          has_conditions ? random_selection(random, column, ids[column]) : random.ids(ids[column]);
    }
  }
  return filter;
}

// Some that there may be, and some that there are not.
inline std::vector<store::CellKey> random_cells(Random& random, const store::AggregateRequest& request,
                                                const Cardinalities& ids) {
  const auto group = [&](store::Column column) {
    const store::IdGrouping& grouping = request.group[column];
    const auto groups = static_cast<uint32_t>(grouping.groups(ids[column] - 1));
    return grouping.is_one() ? random.below(2) * random.below(2) : random.below(groups + 1);
  };
  std::vector<store::CellKey> cells;
  for (uint32_t count = 1 + random.below(30); count > 0; --count) {
    store::CellKey& key = cells.emplace_back();
    for (const store::Column column :
         {store::Column::kWorkload, store::Column::kThread, store::Column::kLabels, store::Column::kStack}) {
      key[column] = group(column);
    }
  }
  std::ranges::sort(cells);
  const auto repeated = std::ranges::unique(cells);
  cells.erase(repeated.begin(), repeated.end());
  return cells;
}

inline store::AggregateRequest random_request(Random& random, const Cardinalities& ids) {
  store::AggregateRequest request;
  request.filter = random_filter(random, ids);
  const auto table = [&](store::Column column) {
    return random.groups(ids[column], 1 + random.below(random.one_in(2) ? 4 : ids[column]));
  };
  for (const store::Column column : store::kColumns) {
    const bool is_of_stacks = column == store::Column::kStack;
    if (is_of_stacks && random.one_in(4)) {
      request.group[column] = store::IdGrouping::in_lists(random.stack_groups(ids[column]));
    } else if (random.one_in(is_of_stacks ? 4 : 8)) {
      request.group[column] = store::IdGrouping::each();
    } else if (random.one_in(3)) {
      request.group[column] = store::IdGrouping::by(table(column));
    }
  }
  if (random.one_in(3)) {
    request.machine_group = store::IdTable<uint32_t>(table(store::Column::kOrigin));
  }
  if (random.one_in(3)) {
    request.wanted = random_cells(random, request, ids);
  }
  for (uint32_t measures = 1 + random.below(3); measures > 0; --measures) {
    request.measures.push_back(random_factors(random, ids, request.filter[store::Column::kEvent]));
  }
  return request;
}

}  // namespace plimsoll::testing
