#include "store/segments/segment_file.h"

#include <algorithm>
#include <cstddef>

#include "base/byte_reader.h"
#include "base/checksum.h"

namespace plimsoll::store {
namespace {

constexpr std::array<char, 8> kSegmentMagic{'P', 'L', 'I', 'M', 'S', 'E', 'G', 'M'};
constexpr uint32_t kSegmentVersion = 4;

struct SegmentHeader {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t schema;
  uint32_t columns;
  uint32_t parts;
  uint32_t counts;
  uint32_t chunks;
  uint64_t rows;
  uint64_t directory_checksum;
  uint64_t header_checksum;  // of the bytes before it
};
static_assert(sizeof(SegmentHeader) == 56, "as docs/store-format.md has it");

// Up to version 3 all segments were of one schema.
struct OldSegmentHeader {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t chunks;
  uint64_t rows;
  uint64_t directory_checksum;
  uint64_t header_checksum;
};
static_assert(sizeof(OldSegmentHeader) == 40, "as it was");

template <typename Header>
uint64_t checksum_of(const Header& header) {
  return checksum64(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, header_checksum)));
}

// Entries of an even number of words, so that what follows the directory is aligned.
size_t entry_bytes(const SegmentSchema& schema) {
  const size_t bytes =
      16 + size_t{12} * schema.parts + size_t{4} * schema.counts + size_t{8} * schema.columns;
  return (bytes + 7) / 8 * 8;
}

SegmentChunk read_entry(ByteReader& reader, const SegmentSchema& schema) {
  SegmentChunk chunk;
  chunk.offset = reader.read<uint64_t>();
  chunk.rows = reader.read<uint32_t>();
  reader.read<uint32_t>();
  for (size_t part = 0; part < schema.parts; ++part) {
    chunk.parts[part].checksum = reader.read<uint64_t>();
  }
  for (size_t part = 0; part < schema.parts; ++part) {
    chunk.parts[part].size_bytes = reader.read<uint32_t>();
  }
  for (size_t i = 0; i < schema.counts; ++i) {
    chunk.counts[i] = reader.read<uint32_t>();
  }
  for (size_t column = 0; column < schema.columns; ++column) {
    chunk.zones[column].min = reader.read<uint32_t>();
    chunk.zones[column].max = reader.read<uint32_t>();
  }
  return chunk;
}

template <typename Value>
void put(Value value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_entry(const SegmentChunk& chunk, const SegmentSchema& schema, std::string& out) {
  const size_t end = out.size() + entry_bytes(schema);
  put(chunk.offset, out);
  put(chunk.rows, out);
  put(uint32_t{0}, out);
  for (size_t part = 0; part < schema.parts; ++part) {
    put(chunk.parts[part].checksum, out);
  }
  for (size_t part = 0; part < schema.parts; ++part) {
    put(chunk.parts[part].size_bytes, out);
  }
  for (size_t i = 0; i < schema.counts; ++i) {
    put(chunk.counts[i], out);
  }
  for (size_t column = 0; column < schema.columns; ++column) {
    put(chunk.zones[column].min, out);
    put(chunk.zones[column].max, out);
  }
  out.resize(end);
}

}  // namespace

bool is_damage(const Error& error) {
  return error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kUnsupported ||
         error.code == ErrorCode::kNotFound;
}

Result<SegmentFile> SegmentFile::open(const std::string& path, const SegmentSchema& schema,
                                      std::span<const OldVersion> old_versions) {
  auto file = MappedFile::open(path, kMaxSegmentBytes);
  if (!file) {
    return propagate(file, "opening a segment");
  }
  SegmentFile segment;
  segment.path_ = path;
  segment.schema_ = &schema;
  ByteReader reader(file->bytes());
  if (const Status read = segment.read_directory(reader, schema, old_versions); !read) {
    return propagate(read);
  }
  segment.state_->checked = std::make_unique<std::atomic<bool>[]>(segment.chunks_.size() * schema.parts);
  segment.file_ = std::move(*file);
  return segment;
}

