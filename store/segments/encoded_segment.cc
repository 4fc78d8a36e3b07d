#include "store/segments/encoded_segment.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "store/segments/segment_writer.h"

namespace plimsoll::store {

Result<EncodedSegment> encode_segment_file(std::string file, std::vector<Row> rows, const RowOrder& order,
                                           std::span<const OriginEntry> origins, size_t first_origin) {
  SegmentEntry segment{.file = std::move(file), .from_ns = INT64_MAX, .to_ns = INT64_MIN};
  for (const Row& row : rows) {
    const size_t id = row[Column::kOrigin];
    if (id < first_origin || id - first_origin >= origins.size()) {
      return fail(ErrorCode::kInvalid, "a row of origin {}, which is not in the batch", id);
    }
    const OriginEntry& origin = origins[id - first_origin];
    segment.from_ns = std::min(segment.from_ns, origin.from_ns);
    segment.to_ns = std::max(segment.to_ns, origin.to_ns);
  }
  EncodedRows encoded = encode_rows(std::move(rows), order);
  segment.rows = encoded.rows;
  segment.bytes = encoded.content.size();
  return EncodedSegment{.entry = std::move(segment), .content = std::move(encoded.content)};
}

}  // namespace plimsoll::store
