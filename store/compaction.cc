#include "store/compaction.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "base/durable_file.h"
#include "base/log.h"
#include "store/rows/local_rows.h"
#include "store/rows/segment.h"

namespace plimsoll::store {
namespace {

constexpr std::string_view kSuffix = ".rows";

// Of "000000000012.rows" "000000000012.1.rows", and of that "000000000012.2.rows".
std::string next_generation_of(std::string_view file) {
  if (file.ends_with(kSuffix)) {
    file.remove_suffix(kSuffix.size());
  }
  uint64_t generation = 0;
  const size_t dot = file.rfind('.');
  if (dot != std::string_view::npos) {
    const std::string_view digits = file.substr(dot + 1);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), generation);
    if (parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size()) {
      file = file.substr(0, dot);
    }
  }
  return fmt::format("{}.{}{}", file, generation + 1, kSuffix);
}

// A name is taken from one input, whose own name goes with it: so none is ever used twice, and a reader with an old list
// finds the file that it means, or none.
std::string name_for(const std::vector<SegmentEntry>& inputs) {
  return next_generation_of(std::ranges::max(inputs, {}, &SegmentEntry::file).file);
}

// The one place that decides in which order merged rows lie; encode_segment() sorts by IDs.
std::string encode_merged(std::vector<Row> rows) {
  return encode_segment(std::move(rows));
}

// The file itself is at fault, and will be the next time.
bool is_damage(const Error& error) {
  return error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kUnsupported ||
         error.code == ErrorCode::kNotFound;
}

// Adds a segment's rows. Gives up, without a failure, once `stop` is requested.
Status append_rows(const std::string& path, uint64_t rows_expected, const std::stop_token& stop,
                   std::vector<Row>& rows) {
  const auto segment = LocalRows::open({path});
  if (!segment) {
    return propagate(segment);
  }
  const size_t rows_before = rows.size();
  const auto cursor = segment->scan({});
  while (!stop.stop_requested()) {
    const auto batch = cursor->next();
    if (!batch) {
      return propagate(batch);
    }
    if (batch->empty()) {
      return {};
    }
    if (batch->size() > rows_expected - (rows.size() - rows_before)) {
      return fail(ErrorCode::kCorrupt, "segment {} has more rows than the {} that the catalogue says", path,
                  rows_expected);
    }
    rows.insert(rows.end(), batch->begin(), batch->end());
  }
  return {};
}

}  // namespace

CompactionReport& CompactionReport::operator+=(const CompactionReport& other) {
  merged += other.merged;
  made += other.made;
  rows_before += other.rows_before;
  rows += other.rows;
  bytes_before += other.bytes_before;
  bytes += other.bytes;
  damaged.insert(damaged.end(), other.damaged.begin(), other.damaged.end());
  return *this;
}

Result<std::unique_ptr<Compactor>> Compactor::open(Ingest& ingest, const CompactionLimits& limits) {
  auto catalogue = Catalogue::open(ingest.directory().catalogue_path(), sqlite::OpenMode::kRead);
  if (!catalogue) {
    return propagate(catalogue);
  }
  return std::unique_ptr<Compactor>(new Compactor(ingest, std::move(*catalogue), limits));
}

std::string Compactor::path_of(const SegmentEntry& segment) const {
  return ingest_.directory().segments_path() + "/" + segment.file;
}

Result<std::vector<SegmentEntry>> Compactor::plan() {
  auto segments = visible_segments(catalogue_.database());
  if (!segments) {
    return segments;
  }
  std::erase_if(*segments, [&](const SegmentEntry& segment) { return damaged_.contains(segment.id); });
  return next_merge(*segments, limits_);
}

Result<std::vector<SegmentEntry>> Compactor::pending() {
  const std::lock_guard lock(mutex_);
  return plan();
}

Result<CompactionReport> Compactor::merge_once(const std::stop_token& stop) {
  const std::lock_guard lock(mutex_);
  const auto inputs = plan();
  if (!inputs) {
    return propagate(inputs);
  }
  return inputs->empty() ? CompactionReport() : merge(*inputs, stop);
}

Result<CompactionReport> Compactor::merge_all(const std::stop_token& stop) {
  CompactionReport all;
  while (!stop.stop_requested()) {
    const auto report = merge_once(stop);
    if (!report) {
      return report;
    }
    if (report->merged == 0 && report->damaged.empty()) {
      break;
    }
    all += *report;
  }
  return all;
}

Result<CompactionReport> Compactor::merge(const std::vector<SegmentEntry>& inputs,
                                          const std::stop_token& stop) {
  CompactionReport report;
  auto rows = read_rows(inputs, stop, report);
  if (!rows) {
    return propagate(rows);
  }
  if (!report.damaged.empty() || stop.stop_requested()) {
    return report;
  }
  SegmentEntry output{.file = name_for(inputs), .rows = rows->size()};
  output.from_ns = std::ranges::min(inputs, {}, &SegmentEntry::from_ns).from_ns;
  output.to_ns = std::ranges::max(inputs, {}, &SegmentEntry::to_ns).to_ns;
  const std::string content = encode_merged(std::move(*rows));
  output.bytes = content.size();
  if (auto written = write_file_durably(path_of(output), as_bytes(content)); !written) {
    return propagate(written);
  }
  if (auto swapped = swap(inputs, output); !swapped) {
    return propagate(swapped, "merging {} segments into {}", inputs.size(), output.file);
  }
  report.merged = inputs.size();
  report.made = 1;
  report.rows = output.rows;
  report.bytes = output.bytes;
  for (const SegmentEntry& input : inputs) {
    report.rows_before += input.rows;
    report.bytes_before += input.bytes;
  }
  return report;
}

Result<std::vector<Row>> Compactor::read_rows(const std::vector<SegmentEntry>& inputs,
                                              const std::stop_token& stop, CompactionReport& report) {
  std::vector<Row> rows;
  uint64_t rows_expected = 0;
  for (const SegmentEntry& input : inputs) {
    rows_expected += input.rows;
  }
  rows.reserve(rows_expected);
  for (const SegmentEntry& input : inputs) {
    const Status read = append_rows(path_of(input), input.rows, stop, rows);
    if (!read && !is_damage(read.error())) {
      return propagate(read, "merging segments");
    }
    if (!read) {
      log_error("{} is left as it is: {}", input.file, read.error().text());
      report.damaged.push_back(read.error().text());
      damaged_.insert(input.id);
    }
  }
  return rows;
}

Status Compactor::swap(const std::vector<SegmentEntry>& inputs, const SegmentEntry& output) {
  const Status swapped = ingest_.write_catalogue(
      [&](sqlite::Database& catalogue) { return replace_segments(catalogue, inputs, output); });
  if (!swapped) {
    ::unlink(path_of(output).c_str());
    return swapped;
  }
  for (const SegmentEntry& input : inputs) {
    // Not visible any more: a file that stays costs room, until the next start.
    if (::unlink(path_of(input).c_str()) != 0 && errno != ENOENT) {
      log_warning("removing {}, which was merged: {}", path_of(input),
                  std::generic_category().message(errno));
    }
  }
  return {};
}

}  // namespace plimsoll::store
