#include "store/packed/entry_pack.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "base/byte_reader.h"
#include "store/segments/packed_column.h"

namespace plimsoll::store {
namespace {

constexpr size_t kEntriesOfChunk = 65'536;

enum Kind : uint32_t { kLocations = 1, kStacks = 2, kFrames = 3, kSummary = 4 };

// Counts of a chunk.
enum Count : size_t { kKind = 0, kFirst = 1, kBytesOfNames = 2, kCounts = 3 };

constexpr SegmentSchema kSchema{
    .id = 2, .columns = 0, .parts = 1, .counts = kCounts, .part_names = {"entries"}};

// Integers of one chunk, column by column.
template <size_t columns>
class Columns {
 public:
  void add(const std::array<uint64_t, columns>& values) {
    for (size_t column = 0; column < columns; ++column) {
      values_[column].push_back(values[column]);
    }
  }
  size_t rows() const { return values_[0].size(); }

  std::string take() {
    std::string packed;
    for (auto& column : values_) {
      pack_column(column, packed);
      column.clear();
    }
    return packed;
  }

 private:
  std::array<std::vector<uint64_t>, columns> values_;
};

void add_chunk(SegmentFileWriter& writer, Kind kind, size_t first, size_t rows, std::string packed,
               std::string_view names = {}) {
  packed += names;
  packed.resize((packed.size() + 7) / 8 * 8);
  SegmentChunk chunk{.rows = static_cast<uint32_t>(rows)};
  chunk.counts = {kind, static_cast<uint32_t>(first), static_cast<uint32_t>(names.size())};
  writer.add(chunk, std::span(&packed, 1));
}

void add_locations(const AppendOnlyList<LocationEntry>& locations, SegmentFileWriter& writer) {
  Columns<4> columns;
  std::string names;
  for (size_t id = 1; id < locations.size(); ++id) {
    const LocationEntry& entry = locations[id];
    columns.add({static_cast<uint64_t>(entry.kind), entry.owner, entry.address, entry.name.size()});
    names += entry.name;
    if (columns.rows() == kEntriesOfChunk || id + 1 == locations.size()) {
      const size_t rows = columns.rows();
      add_chunk(writer, kLocations, id + 1 - rows, rows, columns.take(), std::exchange(names, {}));
    }
  }
}

void add_stacks(const AppendOnlyList<StackNode>& stacks, SegmentFileWriter& writer) {
  Columns<2> columns;
  for (size_t id = 1; id < stacks.size(); ++id) {
    columns.add({stacks[id].parent, stacks[id].location});
    if (columns.rows() == kEntriesOfChunk || id + 1 == stacks.size()) {
      const size_t rows = columns.rows();
      add_chunk(writer, kStacks, id + 1 - rows, rows, columns.take());
    }
  }
}

// In the order of their locations.
uint32_t add_frames(const Bindings& bindings, SegmentFileWriter& writer) {
  Columns<4> columns;
  uint32_t written = 0;
  const auto write = [&] {
    const auto rows = static_cast<uint32_t>(columns.rows());
    if (rows != 0) {
      add_chunk(writer, kFrames, written, rows, columns.take());
      written += rows;
    }
  };
  for (uint32_t location = 1; location < bindings.locations(); ++location) {
    for (const Bindings::BoundFrame& frame : bindings.of(location)) {
      columns.add({location, frame.function, frame.file, frame.line});
      if (columns.rows() == kEntriesOfChunk) {
        write();
      }
    }
  }
  write();
  return written;
}

// The next column of a chunk.
template <typename Value>
Status read_column(ByteReader& reader, size_t rows, std::vector<Value>& values) {
  const auto column = PackedColumn::read(reader, rows);
  if (!column) {
    return propagate(column);
  }
  column->unpack(values);
  return {};
}

template <typename Value, typename... More>
Status read_columns(ByteReader& reader, size_t rows, std::vector<Value>& values, More&... more) {
  const Status read = read_column(reader, rows, values);
  if constexpr (sizeof...(more) > 0) {
    return read ? read_columns(reader, rows, more...) : read;
  }
  return read;
}

std::unexpected<Error> misfit(std::string_view what) {
  return fail(ErrorCode::kCorrupt, "its {} do not fit together", what);
}

}  // namespace

std::string pack_entries(const Dictionaries& dictionaries, const Bindings& bindings) {
  SegmentFileWriter writer(kSchema);
  add_locations(dictionaries.locations, writer);
  add_stacks(dictionaries.stacks, writer);
  const uint32_t frames = add_frames(bindings, writer);
  Columns<4> summary;
  summary.add({dictionaries.locations.size() - 1, dictionaries.stacks.size() - 1, frames,
               static_cast<uint64_t>(bindings.last_change())});
  add_chunk(writer, kSummary, 0, 1, summary.take());
  return writer.finish();
}

template <typename Read>
Status EntryPack::read_chunks(uint32_t kind, Read read) const {
  for (size_t i = 0; i < file_.chunks().size(); ++i) {
    const SegmentChunk& chunk = file_.chunks()[i];
    if (chunk.counts[kKind] != kind) {
      continue;
    }
    const auto part = file_.part(i, 0);
    if (!part) {
      return propagate(part);
    }
    ByteReader reader(*part);
    if (const Status done = read(chunk, reader); !done) {
      return file_.damaged(i, done.error().message);
    }
    file_.set_checked(i, 0);
  }
  return {};
}

Result<EntryPack> EntryPack::open(const std::string& path) {
  EntryPack pack;
  auto file = SegmentFile::open(path, kSchema);
  if (!file) {
    return propagate(file);
  }
  pack.file_ = std::move(*file);
  uint32_t summaries = 0;
  const Status read = pack.read_chunks(kSummary, [&](const SegmentChunk& chunk, ByteReader& reader) {
    std::array<std::vector<uint64_t>, 4> values;
    const Status columns = read_columns(reader, chunk.rows, values[0], values[1], values[2], values[3]);
    if (columns && chunk.rows == 1) {
      ++summaries;
      pack.counts_ = {static_cast<uint32_t>(values[0][0]), static_cast<uint32_t>(values[1][0]),
                      static_cast<uint32_t>(values[2][0]), static_cast<int64_t>(values[3][0])};
    }
    return columns;
  });
  if (!read) {
    return propagate(read);
  }
  if (summaries != 1 ||
      uint64_t{pack.counts_.locations} + pack.counts_.stacks + pack.counts_.frames + 1 != pack.file_.rows()) {
    return fail(ErrorCode::kCorrupt, "segment {} is damaged: its counts do not fit together", path);
  }
  return pack;
}

Status EntryPack::read_locations(Dictionaries& dictionaries) const {
  dictionaries.locations.reserve(size_t{counts_.locations} + 1);
  std::vector<uint32_t> kinds;
  std::vector<uint32_t> owners;
  std::vector<uint32_t> sizes;
  std::vector<uint64_t> addresses;
  const Status read = read_chunks(kLocations, [&](const SegmentChunk& chunk, ByteReader& reader) -> Status {
    const Status columns = read_columns(reader, chunk.rows, kinds, owners, addresses, sizes);
    const Bytes names = columns ? reader.bytes(chunk.counts[kBytesOfNames]) : Bytes();
    if (!columns || !reader.ok() || chunk.counts[kFirst] != dictionaries.locations.size()) {
      return columns ? misfit("locations") : columns;
    }
    size_t place = 0;
    for (size_t i = 0; i < chunk.rows; ++i) {
      LocationEntry entry{static_cast<wire::LocationKind>(kinds[i]), owners[i], addresses[i], {}};
      if (sizes[i] != 0) {
        if (sizes[i] > names.size() - place) {
          return misfit("names");
        }
        entry.name.assign(reinterpret_cast<const char*>(names.data()) + place, sizes[i]);
        place += sizes[i];
      }
      dictionaries.locations.push_back(std::move(entry));
    }
    return place == names.size() ? Status() : misfit("names");
  });
  return read && dictionaries.locations.size() != size_t{counts_.locations} + 1 ? Status(misfit("locations"))
                                                                                : read;
}

Status EntryPack::read_stacks(Dictionaries& dictionaries) const {
  dictionaries.stacks.reserve(size_t{counts_.stacks} + 1);
  std::vector<uint32_t> parents;
  std::vector<uint32_t> locations;
  const Status read = read_chunks(kStacks, [&](const SegmentChunk& chunk, ByteReader& reader) -> Status {
    const Status columns = read_columns(reader, chunk.rows, parents, locations);
    if (!columns || chunk.counts[kFirst] != dictionaries.stacks.size()) {
      return columns ? misfit("stacks") : columns;
    }
    for (size_t i = 0; i < chunk.rows; ++i) {
      if (parents[i] >= dictionaries.stacks.size() || locations[i] > counts_.locations) {
        return misfit("stacks");
      }
      dictionaries.stacks.push_back({parents[i], locations[i]});
    }
    return {};
  });
  return read && dictionaries.stacks.size() != size_t{counts_.stacks} + 1 ? Status(misfit("stacks")) : read;
}

Status EntryPack::read_frames(PackedFrames& frames) const {
  frames.last_change = counts_.last_change;
  frames.locations.reserve(counts_.frames);
  frames.frames.reserve(counts_.frames);
  std::vector<uint32_t> locations;
  std::vector<uint32_t> functions;
  std::vector<uint32_t> files;
  std::vector<uint32_t> lines;
  const Status read = read_chunks(kFrames, [&](const SegmentChunk& chunk, ByteReader& reader) -> Status {
    const Status columns = read_columns(reader, chunk.rows, locations, functions, files, lines);
    if (!columns || chunk.counts[kFirst] != frames.frames.size()) {
      return columns ? misfit("frames") : columns;
    }
    for (size_t i = 0; i < chunk.rows; ++i) {
      const uint32_t before = frames.locations.empty() ? 0 : frames.locations.back();
      if (locations[i] < before || locations[i] > counts_.locations) {
        return misfit("frames");
      }
      frames.locations.push_back(locations[i]);
      frames.frames.push_back({functions[i], files[i], lines[i]});
    }
    return {};
  });
  return read && frames.frames.size() != counts_.frames ? Status(misfit("frames")) : read;
}

}  // namespace plimsoll::store
