// What of a data directory is in an object store, and fits together: the object "manifest", written after all that it names.
//
//   plimsoll-objects 1
//   directory 3f0c...                            the directory's ID
//   writer 91aa...                               the process that wrote it
//   written 1793...                              wall clock, ns
//   rows clickhouse://ch.example.com/plimsoll    where rows are that are not in the directory; then the first line has version 2
//   block 000007.1 VERSION SEQUENCE              a sealed block; up to which profile of the archive it and those before it go. Where one was
//                                                merged (000001-000007.2) the first line has version 3, with or without rows elsewhere
//   file PATH BYTES HASH VERSION                 below the data directory, or packs/FIRST-LAST
//   leaving PATH BYTES HASH REMOVE_AT            belongs to the directory no more; its objects go after that time
//   checksum 9a1e...                             of the lines above
//
// The content of a file is in objects whose keys have its hash (object_key()): what a manifest names never changes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace plimsoll::store {

inline constexpr const char* kManifestKey = "manifest";

// Of a file.
inline constexpr uint64_t kMaxStoredBytes = uint64_t{1} << 40;

// For how long objects stay that a later manifest has others in place of: a restore that has read the earlier one goes on.
inline constexpr int64_t kReadersNs = kNsPerHour;

struct StoredFile {
  uint64_t bytes = 0;
  std::string hash = {};  // content_hash(), in hexadecimal
  int64_t version = 0;    // of the local file, by which a change is seen; of a pack: its last_fingerprint()

  bool operator==(const StoredFile&) const = default;
};

struct StoredBlock {
  std::string name;  // of its folder: "000007.1", "000001-000007.2"
  int64_t version = 0;
  int64_t built_up_to = 0;

  // Number of the first block that was merged into it; its own where none was.
  int64_t first() const;

  bool operator==(const StoredBlock&) const = default;
};

struct LeavingFile {
  std::string path;
  StoredFile file = {};
  int64_t remove_at_ns = 0;

  bool operator==(const LeavingFile&) const = default;
};

struct Manifest {
  std::string directory_id = {};  // 16 bytes
  std::string writer = {};        // 16 bytes
  int64_t written_ns = 0;
  std::string rows = {};                         // address, where they are not in the directory; no password
  std::map<int64_t, StoredBlock> blocks = {};    // by number; each begins behind the one before it
  std::map<std::string, StoredFile> files = {};  // by path
  std::vector<LeavingFile> leaving = {};

  // A file that takes the place of the one of its path; the objects of that one go once nobody can be reading them.
  void set(const std::string& path, const StoredFile& file, int64_t now_ns);
  // A file that the directory has no more.
  void drop(const std::string& path, int64_t remove_at_ns);

  // The files whose paths begin so.
  std::vector<std::string> paths_below(std::string_view prefix) const;

  // Whether a block has the rows of that number.
  bool covers(int64_t number) const;

  // Of the last profile that its blocks have rows of; 0: none.
  int64_t built_up_to() const { return blocks.empty() ? 0 : blocks.rbegin()->second.built_up_to; }

  bool has_rows_elsewhere() const { return !rows.empty(); }

  bool operator==(const Manifest&) const = default;
};

std::string to_text(const Manifest& manifest);

// kCorrupt for what is none, and for paths that lead out of a directory or files over the limit; kUnsupported for one of a later version.
Result<Manifest> parse_manifest(std::string_view text);

// Raw profiles, by the first and the last one's number in the archive.
struct PackRange {
  int64_t first = 0;
  int64_t last = 0;
};

std::string pack_path(const PackRange& range);
std::optional<PackRange> pack_at(std::string_view path);

}  // namespace plimsoll::store
