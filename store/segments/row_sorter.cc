#include "store/segments/row_sorter.h"

#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/durable_file.h"
#include "store/segments/segment.h"
#include "store/segments/segment_merge.h"
#include "store/segments/segment_writer.h"

namespace plimsoll::store {

// Where few keys are left, sorting has made room, and a run would be small.
Status RowSorter::make_room() {
  shrink();
  return rows_.size() > limits_.rows_in_memory / 2 ? write_run() : Status();
}

// In order, with each key once.
void RowSorter::shrink() {
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

std::string RowSorter::next_path() {
  return fmt::format("{}/{:012}.rows", segments_path_, ++files_);
}

Status RowSorter::write_run() {
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

Result<std::vector<SegmentEntry>> RowSorter::finish(const std::stop_token& stop) {
  const Status done = rows_.empty() ? Status() : write_run();
  rows_ = {};
  if (!done) {
    return propagate(done);
  }
  std::vector<SegmentEntry> segments;
  for (size_t first = 0; first < runs_.size();) {
    size_t end = first;
    for (uint64_t rows = 0; end < runs_.size() && end - first < limits_.runs_of_merge; ++end) {
      rows += runs_[end].rows;
      if (end > first && rows > limits_.rows_of_segment) {
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
Result<SegmentEntry> RowSorter::merge(std::span<const Run> runs, const std::stop_token& stop) {
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
        const OriginEntry& origin = origin_of_(groups[Column::kOrigin][group]);
        entry.from_ns = std::min(entry.from_ns, origin.from_ns);
        entry.to_ns = std::max(entry.to_ns, origin.to_ns);
      }
    }
  }
  return entry;
}

}  // namespace plimsoll::store
