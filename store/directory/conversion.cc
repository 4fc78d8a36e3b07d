#include "store/directory/conversion.h"

#include <fmt/ranges.h>

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/durable_file.h"
#include "base/log.h"
#include "store/catalogue/catalogue.h"
#include "store/catalogue/segment_table.h"
#include "store/segments/segment.h"
#include "store/segments/segment_cursor.h"
#include "store/segments/segment_version_1.h"

namespace plimsoll::store {
namespace {

// No other segment is ever named so: neither those of batches ("000000000012.rows") nor merged ones ("000000000012.3.rows").
std::string converted_name(std::string_view file) {
  return fmt::format("{}.format6.rows", file.substr(0, file.rfind(".rows")));
}

Result<std::vector<Row>> read_segment_of_version_2(const std::string& path, uint64_t expected_rows) {
  auto segment = Segment::open_version_2(path);
  if (!segment) {
    return propagate(segment);
  }
  // What a batch had twice is one row of its file.
  if (segment->rows() > expected_rows) {
    return fail(ErrorCode::kCorrupt, "segment {} is damaged: it has {} rows, more than {}", path,
                segment->rows(), expected_rows);
  }
  SegmentCursor cursor({std::make_shared<const Segment>(std::move(*segment))}, {});
  std::vector<Row> rows;
  while (true) {
    const auto batch = cursor.next();
    if (!batch) {
      return propagate(batch);
    }
    if (batch->empty()) {
      return rows;
    }
    rows.insert(rows.end(), batch->begin(), batch->end());
  }
}

Result<std::vector<Row>> read_older_segment(const std::string& path, uint64_t expected_rows) {
  auto rows = read_segment_of_version_2(path, expected_rows);
  return rows || rows.error().code != ErrorCode::kUnsupported
             ? rows
             : read_segment_of_version_1(path, expected_rows);
}

class Conversion {
 public:
  Conversion(sqlite::Database& catalogue, const std::string& folder, const RowOrder& order)
      : catalogue_(catalogue), folder_(folder), order_(order) {}

  Status convert(const SegmentEntry& segment) {
    const std::string path = path_of(segment);
    const auto todays = Segment::open(path);
    if (todays || todays.error().code != ErrorCode::kUnsupported) {
      return todays ? Status() : propagate(todays);
    }
    auto rows = read_older_segment(path, segment.rows);
    if (!rows) {
      return propagate(rows);
    }
    const std::string content = encode_segment(std::move(*rows), order_);
    SegmentEntry converted = segment;
    converted.file = converted_name(segment.file);
    converted.bytes = content.size();
    if (auto written = write_file_durably(path_of(converted), as_bytes(content)); !written) {
      return written;
    }
    if (auto swapped = swap(segment, converted); !swapped) {
      return swapped;
    }
    std::error_code ignored;  // what is not visible is removed when rows are next written
    std::filesystem::remove(path, ignored);
    return {};
  }

 private:
  std::string path_of(const SegmentEntry& segment) const { return folder_ + "/" + segment.file; }

  Status swap(const SegmentEntry& old, const SegmentEntry& converted) {
    auto transaction = sqlite::Transaction::begin(catalogue_);
    if (!transaction) {
      return propagate(transaction);
    }
    const auto replaced = replace_segments(catalogue_, std::array{old}, converted);
    return replaced ? transaction->commit() : replaced;
  }

  sqlite::Database& catalogue_;
  const std::string& folder_;
  const RowOrder& order_;
};

}  // namespace

Status convert_segments(const std::string& catalogue_path, const std::string& segments_path) {
  auto catalogue = Catalogue::open(catalogue_path, sqlite::OpenMode::kReadWrite);
  if (!catalogue) {
    return propagate(catalogue);
  }
  const auto segments = visible_segments(catalogue->database());
  if (!segments) {
    return propagate(segments);
  }
  RowOrder order;
  if (auto added = order.add_workloads_of(catalogue->database()); !added) {
    return added;
  }
  Conversion conversion(catalogue->database(), segments_path, order);
  std::vector<std::string> damaged;
  for (const SegmentEntry& segment : *segments) {
    const auto converted = conversion.convert(segment);
    if (!converted && !is_damage(converted.error())) {
      return converted;
    }
    if (!converted) {
      damaged.push_back(converted.error().message);
    }
  }
  if (damaged.empty()) {
    return {};
  }
  return with_hint(
      fail(ErrorCode::kCorrupt, "{} of {} segments cannot be converted: {}", damaged.size(), segments->size(),
           fmt::join(damaged, "; ")),
      fmt::format("restore them from a backup; or remove {}*, and all rows are built again from the archive",
                  catalogue_path));
}

}  // namespace plimsoll::store
