#include "store/rollup/rolled_rows.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "base/durable_file.h"
#include "store/segments/segment.h"
#include "store/segments/segment_merge.h"

namespace plimsoll::store {
namespace {

constexpr size_t kMaxRowsInMemory = 4'000'000;
// What a merge holds in memory: its output, at one to three bytes a row (compaction has as many).
constexpr uint64_t kMaxRowsOfSegment = uint64_t{1} << 26U;
constexpr size_t kMaxRunsOfMerge = 64;

}  // namespace

RolledRows::RolledRows(const Hours& hours, std::vector<uint32_t> workload_of, RowOrder order,
                       std::string segments_path)
    : hours_(hours),
      workload_of_(std::move(workload_of)),
      order_(std::move(order)),
      segments_path_(std::move(segments_path)) {
  hits_.reserve(hours.origins().size());
  for (const OriginRow& origin : hours.origins()) {
    hits_.emplace_back(origin.events.size());
  }
}

Status RolledRows::add(std::span<const Row> rows) {
  for (Row row : rows) {
    uint32_t& origin = row[Column::kOrigin];
    uint32_t& workload = row[Column::kWorkload];
    const uint32_t event = row[Column::kEvent];
    if (workload >= workload_of_.size() || origin == 0 || origin > hours_.profiles()) {
      return fail(ErrorCode::kCorrupt, "the segments have IDs that the catalogue does not have");
    }
    row.hits *= hours_.multiplier(origin, event);
    origin = hours_.origin_of(origin);
    workload = workload_of_[workload];
    row[Column::kThread] = 1;
    row[Column::kLabels] = row[Column::kLabels] == 0 ? 0 : 1;
    const std::vector<EventRecord>& events = hours_.origins()[origin].events;
    const auto known = std::ranges::lower_bound(events, event, {}, &EventRecord::event);
    if (known == events.end() || known->event != event) {
      return fail(ErrorCode::kCorrupt, "a profile has rows of an event that it did not come with");
    }
    hits_[origin][static_cast<size_t>(known - events.begin())] += row.hits;
    rows_.push_back(row);
  }
  if (rows_.size() < kMaxRowsInMemory) {
    return {};
  }
  shrink();
  return rows_.size() > kMaxRowsInMemory / 2 ? write_run() : Status();
}

// In order, with each key once.
void RolledRows::shrink() {
  std::ranges::sort(rows_, std::cref(order_));
  size_t end = 0;
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (end > 0 && rows_[end - 1].same_key(rows_[i])) {
      rows_[end - 1].hits += rows_[i].hits;
    } else {
      rows_[end++] = rows_[i];
    }
  }
  rows_.resize(end);
}

std::string RolledRows::next_path() {
  return fmt::format("{}/{:012}.rows", segments_path_, ++files_);
}

Status RolledRows::write_run() {
  shrink();
  SegmentWriter writer;
  for (const Row& row : rows_) {
    writer.add(row);
  }
  const Run run{next_path(), rows_.size()};
  rows_.clear();
  const std::string content = writer.finish();
  const Status written = write_file_durably(run.path, as_bytes(content));
  runs_.push_back(run);
  return written;
}

Status RolledRows::expect_all_hits() const {
  for (size_t origin = 1; origin < hits_.size(); ++origin) {
    for (size_t place = 0; place < hits_[origin].size(); ++place) {
      if (hits_[origin][place] != hours_.origins()[origin].events[place].hits) {
        return fail(ErrorCode::kCorrupt, "the segments have other hits than the profiles came with");
      }
    }
  }
  return {};
}

Result<std::vector<SegmentEntry>> RolledRows::finish(const std::stop_token& stop) {
  Status done = expect_all_hits();
  if (done && !rows_.empty()) {
    done = write_run();
  }
  rows_ = {};
  if (!done) {
    return propagate(done);
  }
  std::vector<SegmentEntry> segments;
  for (size_t first = 0; first < runs_.size();) {
    size_t end = first;
    for (uint64_t rows = 0; end < runs_.size() && end - first < kMaxRunsOfMerge; ++end) {
      rows += runs_[end].rows;
      if (end > first && rows > kMaxRowsOfSegment) {
        break;
      }
    }
    auto merged = merge(std::span(runs_).subspan(first, end - first), stop);
    if (!merged) {
      return propagate(merged);
    }
    segments.push_back(std::move(*merged));
    first = end;
  }
  return segments;
}

// A single run stays as it is.
Result<SegmentEntry> RolledRows::merge(std::span<const Run> runs, const std::stop_token& stop) {
  std::vector<std::shared_ptr<const Segment>> inputs;
  for (const Run& run : runs) {
    auto segment = Segment::open(run.path);
    if (!segment) {
      return propagate(segment);
    }
    inputs.push_back(std::make_shared<const Segment>(std::move(*segment)));
  }
  SegmentEntry entry;
  entry.from_ns = INT64_MAX;
  entry.to_ns = INT64_MIN;
  std::string path = runs.front().path;
  entry.rows = inputs.front()->rows();
  entry.bytes = inputs.front()->size_bytes();
  if (runs.size() > 1) {
    path = next_path();
    const auto merged = SegmentMerge(inputs, order_).run(stop);
    if (!merged || stop.stop_requested()) {
      return !merged ? propagate(merged) : fail(ErrorCode::kUnavailable, "stopped");
    }
    entry.rows = merged->rows;
    entry.bytes = merged->content.size();
    if (const Status written = write_file_durably(path, as_bytes(merged->content)); !written) {
      return propagate(written);
    }
    for (const Run& run : runs) {
      ::unlink(run.path.c_str());
    }
  }
  entry.file = path.substr(path.rfind('/') + 1);
  ChunkGroups groups;
  for (const auto& input : inputs) {
    for (size_t chunk = 0; chunk < input->chunks(); ++chunk) {
      if (const Status read = input->read_groups(chunk, groups); !read) {
        return propagate(read);
      }
      for (size_t group = 0; group < groups.size; ++group) {
        const OriginEntry& origin = hours_.origins()[groups[Column::kOrigin][group]].entry;
        entry.from_ns = std::min(entry.from_ns, origin.from_ns);
        entry.to_ns = std::max(entry.to_ns, origin.to_ns);
      }
    }
  }
  return entry;
}

}  // namespace plimsoll::store
