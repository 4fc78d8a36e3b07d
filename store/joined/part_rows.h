// Rows of a part, and what their IDs are among several parts.
#pragma once

#include <memory>
#include <vector>

#include "store/joined/dictionary_union.h"
#include "store/model/aggregation.h"

namespace plimsoll::store {

struct PartRows {
  std::shared_ptr<const RowSource> rows;
  Translation translation;
};

// The rows of one part after the other, with the IDs of the union. It keeps the parts.
std::unique_ptr<RowCursor> scan_parts(std::vector<PartRows> parts, RowFilter filter);

// The rows of several parts as one source; `last_ids`: the largest of the union.
using JoinParts = std::shared_ptr<const RowSource> (*)(std::vector<PartRows> parts,
                                                       const ByColumn<uint32_t>& last_ids);

}  // namespace plimsoll::store
