#include "store/rows/local_rows.h"

#include <algorithm>
#include <map>

namespace plimsoll::store {
namespace {

bool selected(const std::vector<bool>& flags, uint64_t id) {
  return flags.empty() || (id < flags.size() && flags[id]);
}

bool selected(const RowFilter& filter, const Row& row) {
  return selected(filter.events, row.event) && selected(filter.workloads, row.workload) &&
         selected(filter.origins, row.origin) && selected(filter.threads, row.thread) &&
         selected(filter.stacks, row.stack);
}

uint32_t group_of(const std::vector<uint32_t>& groups, uint64_t id) {
  return id < groups.size() ? groups[id] : 0;
}

class SegmentCursor : public RowCursor {
 public:
  SegmentCursor(const std::vector<Segment>& segments, RowFilter filter)
      : segments_(segments), filter_(std::move(filter)) {}

  Result<std::span<const Row>> next() override {
    rows_.clear();
    while (rows_.empty() && segment_ < segments_.size()) {
      if (block_ == segments_[segment_].blocks()) {
        ++segment_;
        block_ = 0;
        continue;
      }
      if (auto read = read_block(segments_[segment_]); !read) {
        return propagate(read);
      }
      ++block_;
    }
    return std::span<const Row>(rows_);
  }

 private:
  Status read_block(const Segment& segment) {
    for (size_t column = 0; column < kColumns; ++column) {
      if (auto read = segment.read(block_, static_cast<Column>(column), columns_[column]); !read) {
        return read;
      }
    }
    for (size_t i = 0; i < segment.rows_in_block(block_); ++i) {
      const auto at = [&](Column column) { return columns_[static_cast<size_t>(column)][i]; };
      const auto id = [&](Column column) { return static_cast<uint32_t>(at(column)); };
      const Row row{id(Column::kEvent),  id(Column::kWorkload), id(Column::kOrigin),
                    id(Column::kThread), id(Column::kStack),    at(Column::kHits)};
      if (selected(filter_, row)) {
        rows_.push_back(row);
      }
    }
    return {};
  }

  const std::vector<Segment>& segments_;
  RowFilter filter_;
  size_t segment_ = 0;
  size_t block_ = 0;
  std::array<std::vector<uint64_t>, kColumns> columns_;
  std::vector<Row> rows_;
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

std::unique_ptr<RowCursor> LocalRows::scan(RowFilter filter) const {
  return std::make_unique<SegmentCursor>(segments_, std::move(filter));
}

Result<Cells> LocalRows::aggregate(const AggregateRequest& request) const {
  Cells cells;
  cells.measures = request.measures.size();
  for (const uint32_t group : request.machine_group) {
    cells.machine_groups = std::max<size_t>(cells.machine_groups, group + 1);
  }
  const size_t width = cells.measures * cells.machine_groups;
  std::map<CellKey, std::vector<double>> sums;
  const auto cursor = scan(request.filter);
  while (true) {
    const auto rows = cursor->next();
    if (!rows) {
      return propagate(rows);
    }
    if (rows->empty()) {
      break;
    }
    for (const Row& row : *rows) {
      const CellKey key{group_of(request.event_group, row.event), group_of(request.origin_group, row.origin),
                        group_of(request.workload_group, row.workload),
                        group_of(request.thread_group, row.thread),
                        request.by_stack ? row.stack : group_of(request.stack_group, row.stack)};
      auto& cell = sums[key];
      cell.resize(width);
      for (size_t m = 0; m < cells.measures; ++m) {
        const Factors& factors = request.measures[m];
        if (row.event >= factors.size() || row.origin >= factors[row.event].size()) {
          return fail(ErrorCode::kCorrupt,
                      "a row names event {} of origin {}, which the dictionaries do not hold", row.event,
                      row.origin);
        }
        cell[m * cells.machine_groups + group_of(request.machine_group, row.origin)] +=
            static_cast<double>(row.hits) * factors[row.event][row.origin];
      }
      if (sums.size() * width > request.max_sums) {
        return with_hint(fail(ErrorCode::kTooLarge, "the answer has more than {} sums", request.max_sums),
                         "group by fewer dimensions, or narrow the time range or the filters");
      }
    }
  }
  for (const auto& [key, cell] : sums) {
    if (std::ranges::any_of(cell, [](double sum) { return sum != 0; })) {
      cells.keys.push_back(key);
      cells.sums.insert(cells.sums.end(), cell.begin(), cell.end());
    }
  }
  return cells;
}

uint64_t LocalRows::rows() const {
  uint64_t total = 0;
  for (const Segment& segment : segments_) {
    total += segment.rows();
  }
  return total;
}

}  // namespace plimsoll::store
