// ClickHouse's format RowBinary: values without separators in little-endian order, texts behind their length as LEB128.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/byte_reader.h"
#include "base/result.h"

namespace plimsoll::store::clickhouse {

// One thread. Columns are written in the order of the statement's list of them.
class RowBinaryWriter {
 public:
  // Of the column's type: a UInt32 is written as uint32_t.
  template <typename T>
    requires std::integral<T> || std::floating_point<T>
  RowBinaryWriter& number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }

  RowBinaryWriter& text(std::string_view value) {
    uint64_t left = value.size();
    for (; left >= 0x80U; left >>= 7U) {
      bytes_ += static_cast<char>((left & 0x7fU) | 0x80U);
    }
    bytes_ += static_cast<char>(left);
    bytes_ += value;
    return *this;
  }

  bool empty() const { return bytes_.empty(); }
  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::exchange(bytes_, {}); }

 private:
  std::string bytes_;
};

// Borrowed from the reader's bytes; empty on failure.
inline std::string_view read_text(ByteReader& reader) {
  return as_text(reader.bytes(reader.uleb128()));
}

// Calls `read` with the reader at each row, which it reads whole, and which may fail. kCorrupt where the rows end in the middle of one:
// what `read` was given then counts for nothing.
template <typename Read>
Status for_each_row(std::string_view rows, std::string_view what, Read read) {
  ByteReader reader(as_bytes(rows));
  while (reader.remaining() > 0) {
    const size_t before = reader.offset();
    const Status status = read(reader);
    if (!reader.ok() || reader.offset() == before) {
      return fail(ErrorCode::kCorrupt, "{}: the answer ends in the middle of a row, after {} of {} bytes",
                  what, before, rows.size());
    }
    if (!status) {
      return status;
    }
  }
  return {};
}

}  // namespace plimsoll::store::clickhouse
