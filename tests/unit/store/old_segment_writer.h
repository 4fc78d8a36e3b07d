// Segment files of versions 2 and 3, as docs/store-format.md has them: what today's program reads and no longer writes.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "base/checksum.h"
#include "store/segments/packed_column.h"
#include "store/segments/segment.h"

namespace plimsoll::store {

// Of rows without labels. Takes apart what today's writer makes: the matrices are the same, groups had another order of columns.
class OldSegmentWriter {
 public:
  explicit OldSegmentWriter(uint32_t version) : version_(version) {}

  std::string encode(const std::vector<Row>& rows, const RowOrder& order = {}) {
    const std::string today = encode_segment(rows, order);
    ByteReader reader(as_bytes(today));
    reader.seek(kChunksAt);
    const auto chunks = reader.read<uint32_t>();
    reader.seek(kHeaderBytes);
    for (uint32_t i = 0; i < chunks; ++i) {
      add_chunk(today, reader, chunks);
    }
    std::string file = "PLIMSEGM";
    put(version_, file);
    put(chunks, file);
    put(uint64_t{rows.size()}, file);
    put(checksum64(as_bytes(directory_)), file);
    put(checksum64(as_bytes(file)), file);
    return file + directory_ + data_;
  }

 private:
  static constexpr size_t kChunksAt = 28;
  static constexpr size_t kHeaderBytes = 56;
  static constexpr size_t kOldHeaderBytes = 40;
  static constexpr size_t kOldEntryBytes = 96;

  template <typename Value>
  static void put(Value value, std::string& out) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  // Groups without the labels, and in the old order: event, workload, origin, thread, hits.
  static std::string old_groups(std::string_view groups, size_t count) {
    ByteReader reader(as_bytes(groups));
    std::array<std::vector<uint64_t>, kGroupColumns.size() + 1> columns;
    for (std::vector<uint64_t>& column : columns) {
      PackedColumn::read(reader, count)->unpack(column);
      column.resize(count);
    }
    std::string old;
    for (const Column column : {Column::kEvent, Column::kWorkload, Column::kOrigin, Column::kThread}) {
      pack_column(columns[static_cast<size_t>(column)], old);
    }
    pack_column(columns.back(), old);
    return old;
  }

  void add_chunk(const std::string& today, ByteReader& entry, uint32_t chunks) {
    const auto offset = entry.read<uint64_t>();
    const auto rows = entry.read<uint32_t>();
    entry.bytes(4 + 8 + 8);
    const auto group_bytes = entry.read<uint32_t>();
    const auto matrix_bytes = entry.read<uint32_t>();
    const auto counts = entry.read<std::array<uint32_t, 4>>();
    const auto zones = entry.read<ByColumn<Zone>>();
    const std::string groups = old_groups(today.substr(offset, group_bytes), counts[0]);
    const std::string matrix = today.substr(offset + group_bytes, matrix_bytes);
    put(uint64_t{kOldHeaderBytes + chunks * kOldEntryBytes + data_.size()}, directory_);
    put(static_cast<uint32_t>(groups.size()), directory_);
    put(matrix_bytes, directory_);
    put(checksum64(as_bytes(groups)), directory_);
    put(checksum64(as_bytes(matrix)), directory_);
    put(rows, directory_);
    put(counts, directory_);
    put(uint32_t{0}, directory_);
    for (const Column column :
         {Column::kEvent, Column::kWorkload, Column::kOrigin, Column::kThread, Column::kStack}) {
      put(zones[column], directory_);
    }
    data_ += groups + matrix;
  }

  uint32_t version_;
  std::string directory_;
  std::string data_;
};

}  // namespace plimsoll::store
