// A segment whose file is not written yet: the content of the file, and what the catalogue of its block records of it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/catalogue/segment_table.h"
#include "store/model/dictionaries.h"
#include "store/model/row.h"
#include "store/segments/row_order.h"

namespace plimsoll::store {

struct EncodedSegment {
  SegmentEntry entry;  // without an ID
  std::string content;
};

// Takes rows in any order; it costs what encode_rows() does. `file` is the name of the file. The segment lasts from the earliest window of its
// origins to the end of the latest. `origins` are entries with the IDs from `first_origin` on; kInvalid where a row has another origin.
Result<EncodedSegment> encode_segment_file(std::string file, std::vector<Row> rows, const RowOrder& order,
                                           std::span<const OriginEntry> origins, size_t first_origin);

}  // namespace plimsoll::store
