#include "bench/store/dataset.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <fstream>

#include "store/rows/segment.h"

namespace plimsoll::bench {
namespace {

constexpr uint64_t kFirstWindowS = 1'700'000'000;
constexpr uint64_t kWindowS = 600;

void append_line(std::string& text, const store::Row& row) {
  const std::array<uint64_t, 7> fields{kFirstWindowS + window_of(row.origin) * kWindowS,
                                       row.event,
                                       machine_of(row.origin),
                                       row.workload,
                                       row.thread,
                                       row.stack,
                                       row.hits};
  std::array<char, 24> digits{};
  for (const uint64_t field : fields) {
    const auto [end, error] = std::to_chars(digits.begin(), digits.end(), field);
    text.append(digits.begin(), end);
    text += ',';
  }
  text.back() = '\n';
}

class Writer {
 public:
  Writer(std::string folder, const std::string& csv) : folder_(std::move(folder)), has_csv_(!csv.empty()) {
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
    return rows_.size() < kSegmentRows ? Status() : write_segment();
  }

  Result<Segments> finish() {
    if (const Status written = write_segment(); !written) {
      return propagate(written);
    }
    csv_.flush();
    return has_csv_ && !csv_ ? fail(ErrorCode::kIo, "writing rows below {}", folder_)
                             : Result<Segments>(std::move(segments_));
  }

 private:
  Status write_segment() {
    if (rows_.empty()) {
      return {};
    }
    segments_.rows += rows_.size();
    const std::string content = store::encode_segment(std::exchange(rows_, {}));
    segments_.bytes += content.size();
    segments_.paths.push_back(fmt::format("{}/{:04}.rows", folder_, segments_.paths.size()));
    std::ofstream file(segments_.paths.back(), std::ios::binary);
    file << content << std::flush;
    return file ? Status() : fail(ErrorCode::kIo, "writing {}", segments_.paths.back());
  }

  std::string folder_;
  bool has_csv_;
  std::ofstream csv_;
  std::string text_;
  std::vector<store::Row> rows_;
  Segments segments_;
};

}  // namespace

Result<Segments> write_rows(const RowGenerator& generate, uint32_t origins, const std::string& folder,
                            const std::string& csv) {
  Writer writer(folder, csv);
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
