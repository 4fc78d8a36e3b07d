#include "store/rows/segment.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/checksum.h"

namespace plimsoll::store {
namespace {

constexpr std::string_view kMagic = "PLIMSEGM";
constexpr uint32_t kVersion = 1;
constexpr uint64_t kMaxSegmentBytes = uint64_t{1} << 40;
constexpr size_t kHeaderBytes =
    8 + 4 + 4 + 8 + 8;  // magic, version, columns, rows, checksum of the directory

template <typename T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

uint64_t value_of(const Row& row, Column column) {
  switch (column) {
    case Column::kEvent:
      return row.event;
    case Column::kWorkload:
      return row.workload;
    case Column::kStack:
      return row.stack;
    case Column::kThread:
      return row.thread;
    case Column::kOrigin:
      return row.origin;
    case Column::kHits:
      return row.hits;
  }
  return 0;
}

unsigned bits_for(uint64_t range) {
  return static_cast<unsigned>(std::bit_width(range));
}

// Words that `count` values of `bits` each fill.
size_t packed_words(size_t count, unsigned bits) {
  return (count * bits + 63) / 64;
}

// Differences to `min`, packed from the lowest bit of little-endian 64-bit words upwards.
std::string pack(const std::vector<uint64_t>& values, uint64_t min, unsigned bits) {
  std::vector<uint64_t> words(packed_words(values.size(), bits));
  for (size_t i = 0; bits > 0 && i < values.size(); ++i) {
    const size_t word = i * bits / 64;
    const size_t shift = i * bits % 64;
    const uint64_t difference = values[i] - min;
    words[word] |= difference << shift;
    if (shift != 0 && shift + bits > 64) {
      words[word + 1] |= difference >> (64 - shift);
    }
  }
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint64_t)};
}

void unpack(Bytes packed, uint64_t min, unsigned bits, std::vector<uint64_t>& values) {
  if (bits == 0) {
    std::ranges::fill(values, min);
    return;
  }
  std::vector<uint64_t> words(packed.size() / sizeof(uint64_t));
  std::memcpy(words.data(), packed.data(), packed.size());
  const uint64_t mask = bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t word = i * bits / 64;
    const size_t shift = i * bits % 64;
    uint64_t difference = words[word] >> shift;
    if (shift != 0 && shift + bits > 64) {
      difference |= words[word + 1] << (64 - shift);
    }
    values[i] = min + (difference & mask);
  }
}

void sum_equal_keys(std::vector<Row>& rows) {
  std::ranges::sort(rows);
  size_t kept = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (kept > 0 && rows[kept - 1].same_key(rows[i])) {
      rows[kept - 1].hits += rows[i].hits;
    } else {
      rows[kept++] = rows[i];
    }
  }
  rows.resize(kept);
}

}  // namespace

std::string encode_segment(std::vector<Row> rows) {
  sum_equal_keys(rows);
  std::vector<Segment::BlockEntry> directory;
  std::string data;
  const size_t blocks = (rows.size() + kBlockRows - 1) / kBlockRows;
  const uint64_t data_start = kHeaderBytes + blocks * kColumns * sizeof(Segment::BlockEntry);
  std::vector<uint64_t> values;
  for (size_t block = 0; block < blocks; ++block) {
    const std::span block_rows =
        std::span(rows).subspan(block * kBlockRows, std::min(kBlockRows, rows.size() - block * kBlockRows));
    for (size_t column = 0; column < kColumns; ++column) {
      values.clear();
      for (const Row& row : block_rows) {
        values.push_back(value_of(row, static_cast<Column>(column)));
      }
      const auto [min, max] = std::ranges::minmax(values);
      const std::string packed = pack(values, min, bits_for(max - min));
      directory.push_back({min, max, data_start + data.size(), packed.size(), checksum64(as_bytes(packed))});
      data += packed;
    }
  }
  std::string directory_bytes;
  for (const Segment::BlockEntry& entry : directory) {
    append(directory_bytes, entry);
  }
  std::string file(kMagic);
  append(file, kVersion);
  append(file, static_cast<uint32_t>(kColumns));
  append(file, uint64_t{rows.size()});
  append(file, checksum64(as_bytes(file + directory_bytes)));
  return file + directory_bytes + data;
}

Result<Segment> Segment::open(const std::string& path) {
  auto file = MappedFile::open(path, kMaxSegmentBytes);
  if (!file) {
    return propagate(file, "opening a segment");
  }
  const auto damaged = [&](std::string_view what) {
    return fail(ErrorCode::kCorrupt, "segment {} is damaged: {}", path, what);
  };
  ByteReader reader(file->bytes());
  const Bytes magic = reader.bytes(kMagic.size());
  const auto version = reader.read<uint32_t>();
  const auto columns = reader.read<uint32_t>();
  const auto rows = reader.read<uint64_t>();
  const auto checksum = reader.read<uint64_t>();
  if (!reader.ok() || as_text(magic) != kMagic) {
    return damaged("it has no segment header");
  }
  if (version != kVersion || columns != kColumns) {
    return fail(ErrorCode::kUnsupported,
                "segment {} has version {} with {} columns; this program reads version {} with {}", path,
                version, columns, kVersion, kColumns);
  }
  const uint64_t entries = (rows / kBlockRows + (rows % kBlockRows == 0 ? 0 : 1)) * kColumns;
  if (entries > reader.remaining() / sizeof(BlockEntry)) {
    return damaged("its directory ends outside the file");
  }
  const Bytes directory = reader.bytes(entries * sizeof(BlockEntry));
  const Bytes head = file->bytes().subspan(0, kHeaderBytes - sizeof checksum);
  if (checksum64(as_bytes(std::string(as_text(head)) + std::string(as_text(directory)))) != checksum) {
    return damaged("the checksum of its directory does not match");
  }
  Segment segment;
  segment.path_ = path;
  segment.rows_ = rows;
  ByteReader directory_reader(directory);
  for (uint64_t i = 0; i < entries; ++i) {
    segment.directory_.push_back(directory_reader.read<BlockEntry>());
  }
  segment.file_ = std::move(*file);
  return segment;
}

size_t Segment::rows_in_block(size_t block) const {
  return std::min<uint64_t>(kBlockRows, rows_ - block * kBlockRows);
}

Segment::Zone Segment::zone(size_t block, Column column) const {
  return {entry(block, column).min, entry(block, column).max};
}

Status Segment::read(size_t block, Column column, std::vector<uint64_t>& values) const {
  const BlockEntry& stored = entry(block, column);
  const auto packed = slice(file_.bytes(), stored.offset, stored.size_bytes, "a block");
  const size_t count = rows_in_block(block);
  const unsigned bits = bits_for(stored.max - stored.min);
  if (!packed || stored.max < stored.min ||
      stored.size_bytes != packed_words(count, bits) * sizeof(uint64_t) ||
      checksum64(*packed) != stored.checksum) {
    return fail(ErrorCode::kCorrupt,
                "segment {} is damaged: block {} of column {} does not match its checksum", path_, block,
                static_cast<int>(column));
  }
  values.resize(count);
  unpack(*packed, stored.min, bits, values);
  return {};
}

}  // namespace plimsoll::store
