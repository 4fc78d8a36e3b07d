#include "store/catalogue/segment_table.h"

namespace plimsoll::store {

Result<std::vector<SegmentEntry>> visible_segments(sqlite::Database& catalogue) {
  std::vector<SegmentEntry> segments;
  const auto listed = sqlite::for_each_row(
      catalogue.query("SELECT id, file, rows, bytes, from_ns, to_ns FROM segment ORDER BY id"),
      [&](const sqlite::Statement& row) {
        segments.push_back({.id = row.integer(0),
                            .file = std::string(row.text(1)),
                            .rows = static_cast<uint64_t>(row.integer(2)),
                            .bytes = static_cast<uint64_t>(row.integer(3)),
                            .from_ns = row.integer(4),
                            .to_ns = row.integer(5)});
      });
  return listed ? Result<std::vector<SegmentEntry>>(std::move(segments)) : propagate(listed);
}

Status insert_segment(sqlite::Database& catalogue, const SegmentEntry& segment) {
  return catalogue.execute("INSERT INTO segment (file, rows, bytes, from_ns, to_ns) VALUES (?, ?, ?, ?, ?)",
                           segment.file, segment.rows, segment.bytes, segment.from_ns, segment.to_ns);
}

Status replace_segments(sqlite::Database& catalogue, std::span<const SegmentEntry> inputs,
                        const SegmentEntry& output) {
  // First the new one: an ID that is free again would be given again.
  if (auto inserted = insert_segment(catalogue, output); !inserted) {
    return inserted;
  }
  for (const SegmentEntry& input : inputs) {
    const auto deleted = catalogue.integer("DELETE FROM segment WHERE id = ? AND file = ? RETURNING id", 0,
                                           input.id, input.file);
    if (!deleted) {
      return propagate(deleted);
    }
    if (*deleted != input.id) {
      return fail(ErrorCode::kConflict, "segment {} is no longer visible", input.file);
    }
  }
  return {};
}

}  // namespace plimsoll::store
