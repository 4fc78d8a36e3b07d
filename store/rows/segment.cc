#include "store/rows/segment.h"

#include <algorithm>

#include "base/checksum.h"
#include "store/rows/segment_layout.h"

namespace plimsoll::store {
namespace {

bool all_within(std::span<const uint32_t> ids, Zone zone) {
  return std::ranges::all_of(ids, [&](uint32_t id) { return zone.contains(id); });
}

// Reads the columns of a part one after the other; the first that is damaged ends it.
class Columns {
 public:
  explicit Columns(Bytes part) : reader_(part) {}

  template <typename Value>
  void read(size_t count, std::vector<Value>& values, bool is_wanted = true) {
    if (!status_) {
      return;
    }
    const auto column = PackedColumn::read(reader_, count);
    if (column && !is_wanted) {
      return;
    }
    if (column) {
      column->unpack(values);
    } else {
      status_ = propagate(column);
    }
  }

  Status finish() const {
    return status_ && reader_.remaining() != 0 ? fail(ErrorCode::kCorrupt, "it has bytes behind its columns")
                                               : status_;
  }

 private:
  ByteReader reader_;
  Status status_;
};

// Whether the runs of a matrix are those that its counts tell of, and stay within `groups`.
template <typename Hits>
bool runs_fit(const ChunkMatrix<Hits>& matrix, size_t rows, size_t groups, size_t multiples, size_t runs) {
  size_t run = 0;
  size_t gap = 0;
  size_t with_hits = 0;
  for (size_t i = 0; i < matrix.size; ++i) {
    for (const uint32_t length : {matrix.singles[i], matrix.multiples[i]}) {
      if (length == 0) {
        continue;
      }
      if (run == runs || length - 1 > rows - runs - gap) {
        return false;
      }
      uint64_t group = matrix.first[run++];
      for (uint32_t j = 1; j < length; ++j) {
        group += uint64_t{matrix.gap[gap++]} + 1;
      }
      if (group >= groups) {
        return false;
      }
    }
    with_hits += matrix.multiples[i];
  }
  return run == runs && gap == rows - runs && with_hits == multiples;
}

}  // namespace

bool is_damage(const Error& error) {
  return error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kUnsupported ||
         error.code == ErrorCode::kNotFound;
}

Result<Segment> Segment::open(const std::string& path) {
  return open(path, kSegmentVersion);
}

Result<Segment> Segment::open_version_2(const std::string& path) {
  return open(path, 2);
}

Result<Segment> Segment::open(const std::string& path, uint32_t version) {
  auto file = MappedFile::open(path, kMaxSegmentBytes);
  if (!file) {
    return propagate(file, "opening a segment");
  }
  const auto damaged = [&](std::string_view what) {
    return fail(ErrorCode::kCorrupt, "segment {} is damaged: {}", path, what);
  };
  ByteReader reader(file->bytes());
  const auto header = reader.read<SegmentHeader>();
  if (!reader.ok() || header.magic != kSegmentMagic) {
    return damaged("it has no segment header");
  }
  if (header.version != version) {
    return fail(ErrorCode::kUnsupported, "segment {} has version {}; this program reads version {}", path,
                header.version, version);
  }
  if (header.header_checksum != checksum_of(header)) {
    return damaged("the checksum of its header does not match");
  }
  const Bytes directory = reader.bytes(uint64_t{header.chunks} * sizeof(ChunkEntry));
  if (!reader.ok() || checksum64(directory) != header.directory_checksum) {
    return damaged("the checksum of its directory does not match");
  }
  Segment segment;
  segment.path_ = path;
  segment.rows_ = header.rows;
  ByteReader entries(directory);
  uint64_t end = reader.offset();
  uint64_t rows = 0;
  for (uint32_t i = 0; i < header.chunks; ++i) {
    const auto entry = entries.read<ChunkEntry>();
    const bool fits = entry.offset == end && entry.rows > 0 && entry.rows <= kChunkRows && entry.groups > 0 &&
                      entry.groups <= entry.rows && entry.stacks <= entry.rows && entry.runs <= entry.rows &&
                      entry.multiples <= entry.rows;
    if (!fits) {
      return damaged("its directory does not fit together");
    }
    end += uint64_t{entry.group_bytes} + entry.matrix_bytes;
    rows += entry.rows;
    segment.directory_.push_back(entry);
  }
  if (end != file->bytes().size() || rows != header.rows) {
    return damaged("its directory does not describe the whole file");
  }
  segment.state_->checked = std::make_unique<std::atomic<bool>[]>(segment.chunks() * 2);
  segment.file_ = std::move(*file);
  return segment;
}

std::unexpected<Error> Segment::damaged(size_t chunk, std::string_view what) const {
  auto error = fail(ErrorCode::kCorrupt, "segment {} is damaged: chunk {}: {}", path_, chunk, what);
  const std::lock_guard lock(state_->mutex);
  state_->damage = error.error().message;
  state_->is_damaged = true;
  return error;
}

std::string Segment::damage() const {
  const std::lock_guard lock(state_->mutex);
  return state_->damage;
}

bool Segment::needs_check(size_t chunk, bool is_matrix) const {
  // Relaxed: the flag orders nothing, since the bytes are immutable. Two threads may check the same chunk, which costs time only.
  return !state_->checked[chunk * 2 + (is_matrix ? 1 : 0)].load(std::memory_order_relaxed);
}

void Segment::set_checked(size_t chunk, bool is_matrix) const {
  state_->checked[chunk * 2 + (is_matrix ? 1 : 0)].store(true, std::memory_order_relaxed);
}

Result<Bytes> Segment::part(size_t chunk, bool is_matrix) const {
  const ChunkEntry& entry = directory_[chunk];
  const Bytes bytes = is_matrix ? file_.bytes().subspan(entry.offset + entry.group_bytes, entry.matrix_bytes)
                                : file_.bytes().subspan(entry.offset, entry.group_bytes);
  if (needs_check(chunk, is_matrix) &&
      checksum64(bytes) != (is_matrix ? entry.matrix_checksum : entry.group_checksum)) {
    return damaged(chunk, is_matrix ? "its matrix does not match its checksum"
                                    : "its groups do not match their checksum");
  }
  return bytes;
}

Status Segment::read_groups(size_t chunk, ChunkGroups& groups, GroupColumns wanted) const {
  const ChunkEntry& entry = directory_[chunk];
  const bool is_check = needs_check(chunk, false);
  const auto bytes = part(chunk, false);
  if (!bytes) {
    return propagate(bytes);
  }
  Columns columns(*bytes);
  groups.size = entry.groups;
  columns.read(entry.groups, groups.event, is_check || wanted.event);
  columns.read(entry.groups, groups.workload, is_check || wanted.workload);
  columns.read(entry.groups, groups.origin, is_check || wanted.origin);
  columns.read(entry.groups, groups.thread, is_check || wanted.thread);
  columns.read(entry.groups, groups.hits);
  if (const Status read = columns.finish(); !read) {
    return damaged(chunk, read.error().message);
  }
  if (is_check) {
    const ChunkZones& zones = entry.zones;
    const auto fits = [&](const std::vector<uint32_t>& ids, Zone zone) {
      return all_within(std::span(ids).first(entry.groups), zone);
    };
    if (!fits(groups.event, zones.event) || !fits(groups.workload, zones.workload) ||
        !fits(groups.origin, zones.origin) || !fits(groups.thread, zones.thread)) {
      return damaged(chunk, "an ID of its groups lies outside of its zones");
    }
    set_checked(chunk, false);
  }
  return {};
}

template <typename Hits>
Status Segment::read_any_matrix(size_t chunk, ChunkMatrix<Hits>& matrix, MatrixParts parts) const {
  const ChunkEntry& entry = directory_[chunk];
  const bool are_groups_wanted = parts == MatrixParts::kAll || needs_check(chunk, true);
  const auto bytes = part(chunk, true);
  if (!bytes) {
    return propagate(bytes);
  }
  Columns columns(*bytes);
  matrix.is_by_stack = entry.stacks > 0;
  matrix.size = matrix.is_by_stack ? entry.stacks : entry.rows;
  columns.read(matrix.size, matrix.stack);
  if (matrix.is_by_stack) {
    columns.read(matrix.size, matrix.singles);
    columns.read(matrix.size, matrix.multiples);
    columns.read(entry.runs, matrix.first, are_groups_wanted);
    columns.read(entry.rows - entry.runs, matrix.gap, are_groups_wanted);
    columns.read(entry.multiples, matrix.hits);
  } else {
    columns.read(entry.rows, matrix.group, are_groups_wanted);
    columns.read(entry.rows, matrix.hits);
  }
  if (const Status read = columns.finish(); !read) {
    return damaged(chunk, read.error().message);
  }
  if (needs_check(chunk, true)) {
    const bool fits = matrix.is_by_stack
                          ? runs_fit(matrix, entry.rows, entry.groups, entry.multiples, entry.runs)
                          : all_within(std::span(matrix.group).first(entry.rows), {0, entry.groups - 1});
    if (!fits || !all_within(std::span(matrix.stack).first(matrix.size), entry.zones.stack)) {
      return damaged(chunk, "its matrix does not fit its groups and zones");
    }
    set_checked(chunk, true);
  }
  return {};
}

Status Segment::read_matrix(size_t chunk, ChunkMatrix<double>& matrix) const {
  return read_any_matrix(chunk, matrix, MatrixParts::kAll);
}

Status Segment::read_matrix(size_t chunk, ChunkMatrix<uint64_t>& matrix, MatrixParts parts) const {
  return read_any_matrix(chunk, matrix, parts);
}

}  // namespace plimsoll::store
