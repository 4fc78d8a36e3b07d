#include "store/segments/segment_writer.h"

#include <algorithm>
#include <functional>

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
        for (const Column column : kGroupColumns) {
          ids_[column].push_back(row[column]);
        }
        group_hits_.push_back(0);
      }
      before = &row;
      group_hits_.back() += row.hits;
      entries_.push_back({row[Column::kStack], row.hits > 1, static_cast<uint32_t>(groups() - 1), row.hits});
    }
    std::ranges::sort(entries_);
  }

  size_t groups() const { return group_hits_.size(); }
  size_t stacks() const { return stack_.size(); }
  size_t runs() const { return first_.size(); }
  size_t multiples() const { return is_by_stack_ ? hits_.size() : 0; }
  ChunkZones zones() const {
    const auto [lowest, highest] = std::ranges::minmax(entries_, {}, &Entry::stack);
    ChunkZones zones;
    for (const Column column : kGroupColumns) {
      zones[column] = zone_of(ids_[column]);
    }
    zones[Column::kStack] = {lowest.stack, highest.stack};
    return zones;
  }

  std::string encode_groups() const {
    std::string bytes;
    for (const Column column : kGroupColumns) {
      pack_column(ids_[column], bytes);
    }
    pack_column(group_hits_, bytes);
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

  ByColumn<std::vector<uint64_t>> ids_;  // by group, of the columns of groups
  std::vector<uint64_t> group_hits_;
  std::vector<Entry> entries_;
  bool is_by_stack_ = false;
  std::vector<uint64_t> stack_, singles_, multiples_, first_, gap_, hits_;
};

}  // namespace

void SegmentWriter::add(const Row& row) {
  rows_.push_back(row);
  ++row_count_;
  if (rows_.size() == kChunkRows) {
    encode_chunk();
  }
}

void SegmentWriter::encode_chunk() {
  ChunkEncoder encoder(rows_);
  const std::array<std::string, 2> parts{encoder.encode_groups(), encoder.encode_matrix()};
  SegmentChunk chunk{.rows = static_cast<uint32_t>(rows_.size())};
  chunk.counts[Segment::kGroupCount] = static_cast<uint32_t>(encoder.groups());
  chunk.counts[Segment::kStackCount] = static_cast<uint32_t>(encoder.stacks());
  chunk.counts[Segment::kRunCount] = static_cast<uint32_t>(encoder.runs());
  chunk.counts[Segment::kMultipleCount] = static_cast<uint32_t>(encoder.multiples());
  std::ranges::copy(encoder.zones().of, chunk.zones.begin());
  file_.add(chunk, parts);
  rows_.clear();
}

std::string SegmentWriter::finish() {
  if (!rows_.empty()) {
    encode_chunk();
  }
  return file_.finish();
}

EncodedRows encode_rows(std::vector<Row> rows, const RowOrder& order) {
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
  const uint64_t written = writer.rows();
  return {.content = writer.finish(), .rows = written};
}

std::string encode_segment(std::vector<Row> rows, const RowOrder& order) {
  return encode_rows(std::move(rows), order).content;
}

}  // namespace plimsoll::store