Status SegmentFile::read_directory(ByteReader& reader, const SegmentSchema& schema,
                                   std::span<const OldVersion> old_versions) {
  const uint64_t file_bytes = reader.remaining();
  const auto damaged = [&](std::string_view what) {
    return fail(ErrorCode::kCorrupt, "segment {} is damaged: {}", path_, what);
  };
  ByteReader start = reader;  // a file of an older version may be shorter than this header
  const auto header = start.read<SegmentHeader>();
  const auto old_header = reader.read<OldSegmentHeader>();
  if (!reader.ok() || old_header.magic != kSegmentMagic) {
    return damaged("it has no segment header");
  }
  version_ = old_header.version;
  const auto old = std::ranges::find(old_versions, version_, &OldVersion::version);
  const bool is_old = old != old_versions.end();
  if (!is_old && version_ != kSegmentVersion) {
    return fail(ErrorCode::kUnsupported, "segment {} has version {}; this program reads version {}", path_,
                version_, kSegmentVersion);
  }
  if (is_old ? old_header.header_checksum != checksum_of(old_header)
             : header.header_checksum != checksum_of(header)) {
    return damaged("the checksum of its header does not match");
  }
  if (!is_old && (header.schema != schema.id || header.columns != schema.columns ||
                  header.parts != schema.parts || header.counts != schema.counts)) {
    return fail(ErrorCode::kUnsupported,
                "segment {} has schema {} of {} columns, where schema {} of {} columns is read", path_,
                header.schema, header.columns, schema.id, schema.columns);
  }
  reader.seek(is_old ? sizeof(OldSegmentHeader) : sizeof(SegmentHeader));
  const uint64_t chunks = is_old ? old_header.chunks : header.chunks;
  const Bytes directory = reader.bytes(chunks * (is_old ? old->entry_bytes : entry_bytes(schema)));
  if (!reader.ok() ||
      checksum64(directory) != (is_old ? old_header.directory_checksum : header.directory_checksum)) {
    return damaged("the checksum of its directory does not match");
  }
  rows_ = is_old ? old_header.rows : header.rows;
  uint64_t end = reader.offset();
  uint64_t rows = 0;
  for (size_t i = 0; i < chunks; ++i) {
    const size_t bytes = is_old ? old->entry_bytes : entry_bytes(schema);
    ByteReader entry(directory.subspan(i * bytes, bytes));
    const SegmentChunk chunk = is_old ? old->read(entry) : read_entry(entry, schema);
    if (!entry.ok() || chunk.offset != end || chunk.rows == 0) {
      return damaged("its directory does not fit together");
    }
    end += chunk.size_bytes();
    rows += chunk.rows;
    chunks_.push_back(chunk);
  }
  return end == file_bytes && rows == rows_ ? Status()
                                            : damaged("its directory does not describe the whole file");
}

Result<Bytes> SegmentFile::part(size_t chunk, size_t part) const {
  const SegmentChunk& entry = chunks_[chunk];
  uint64_t offset = entry.offset;
  for (size_t before = 0; before < part; ++before) {
    offset += entry.parts[before].size_bytes;
  }
  const Bytes bytes = file_.bytes().subspan(offset, entry.parts[part].size_bytes);
  if (needs_check(chunk, part) && checksum64(bytes) != entry.parts[part].checksum) {
    return damaged(chunk, fmt::format("its {} does not match its checksum", schema_->part_names[part]));
  }
  return bytes;
}

bool SegmentFile::needs_check(size_t chunk, size_t part) const {
  // Relaxed: the flag orders nothing, since the bytes are immutable. Two threads may check the same part, which costs time only.
  return !state_->checked[chunk * schema_->parts + part].load(std::memory_order_relaxed);
}

void SegmentFile::set_checked(size_t chunk, size_t part) const {
  state_->checked[chunk * schema_->parts + part].store(true, std::memory_order_relaxed);
}

std::unexpected<Error> SegmentFile::damaged(size_t chunk, std::string_view what) const {
  auto error = fail(ErrorCode::kCorrupt, "segment {} is damaged: chunk {}: {}", path_, chunk, what);
  const std::lock_guard lock(state_->mutex);
  state_->damage = error.error().message;
  state_->is_damaged = true;
  return error;
}

std::string SegmentFile::damage() const {
  const std::lock_guard lock(state_->mutex);
  return state_->damage;
}

void SegmentFileWriter::add(SegmentChunk chunk, std::span<const std::string> parts) {
  chunk.offset = data_.size();  // until finish() knows where the data starts
  for (size_t part = 0; part < parts.size(); ++part) {
    chunk.parts[part] = {static_cast<uint32_t>(parts[part].size()), checksum64(as_bytes(parts[part]))};
    data_ += parts[part];
  }
  rows_ += chunk.rows;
  chunks_.push_back(chunk);
}

std::string SegmentFileWriter::finish() {
  std::string directory;
  const uint64_t start = sizeof(SegmentHeader) + chunks_.size() * entry_bytes(schema_);
  for (SegmentChunk& chunk : chunks_) {
    chunk.offset += start;
    put_entry(chunk, schema_, directory);
  }
  SegmentHeader header{.magic = kSegmentMagic,
                       .version = kSegmentVersion,
                       .schema = schema_.id,
                       .columns = schema_.columns,
                       .parts = schema_.parts,
                       .counts = schema_.counts,
                       .chunks = static_cast<uint32_t>(chunks_.size()),
                       .rows = rows_,
                       .directory_checksum = checksum64(as_bytes(directory)),
                       .header_checksum = 0};
  header.header_checksum = checksum_of(header);
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file += directory;
  file += data_;
  return file;
}

}  // namespace plimsoll::store
