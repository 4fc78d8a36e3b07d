#include "store/rows/segment_writer.h"

#include <algorithm>
#include <functional>

#include "base/checksum.h"
#include "store/rows/segment_layout.h"

namespace plimsoll::store {
namespace {

// A row of the matrix, as it is sorted within a chunk.
struct Entry {
  uint32_t stack;
  bool is_multiple;
  uint32_t group;
  uint64_t hits;

  auto operator<=>(const Entry&) const = default;
};

// Below this, rows stand for themselves: a stack of its own would cost more than it saves.
constexpr size_t kMinRowsPerStack = 2;

Zone zone_of(std::span<const uint64_t> ids) {
  const auto [min, max] = std::ranges::minmax(ids);
  return {static_cast<uint32_t>(min), static_cast<uint32_t>(max)};
}

class ChunkEncoder {
 public:
  explicit ChunkEncoder(std::span<const Row> rows) {
    const Row* before = nullptr;
    for (const Row& row : rows) {
      if (before == nullptr || !row.same_group(*before)) {
        event_.push_back(row.event);
        workload_.push_back(row.workload);
        origin_.push_back(row.origin);
        thread_.push_back(row.thread);
        group_hits_.push_back(0);
      }
      before = &row;
      group_hits_.back() += row.hits;
      entries_.push_back({row.stack, row.hits > 1, static_cast<uint32_t>(event_.size() - 1), row.hits});
    }
    std::ranges::sort(entries_);
  }

  size_t groups() const { return event_.size(); }
  size_t stacks() const { return stack_.size(); }
  size_t runs() const { return first_.size(); }
  size_t multiples() const { return is_by_stack_ ? hits_.size() : 0; }
  ChunkZones zones() const {
    const auto [lowest, highest] = std::ranges::minmax(entries_, {}, &Entry::stack);
    return {zone_of(event_), zone_of(workload_), zone_of(origin_), zone_of(thread_),
            Zone{lowest.stack, highest.stack}};
  }

  std::string encode_groups() const {
    std::string bytes;
    for (const auto* column : {&event_, &workload_, &origin_, &thread_, &group_hits_}) {
      pack_column(*column, bytes);
    }
    return bytes;
  }

  std::string encode_matrix() {
    size_t stacks = 0;
    for (size_t i = 0; i < entries_.size(); ++i) {
      stacks += i == 0 || entries_[i].stack != entries_[i - 1].stack ? 1 : 0;
    }
    is_by_stack_ = entries_.size() >= kMinRowsPerStack * stacks;
    return is_by_stack_ ? encode_by_stack() : encode_by_row();
  }

 private:
  std::string encode_by_row() const {
    std::vector<uint64_t> stack, group, hits;
    for (const Entry& entry : entries_) {
      stack.push_back(entry.stack);
      group.push_back(entry.group);
      hits.push_back(entry.hits);
    }
    std::string bytes;
    for (const auto* column : {&stack, &group, &hits}) {
      pack_column(*column, bytes);
    }
    return bytes;
  }

  std::string encode_by_stack() {
    const Entry* before = nullptr;
    for (const Entry& entry : entries_) {
      if (before == nullptr || entry.stack != before->stack) {
        stack_.push_back(entry.stack);
        singles_.push_back(0);
        multiples_.push_back(0);
      }
      add(entry, before != nullptr && entry.stack == before->stack && entry.is_multiple == before->is_multiple
                     ? before
                     : nullptr);
      before = &entry;
    }
    std::string bytes;
    for (const auto* column : {&stack_, &singles_, &multiples_, &first_, &gap_, &hits_}) {
      pack_column(*column, bytes);
    }
    return bytes;
  }

  // `before` is the entry before it in its run.
  void add(const Entry& entry, const Entry* before) {
    if (before == nullptr) {
      first_.push_back(entry.group);
    } else {
      gap_.push_back(entry.group - before->group - 1);
    }
    ++(entry.is_multiple ? multiples_ : singles_).back();
    if (entry.is_multiple) {
      hits_.push_back(entry.hits);
    }
  }

  std::vector<uint64_t> event_, workload_, origin_, thread_, group_hits_;
  std::vector<Entry> entries_;
  bool is_by_stack_ = false;
  std::vector<uint64_t> stack_, singles_, multiples_, first_, gap_, hits_;
};

}  // namespace

void SegmentWriter::add(const Row& row) {
  rows_.push_back(row);
  if (rows_.size() == kChunkRows) {
    encode_chunk();
  }
}

void SegmentWriter::encode_chunk() {
  ChunkEncoder chunk(rows_);
  const std::string groups = chunk.encode_groups();
  const std::string matrix = chunk.encode_matrix();
  directory_.push_back({.offset = data_.size(),  // until finish() knows where the data starts
                        .group_bytes = static_cast<uint32_t>(groups.size()),
                        .matrix_bytes = static_cast<uint32_t>(matrix.size()),
                        .group_checksum = checksum64(as_bytes(groups)),
                        .matrix_checksum = checksum64(as_bytes(matrix)),
                        .rows = static_cast<uint32_t>(rows_.size()),
                        .groups = static_cast<uint32_t>(chunk.groups()),
                        .stacks = static_cast<uint32_t>(chunk.stacks()),
                        .runs = static_cast<uint32_t>(chunk.runs()),
                        .multiples = static_cast<uint32_t>(chunk.multiples()),
                        .reserved = 0,
                        .zones = chunk.zones()});
  data_ += groups;
  data_ += matrix;
  row_count_ += rows_.size();
  rows_.clear();
}

std::string SegmentWriter::finish() {
  if (!rows_.empty()) {
    encode_chunk();
  }
  for (Segment::ChunkEntry& entry : directory_) {
    entry.offset += sizeof(SegmentHeader) + directory_.size() * sizeof(Segment::ChunkEntry);
  }
  const std::string_view directory(reinterpret_cast<const char*>(directory_.data()),
                                   directory_.size() * sizeof(Segment::ChunkEntry));
  SegmentHeader header{.magic = kSegmentMagic,
                       .version = kSegmentVersion,
                       .chunks = static_cast<uint32_t>(directory_.size()),
                       .rows = row_count_,
                       .directory_checksum = checksum64(as_bytes(directory)),
                       .header_checksum = 0};
  header.header_checksum = checksum_of(header);
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file += directory;
  file += data_;
  return file;
}

std::string encode_segment(std::vector<Row> rows, const RowOrder& order) {
  std::ranges::sort(rows, std::cref(order));
  SegmentWriter writer;
  for (size_t i = 0; i < rows.size();) {
    Row sum = rows[i];
    for (++i; i < rows.size() && rows[i].same_key(sum); ++i) {
      sum.hits += rows[i].hits;
    }
    if (sum.hits > 0) {
      writer.add(sum);
    }
  }
  return writer.finish();
}

}  // namespace plimsoll::store
