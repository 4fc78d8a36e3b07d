#include "bench/store/dataset.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>

#include "store/segments/segment.h"
#include "store/segments/segment_merge.h"

namespace plimsoll::bench {
namespace {

constexpr uint64_t kFirstWindowS = 1'700'000'000;
constexpr uint64_t kWindowS = 600;

// Segments are merged of parts of so many rows, as compaction does.
constexpr size_t kPartRows = 8'000'000;

void append_line(std::string& text, const store::Row& row) {
  const std::array<uint64_t, 7> fields{kFirstWindowS + window_of(row[store::Column::kOrigin]) * kWindowS,
                                       row[store::Column::kEvent],
                                       machine_of(row[store::Column::kOrigin]),
                                       row[store::Column::kWorkload],
                                       row[store::Column::kThread],
                                       row[store::Column::kStack],
                                       row.hits};
  std::array<char, 24> digits{};
  for (const uint64_t field : fields) {
    const auto [end, error] = std::to_chars(digits.begin(), digits.end(), field);
    text.append(digits.begin(), end);
    text += ',';
  }
  text.back() = '\n';
}

class SegmentsWriter {
 public:
  SegmentsWriter(std::string folder, const std::string& csv)
      : folder_(std::move(folder)), has_csv_(!csv.empty()) {
    if (has_csv_) {
      csv_.open(csv);
    }
  }

  std::vector<store::Row>& rows() { return rows_; }

  Status finish_origin(size_t first_row) {
    if (has_csv_) {
      text_.clear();
      for (const store::Row& row : std::span(rows_).subspan(first_row)) {
        append_line(text_, row);
      }
      csv_ << text_;
    }
    return rows_.size() < kPartRows ? Status() : write_part();
  }

  Result<Segments> finish() {
    if (const Status written = write_part(); !written) {
      return propagate(written);
    }
    if (const Status merged = merge_parts(); !merged) {
      return propagate(merged);
    }
    csv_.flush();
    return has_csv_ && !csv_ ? fail(ErrorCode::kIo, "writing rows below {}", folder_)
                             : Result<Segments>(std::move(segments_));
  }

 private:
  Status write_part() {
    if (rows_.empty()) {
      return {};
    }
    auto part = write(store::encode_segment(std::exchange(rows_, {})));
    if (!part) {
      return propagate(part);
    }
    if (rows_of(parts_) + part->rows() > kSegmentRows) {
      if (Status merged = merge_parts(); !merged) {
        return merged;
      }
    }
    parts_.push_back(std::make_shared<const store::Segment>(std::move(*part)));
    return {};
  }

  // What has been written since the last merge becomes one segment.
  Status merge_parts() {
    if (parts_.empty()) {
      return {};
    }
    const store::RowOrder by_id;  // workloads are jobs
    const auto merged = store::SegmentMerge(parts_, by_id).run({});
    const auto segment = merged ? write(merged->content) : propagate(merged);
    if (!segment) {
      return propagate(segment);
    }
    for (const auto& part : parts_) {
      std::filesystem::remove(part->path());
    }
    parts_.clear();
    segments_.rows += segment->rows();
    segments_.bytes += segment->size_bytes();
    segments_.paths.push_back(segment->path());
    return {};
  }

  Result<store::Segment> write(const std::string& content) {
    const std::string path = fmt::format("{}/{:04}.rows", folder_, files_++);
    std::ofstream file(path, std::ios::binary);
    file << content << std::flush;
    return file ? store::Segment::open(path) : fail(ErrorCode::kIo, "writing {}", path);
  }

  static uint64_t rows_of(const std::vector<std::shared_ptr<const store::Segment>>& segments) {
    uint64_t rows = 0;
    for (const auto& segment : segments) {
      rows += segment->rows();
    }
    return rows;
  }

  std::string folder_;
  bool has_csv_;
  std::ofstream csv_;
  std::string text_;
  std::vector<store::Row> rows_;  // of the next part
  std::vector<std::shared_ptr<const store::Segment>> parts_;
  size_t files_ = 0;
  Segments segments_;
};

}  // namespace

Result<Segments> write_rows(const RowGenerator& generate, uint32_t origins, const std::string& folder,
                            const std::string& csv) {
  SegmentsWriter writer(folder, csv);
  for (uint32_t origin = 1; origin <= origins; ++origin) {
    const size_t first_row = writer.rows().size();
    generate(origin, writer.rows());
    if (const Status finished = writer.finish_origin(first_row); !finished) {
      return propagate(finished);
    }
  }
  return writer.finish();
}

}  // namespace plimsoll::bench
