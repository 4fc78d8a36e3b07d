// The catalogue of a block that is made of a part.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "store/blocks/block_folder.h"
#include "store/catalogue/segment_table.h"
#include "store/copy/part.h"

namespace plimsoll::store {

// Makes it in the block's folder, which has no name of a block yet, with everything that the part has; `segments` are the block's files of rows.
// After a failure or a crash the folder is of no use. The caller syncs it. `directory_id`: empty where the directory has none.
Status write_part_catalogue(const BlockFolder& block, const CopiedPart& part,
                            std::span<const SegmentEntry> segments, const ReadNames& read_names,
                            std::string_view directory_id);

}  // namespace plimsoll::store
