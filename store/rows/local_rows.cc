#include "store/rows/local_rows.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <tuple>

namespace plimsoll::store {
namespace {

using CellKey = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;

struct Sums {
  uint64_t hits = 0;
  double value = 0;
  double samples = 0;
};

bool selected(const std::vector<bool>& flags, uint64_t id) {
  return flags.empty() || (id < flags.size() && flags[id]);
}

uint32_t group_of(const std::vector<uint32_t>& groups, uint64_t id) {
  return id < groups.size() ? groups[id] : 0;
}

// Whether any ID of the zone is selected.
bool may_hold(const std::vector<bool>& flags, Segment::Zone zone) {
  if (flags.empty()) {
    return true;
  }
  for (uint64_t id = zone.min; id <= zone.max && id < flags.size(); ++id) {
    if (flags[id]) {
      return true;
    }
  }
  return false;
}

// One aggregation over all segments.
class Aggregator {
 public:
  explicit Aggregator(const AggregateRequest& request) : request_(request) {}

  Status add(const Segment& segment) {
    for (size_t block = 0; block < segment.blocks(); ++block) {
      if (can_skip(segment, block)) {
        continue;
      }
      if (auto read = read_block(segment, block); !read) {
        return read;
      }
      if (auto added = add_rows(segment.rows_in_block(block)); !added) {
        return added;
      }
    }
    return {};
  }

  std::vector<Cell> cells() const {
    std::vector<Cell> cells;
    cells.reserve(sums_.size());
    for (const auto& [key, sums] : sums_) {
      const auto [event, origin, workload, thread, machine, stack] = key;
      cells.push_back({event, origin, workload, thread, machine, stack, sums.hits, sums.value, sums.samples});
    }
    return cells;
  }

 private:
  bool can_skip(const Segment& segment, size_t block) const {
    return !may_hold(request_.events, segment.zone(block, Column::kEvent)) ||
           !may_hold(request_.origins, segment.zone(block, Column::kOrigin)) ||
           !may_hold(request_.workloads, segment.zone(block, Column::kWorkload)) ||
           !may_hold(request_.threads, segment.zone(block, Column::kThread)) ||
           !may_hold(request_.stacks, segment.zone(block, Column::kStack));
  }

  Status read_block(const Segment& segment, size_t block) {
    for (size_t column = 0; column < kColumns; ++column) {
      if (auto read = segment.read(block, static_cast<Column>(column), columns_[column]); !read) {
        return read;
      }
    }
    return {};
  }

  uint64_t value(Column column, size_t row) const { return columns_[static_cast<size_t>(column)][row]; }

  Status add_rows(size_t rows) {
    for (size_t row = 0; row < rows; ++row) {
      const uint64_t event = value(Column::kEvent, row);
      const uint64_t origin = value(Column::kOrigin, row);
      const uint64_t workload = value(Column::kWorkload, row);
      const uint64_t thread = value(Column::kThread, row);
      const uint64_t stack = value(Column::kStack, row);
      if (!selected(request_.events, event) || !selected(request_.origins, origin) ||
          !selected(request_.workloads, workload) || !selected(request_.threads, thread) ||
          !selected(request_.stacks, stack)) {
        continue;
      }
      const uint64_t factor_index = origin * request_.event_count + event;
      if (event >= request_.event_count || factor_index >= request_.factor.size()) {
        return fail(ErrorCode::kCorrupt,
                    "a row names event {} of origin {}, which the dictionaries do not hold", event, origin);
      }
      Sums& sums = sums_[{static_cast<uint32_t>(event), group_of(request_.origin_group, origin),
                          group_of(request_.workload_group, workload),
                          group_of(request_.thread_group, thread), group_of(request_.machine_group, origin),
                          request_.by_stack ? static_cast<uint32_t>(stack) : 0}];
      const uint64_t hits = value(Column::kHits, row);
      sums.hits += hits;
      sums.value += static_cast<double>(hits) * request_.factor[factor_index];
      sums.samples += static_cast<double>(hits) *
                      (request_.samples_per_hit.empty() ? 1 : request_.samples_per_hit[factor_index]);
      if (sums_.size() > request_.max_cells) {
        return with_hint(fail(ErrorCode::kTooLarge, "the answer has more than {} groups", request_.max_cells),
                         "group by fewer dimensions, or narrow the time range or the filters");
      }
    }
    return {};
  }

  const AggregateRequest& request_;
  std::array<std::vector<uint64_t>, kColumns> columns_;
  boost::unordered_flat_map<CellKey, Sums> sums_;
};

}  // namespace

Result<LocalRows> LocalRows::open(const std::vector<std::string>& segment_paths) {
  LocalRows rows;
  for (const std::string& path : segment_paths) {
    auto segment = Segment::open(path);
    if (!segment) {
      return propagate(segment);
    }
    rows.segments_.push_back(std::move(*segment));
  }
  return rows;
}

Result<std::vector<Cell>> LocalRows::aggregate(const AggregateRequest& request) const {
  Aggregator aggregator(request);
  for (const Segment& segment : segments_) {
    if (auto added = aggregator.add(segment); !added) {
      return propagate(added);
    }
  }
  return aggregator.cells();
}

uint64_t LocalRows::rows() const {
  uint64_t total = 0;
  for (const Segment& segment : segments_) {
    total += segment.rows();
  }
  return total;
}

}  // namespace plimsoll::store
