// The outside of a segment: header, directory, zone maps and checksums, whatever its chunks hold. docs/store-format.md describes
// the bytes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace plimsoll::store {

inline constexpr uint64_t kMaxSegmentBytes = uint64_t{1} << 40;

inline constexpr size_t kMaxSegmentColumns = 8;
inline constexpr size_t kMaxSegmentParts = 4;
inline constexpr size_t kMaxSegmentCounts = 8;

// One kind of data in segments. Its ID stands in the header, so that a file is not read as another kind.
struct SegmentSchema {
  uint32_t id;
  uint32_t columns;  // that have zones
  uint32_t parts;    // of a chunk: each is checked and read for itself
  uint32_t counts;   // of a chunk, beside its rows: what a reader needs to take its parts apart
  std::array<const char*, kMaxSegmentParts> part_names;  // for what is said of damage
};

// The file itself is at fault, and will be the next time.
bool is_damage(const Error& error);

// Smallest and largest value of a column in a chunk.
struct Zone {
  uint32_t min = 0;
  uint32_t max = 0;

  bool contains(uint32_t id) const { return min <= id && id <= max; }
};

// A chunk as the directory has it.
struct SegmentChunk {
  struct Part {
    uint32_t size_bytes = 0;
    uint64_t checksum = 0;
  };

  uint64_t offset = 0;  // of the first part; the others follow it
  uint32_t rows = 0;
  std::array<Part, kMaxSegmentParts> parts = {};
  std::array<uint32_t, kMaxSegmentCounts> counts = {};
  std::array<Zone, kMaxSegmentColumns> zones = {};

  uint64_t size_bytes() const {
    uint64_t size = 0;
    for (const Part& part : parts) {
      size += part.size_bytes;
    }
    return size;
  }
};

// A mapped file. Its directory is checked when it is opened, a part of a chunk when it is first read, so that damage is found where it
// matters and named. What was damaged once stays so. Any thread may read.
class SegmentFile {
 public:
  SegmentFile() = default;

  // kUnsupported where it is of another schema or version.
  struct OldVersion {
    uint32_t version;
    size_t entry_bytes;
    SegmentChunk (*read)(ByteReader& entry);
  };
  // The schema must outlive it.
  static Result<SegmentFile> open(const std::string& path, const SegmentSchema& schema,
                                  std::span<const OldVersion> old_versions = {});

  const std::string& path() const { return path_; }
  uint32_t version() const { return version_; }
  uint64_t rows() const { return rows_; }
  uint64_t size_bytes() const { return file_.bytes().size(); }
  const std::vector<SegmentChunk>& chunks() const { return chunks_; }

  // kCorrupt where it does not match its checksum.
  Result<Bytes> part(size_t chunk, size_t part) const;
  // Whether its reader has to check that its numbers fit together, since nothing has so far.
  bool needs_check(size_t chunk, size_t part) const;
  void set_checked(size_t chunk, size_t part) const;

  // Notes the damage. kCorrupt, with the file's name.
  std::unexpected<Error> damaged(size_t chunk, std::string_view what) const;
  // What a read has found; empty: nothing so far.
  std::string damage() const;
  bool is_damaged() const { return state_->is_damaged; }

 private:
  Status read_directory(ByteReader& reader, const SegmentSchema& schema,
                        std::span<const OldVersion> old_versions);

  std::string path_;
  MappedFile file_;
  uint32_t version_ = 0;
  uint64_t rows_ = 0;
  const SegmentSchema* schema_ = nullptr;
  std::vector<SegmentChunk> chunks_;
  // What reading has found out.
  struct State {
    std::unique_ptr<std::atomic<bool>[]> checked;  // by chunk, then part
    std::atomic<bool> is_damaged = false;
    std::mutex mutex;
    std::string damage;  // protected by mutex
  };
  std::unique_ptr<State> state_ = std::make_unique<State>();
};

// Chunk after chunk; keeps their bytes in memory.
class SegmentFileWriter {
 public:
  explicit SegmentFileWriter(const SegmentSchema& schema) : schema_(schema) {}

  // Of `chunk` rows, counts and zones are used; there are as many `parts` as the schema has, each of a multiple of 8 bytes.
  void add(SegmentChunk chunk, std::span<const std::string> parts);

  // The file; then the writer must not be used again.
  std::string finish();

 private:
  SegmentSchema schema_;
  uint64_t rows_ = 0;
  std::vector<SegmentChunk> chunks_;
  std::string data_;
};

}  // namespace plimsoll::store
