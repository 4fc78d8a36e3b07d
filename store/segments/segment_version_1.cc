#include "store/segments/segment_version_1.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "base/checksum.h"
#include "base/file.h"
#include "store/segments/segment.h"

namespace plimsoll::store {
namespace {

constexpr std::string_view kMagic = "PLIMSEGM";
constexpr uint32_t kVersion = 1;
constexpr uint64_t kChunkRowsOfVersion1 = 65'536;
constexpr size_t kCheckedHeaderBytes = 8 + 4 + 4 + 8;  // magic, version, columns, rows

// In the order of the file; the last one is `hits`.
constexpr std::array kIdColumns{Column::kEvent, Column::kWorkload, Column::kStack, Column::kThread,
                                Column::kOrigin};
constexpr size_t kColumnsOfVersion1 = kIdColumns.size() + 1;

struct ColumnEntry {
  uint64_t min;
  uint64_t max;
  uint64_t offset;
  uint64_t size_bytes;
  uint64_t checksum;
};

// At most 64 bits that begin at a bit of the little-endian words.
uint64_t bits_at(Bytes words, size_t bit, unsigned bits) {
  ByteReader reader(words);
  reader.seek(bit / 64 * sizeof(uint64_t));
  const size_t shift = bit % 64;
  uint64_t value = reader.read<uint64_t>() >> shift;
  if (shift != 0 && shift + bits > 64) {
    value |= reader.read<uint64_t>() << (64 - shift);
  }
  return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1);
}

class Reader {
 public:
  Reader(const std::string& path, Bytes file) : path_(path), file_(file) {}

  Result<std::vector<Row>> read(uint64_t expected_rows) {
    if (auto opened = read_directory(expected_rows); !opened) {
      return propagate(opened);
    }
    std::vector<Row> rows;
    for (uint64_t first = 0; first < expected_rows; first += kChunkRowsOfVersion1) {
      rows.resize(rows.size() + std::min(kChunkRowsOfVersion1, expected_rows - first));
      if (auto added = read_chunk(std::span(rows).subspan(first)); !added) {
        return propagate(added);
      }
    }
    return rows;
  }

 private:
  std::unexpected<Error> damaged(std::string_view what) const {
    return fail(ErrorCode::kCorrupt, "segment {} is damaged: {}", path_, what);
  }

  Status read_directory(uint64_t expected_rows) {
    ByteReader reader(file_);
    const Bytes magic = reader.bytes(kMagic.size());
    const auto version = reader.read<uint32_t>();
    const auto columns = reader.read<uint32_t>();
    const auto rows = reader.read<uint64_t>();
    const auto checksum = reader.read<uint64_t>();
    if (!reader.ok() || as_text(magic) != kMagic) {
      return damaged("it has no segment header");
    }
    if (version != kVersion || columns != kColumnsOfVersion1) {
      return fail(ErrorCode::kUnsupported, "segment {} has version {} with {} columns, and is not converted",
                  path_, version, columns);
    }
    const uint64_t chunks = rows / kChunkRowsOfVersion1 + (rows % kChunkRowsOfVersion1 == 0 ? 0 : 1);
    if (rows != expected_rows || chunks > reader.remaining() / (kColumnsOfVersion1 * sizeof(ColumnEntry))) {
      return damaged(fmt::format("it says that it has {} rows, of {}", rows, expected_rows));
    }
    const Bytes directory = reader.bytes(chunks * kColumnsOfVersion1 * sizeof(ColumnEntry));
    const std::string checked =
        std::string(as_text(file_.first(kCheckedHeaderBytes))) + std::string(as_text(directory));
    if (checksum64(as_bytes(checked)) != checksum) {
      return damaged("the checksum of its directory does not match");
    }
    directory_ = ByteReader(directory);
    return {};
  }

  Status read_chunk(std::span<Row> rows) {
    for (const Column column : kIdColumns) {
      const auto read =
          read_column(rows.size(), std::numeric_limits<uint32_t>::max(),
                      [&](size_t i, uint64_t id) { rows[i][column] = static_cast<uint32_t>(id); });
      if (!read) {
        return read;
      }
    }
    return read_column(rows.size(), std::numeric_limits<uint64_t>::max(),
                       [&](size_t i, uint64_t hits) { rows[i].hits = hits; });
  }

  // The next column of the directory.
  template <typename Take>
  Status read_column(size_t count, uint64_t largest, Take take) {
    const auto entry = directory_.read<ColumnEntry>();
    const auto packed = slice(file_, entry.offset, entry.size_bytes, "a column");
    if (!packed || checksum64(*packed) != entry.checksum) {
      return damaged("a column does not match its checksum");
    }
    const auto bits = static_cast<unsigned>(std::bit_width(entry.max - entry.min));
    if (entry.min > entry.max || entry.max > largest ||
        packed->size() != (count * bits + 63) / 64 * sizeof(uint64_t)) {
      return damaged("a column does not fit its directory");
    }
    const uint64_t range = entry.max - entry.min;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t difference = bits == 0 ? 0 : bits_at(*packed, i * bits, bits);
      if (difference > range) {
        return damaged("a value lies outside of its column's range");
      }
      take(i, entry.min + difference);
    }
    return {};
  }

  const std::string& path_;
  Bytes file_;
  ByteReader directory_{Bytes()};
};

}  // namespace

Result<std::vector<Row>> read_segment_of_version_1(const std::string& path, uint64_t expected_rows) {
  const auto file = MappedFile::open(path, kMaxSegmentBytes);
  return file ? Reader(path, file->bytes()).read(expected_rows) : propagate(file, "opening a segment");
}

}  // namespace plimsoll::store
