#include "store/copy/part_segments.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/durable_file.h"
#include "store/segments/encoded_segment.h"
#include "store/segments/row_order.h"

namespace plimsoll::store {
namespace {

constexpr size_t kRowsPerSegment = 4'000'000;

class SegmentsWriter {
 public:
  SegmentsWriter(const BlockFolder& block, const CopiedPart& part)
      : block_(block),
        entries_(part.entries),
        last_ids_(last_ids_of(sizes_of(part.entries))),
        last_(part.last) {
    for (size_t id = 1; id < entries_.workloads.size(); ++id) {
      order_.add_workload(entries_.workloads[id].job);
    }
  }

  Status add(std::span<const Row> rows) {
    for (const Row& row : rows) {
      for (const Column column : kColumns) {
        if (row[column] > last_ids_[column]) {
          return fail(ErrorCode::kCorrupt, "a row has an ID {} that no dictionary has", row[column]);
        }
      }
      rows_.push_back(row);
      if (rows_.size() == kRowsPerSegment) {
        if (const Status written = write_segment(); !written) {
          return written;
        }
      }
    }
    return {};
  }

  // Once.
  Result<std::vector<SegmentEntry>> finish() {
    const Status written = rows_.empty() ? Status() : write_segment();
    return written ? Result<std::vector<SegmentEntry>>(std::move(segments_)) : propagate(written);
  }

 private:
  Status write_segment() {
    auto segment = encode_segment_file(fmt::format("{:012}-{}.rows", last_, segments_.size() + 1),
                                       std::exchange(rows_, {}), order_, entries_.origins.span(), 0);
    if (!segment) {
      return propagate(segment);
    }
    const Status written =
        write_file_durably(block_.segments_path() + "/" + segment->entry.file, as_bytes(segment->content));
    segments_.push_back(std::move(segment->entry));
    return written;
  }

  const BlockFolder& block_;
  const Dictionaries& entries_;
  const ByColumn<uint32_t> last_ids_;
  const int64_t last_;
  RowOrder order_;
  std::vector<Row> rows_;
  std::vector<SegmentEntry> segments_;
};

}  // namespace

Result<std::vector<SegmentEntry>> write_part_segments(const BlockFolder& block, const CopiedPart& part,
                                                      RowCursor& rows) {
  SegmentsWriter writer(block, part);
  while (true) {
    const auto some = rows.next();
    if (!some) {
      return propagate(some);
    }
    if (some->empty()) {
      return writer.finish();
    }
    if (const Status added = writer.add(*some); !added) {
      return propagate(added);
    }
  }
}

}  // namespace plimsoll::store
