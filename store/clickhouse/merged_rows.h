// The rows of several epochs in ClickHouse as one source.
#pragma once

#include <memory>
#include <vector>

#include "store/joined/part_rows.h"
#include "store/model/aggregation.h"

namespace plimsoll::store::clickhouse {

// Immutable. IDs are those of a union of the epochs' dictionaries.
class MergedRows : public RowSource {
 public:
  // `last_ids`: the largest of the union.
  MergedRows(std::vector<PartRows> parts, const ByColumn<uint32_t>& last_ids)
      : parts_(std::move(parts)), last_ids_(last_ids) {}

  // A statement for each epoch, a few of them at once; their sums are added up here. Memory: the translation of the request and the answer for
  // each statement under way, and the sums.
  Result<Cells> aggregate(const AggregateRequest& request) const override;
  std::unique_ptr<RowCursor> scan(RowFilter filter) const override;

 private:
  std::vector<PartRows> parts_;
  ByColumn<uint32_t> last_ids_;
};

// JoinParts.
std::shared_ptr<const RowSource> merge_rows(std::vector<PartRows> parts, const ByColumn<uint32_t>& last_ids);

}  // namespace plimsoll::store::clickhouse
