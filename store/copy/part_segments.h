// The segments of a block that is made of a part.
#pragma once

#include <vector>

#include "base/result.h"
#include "store/blocks/block_folder.h"
#include "store/catalogue/segment_table.h"
#include "store/copy/part.h"
#include "store/model/aggregation.h"

namespace plimsoll::store {

// Writes all rows as files of the block's folder, durably, and returns what its catalogue records of them. Memory: 4 million
// rows. kCorrupt where a row names an entry that the part does not have.
Result<std::vector<SegmentEntry>> write_part_segments(const BlockFolder& block, const CopiedPart& part,
                                                      RowCursor& rows);

}  // namespace plimsoll::store
