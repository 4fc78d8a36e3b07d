// Seeded random rows, and questions about them that use everything an AggregateRequest can say.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
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
inline store::Factors random_factors(Random& random, const Cardinalities& ids,
                                     const std::vector<bool>& events) {
  store::Factors factors(ids[store::Column::kEvent]);
  const bool is_common = random.one_in(3);
  const double common = random.factor();
  for (uint32_t event = 0; event < ids[store::Column::kEvent]; ++event) {
    if (events.empty() || (event < events.size() && events[event])) {
      factors[event].resize(ids[store::Column::kOrigin]);
      std::ranges::generate(factors[event], [&] { return is_common ? common : random.factor(); });
    }
  }
  return factors;
}

// Sums hits.
inline store::AggregateRequest request_for_all(const Cardinalities& ids) {
  store::AggregateRequest request;
  request.measures = {
      store::Factors(ids[store::Column::kEvent], std::vector<double>(ids[store::Column::kOrigin], 1))};
  return request;
}

inline store::RowFilter random_filter(Random& random, const Cardinalities& ids) {
  store::RowFilter filter;
  const auto maybe = [&](std::vector<bool>& flags, uint32_t count) {
    if (random.one_in(3)) {
      flags = random.flags(count);
    }
  };
  for (const store::Column column : store::kColumns) {
    maybe(filter[column], ids[column]);
  }
  return filter;
}

// Some that there may be, and some that there are not.
inline std::vector<store::CellKey> random_cells(Random& random, const store::AggregateRequest& request,
                                                const Cardinalities& ids) {
  const auto group = [&](const std::vector<uint32_t>& groups) {
    return groups.empty() ? random.below(2) * random.below(2) : random.below(std::ranges::max(groups) + 2);
  };
  std::vector<store::CellKey> cells;
  for (uint32_t count = 1 + random.below(30); count > 0; --count) {
    store::CellKey& key = cells.emplace_back();
    for (const store::Column column :
         {store::Column::kWorkload, store::Column::kThread, store::Column::kLabels}) {
      key[column] = group(request.group[column]);
    }
    key[store::Column::kStack] = request.by_stack               ? random.below(ids[store::Column::kStack])
                                 : request.stack_groups.empty() ? group(request.group[store::Column::kStack])
                                                                : group(request.stack_groups.groups);
  }
  std::ranges::sort(cells);
  const auto repeated = std::ranges::unique(cells);
  cells.erase(repeated.begin(), repeated.end());
  return cells;
}

inline store::AggregateRequest random_request(Random& random, const Cardinalities& ids) {
  store::AggregateRequest request;
  request.filter = random_filter(random, ids);
  const auto maybe = [&](std::vector<uint32_t>& groups, uint32_t count) {
    if (random.one_in(3)) {
      groups = random.groups(count, 1 + random.below(random.one_in(2) ? 4 : count));
    }
  };
  for (const store::Column column : store::kGroupColumns) {
    maybe(request.group[column], ids[column]);
  }
  maybe(request.machine_group, ids[store::Column::kOrigin]);
  switch (random.below(4)) {
    case 0:
      request.by_stack = true;
      break;
    case 1:
      request.stack_groups = random.stack_groups(ids[store::Column::kStack]);
      break;
    default:
      maybe(request.group[store::Column::kStack], ids[store::Column::kStack]);
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
