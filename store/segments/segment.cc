#include "store/segments/segment.h"

#include <algorithm>

#include "base/byte_reader.h"

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

constexpr std::array kGroupColumnsOfVersion3{Column::kEvent, Column::kWorkload, Column::kOrigin,
                                             Column::kThread};

// Zones were those of the groups' columns, in their order, and of the stack; labels there were none.
SegmentChunk read_entry_of_version_3(ByteReader& reader) {
  SegmentChunk chunk;
  chunk.offset = reader.read<uint64_t>();
  for (size_t part = 0; part < Segment::kSchema.parts; ++part) {
    chunk.parts[part].size_bytes = reader.read<uint32_t>();
  }
  for (size_t part = 0; part < Segment::kSchema.parts; ++part) {
    chunk.parts[part].checksum = reader.read<uint64_t>();
  }
  chunk.rows = reader.read<uint32_t>();
  for (size_t i = 0; i < Segment::kSchema.counts; ++i) {
    chunk.counts[i] = reader.read<uint32_t>();
  }
  reader.read<uint32_t>();
  const auto read_zone = [&](Column column) {
    Zone& zone = chunk.zones[static_cast<size_t>(column)];
    zone.min = reader.read<uint32_t>();
    zone.max = reader.read<uint32_t>();
  };
  std::ranges::for_each(kGroupColumnsOfVersion3, read_zone);
  read_zone(Column::kStack);
  return chunk;
}

constexpr size_t kEntryBytesOfVersion3 = 96;
constexpr std::array kVersion3{SegmentFile::OldVersion{3, kEntryBytesOfVersion3, read_entry_of_version_3}};
constexpr std::array kVersion2{SegmentFile::OldVersion{2, kEntryBytesOfVersion3, read_entry_of_version_3}};

}  // namespace

Result<Segment> Segment::open(const std::string& path) {
  return open(path, kVersion3);
}

Result<Segment> Segment::open_version_2(const std::string& path) {
  auto segment = open(path, kVersion2);
  return segment && segment->file_.version() != 2
             ? fail(ErrorCode::kUnsupported, "segment {} is not of version 2", path)
             : std::move(segment);
}

Result<Segment> Segment::open(const std::string& path,
                              std::span<const SegmentFile::OldVersion> old_versions) {
  auto file = SegmentFile::open(path, kSchema, old_versions);
  if (!file) {
    return propagate(file);
  }
  Segment segment;
  segment.file_ = std::move(*file);
  for (const SegmentChunk& chunk : segment.file_.chunks()) {
    const bool fits = chunk.rows <= kChunkRows && chunk.counts[kGroupCount] > 0 &&
                      std::ranges::all_of(chunk.counts, [&](uint32_t count) { return count <= chunk.rows; });
    if (!fits) {
      return fail(ErrorCode::kCorrupt, "segment {} is damaged: its directory does not fit together", path);
    }
    ChunkZones zones;
    std::ranges::copy_n(chunk.zones.begin(), kColumns.size(), zones.of.begin());
    segment.zones_.push_back(zones);
  }
  return segment;
}

// As they follow each other in the part.
std::span<const Column> Segment::columns_of_groups() const {
  return file_.version() <= 3 ? std::span<const Column>(kGroupColumnsOfVersion3)
                              : std::span<const Column>(kGroupColumns);
}

Status Segment::read_groups(size_t chunk, ChunkGroups& groups, GroupColumns wanted) const {
  const bool is_check = file_.needs_check(chunk, kGroups);
  const auto bytes = file_.part(chunk, kGroups);
  if (!bytes) {
    return propagate(bytes);
  }
  Columns columns(*bytes);
  groups.size = file_.chunks()[chunk].counts[kGroupCount];
  const std::span<const Column> stored = columns_of_groups();
  for (const Column column : stored) {
    columns.read(groups.size, groups.ids[column], is_check || wanted[column]);
  }
  if (stored.size() < kGroupColumns.size()) {
    groups.ids[Column::kLabels].assign(groups.size, 0);
  }
  columns.read(groups.size, groups.hits);
  if (const Status read = columns.finish(); !read) {
    return file_.damaged(chunk, read.error().message);
  }
  if (is_check) {
    const auto fits = [&](Column column) {
      return all_within(std::span(groups.ids[column]).first(groups.size), zones_[chunk][column]);
    };
    if (!std::ranges::all_of(stored, fits)) {
      return file_.damaged(chunk, "an ID of its groups lies outside of its zones");
    }
    file_.set_checked(chunk, kGroups);
  }
  return {};
}

template <typename Hits>
Status Segment::read_any_matrix(size_t chunk, ChunkMatrix<Hits>& matrix, MatrixParts parts) const {
  const SegmentChunk& entry = file_.chunks()[chunk];
  const uint32_t stacks = entry.counts[kStackCount];
  const uint32_t runs = entry.counts[kRunCount];
  const uint32_t multiples = entry.counts[kMultipleCount];
  const bool is_check = file_.needs_check(chunk, kMatrix);
  const bool are_groups_wanted = parts == MatrixParts::kAll || is_check;
  const auto bytes = file_.part(chunk, kMatrix);
  if (!bytes) {
    return propagate(bytes);
  }
  Columns columns(*bytes);
  matrix.is_by_stack = stacks > 0;
  matrix.size = matrix.is_by_stack ? stacks : entry.rows;
  columns.read(matrix.size, matrix.stack);
  if (matrix.is_by_stack) {
    columns.read(matrix.size, matrix.singles);
    columns.read(matrix.size, matrix.multiples);
    columns.read(runs, matrix.first, are_groups_wanted);
    columns.read(entry.rows - runs, matrix.gap, are_groups_wanted);
    columns.read(multiples, matrix.hits);
  } else {
    columns.read(entry.rows, matrix.group, are_groups_wanted);
    columns.read(entry.rows, matrix.hits);
  }
  if (const Status read = columns.finish(); !read) {
    return file_.damaged(chunk, read.error().message);
  }
  if (is_check) {
    const uint32_t groups = entry.counts[kGroupCount];
    const bool fits = matrix.is_by_stack
                          ? runs_fit(matrix, entry.rows, groups, multiples, runs)
                          : all_within(std::span(matrix.group).first(entry.rows), {0, groups - 1});
    if (!fits || !all_within(std::span(matrix.stack).first(matrix.size), zones_[chunk][Column::kStack])) {
      return file_.damaged(chunk, "its matrix does not fit its groups and zones");
    }
    file_.set_checked(chunk, kMatrix);
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
