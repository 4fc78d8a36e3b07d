// The binaries that processes have mapped: their identities and program headers, each read once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/time.h"
#include "capture/identity/image.h"
#include "elf/build_facts.h"
#include "elf/elf_file.h"
#include "proto/profile.pb.h"

namespace plimsoll::identity {

// The path of the vdso, which no file holds.
inline constexpr std::string_view kVdso = "[vdso]";

struct BinaryInfo {
  wire::IdentityKind identity_kind = wire::IDENTITY_UNKNOWN;
  std::string identity = {};                // binary; empty where unknown
  std::string path = {};                    // printable, as the process that was seen first named it
  std::vector<elf::Segment> segments = {};  // empty where the file was out of reach
  FileId file = {};                         // where one was told: to find it again
  bool is_go = false;                       // built by the Go toolchain, which keeps frame pointers
  elf::BuildFacts built = {};               // by what; empty where the file was out of reach
};

// What a profile says of it.
wire::Binary binary_message(const BinaryInfo& info);

// How much of files may be hashed: any process can map files without end, and a sparse one of gigabytes takes no room on disk.
struct HashLimits {
  uint64_t burst_bytes = uint64_t{512} << 20;  // at once
  uint64_t bytes_per_s = uint64_t{8} << 20;    // some 2 ms of CPU time
};

// Lives as long as the daemon; the infos it hands out live until they are forgotten. One thread.
class BinaryTable {
 public:
  static constexpr size_t kDefaultMaxBinaries = 10'000;  // kept between windows; about 500 bytes each

  // Borrows `images`.
  // Programs start thousands of times a second: whether a file was written over is asked each `recheck_ns` at most.
  explicit BinaryTable(const ImageSource& images, size_t max_binaries = kDefaultMaxBinaries,
                       int64_t recheck_ns = kNsPerSecond, HashLimits hashes = {});

  // Never null. Reads the file where it was not seen before; out of reach, the binary is known by what the
  // hint says, without segments. Another process may have it within reach: it is looked for again, though not with each
  // of thousands of processes. One without a build ID that may not be hashed now is known by its path, until it may. (Of recordings all
  // are hashed.)
  const BinaryInfo* find_or_read(const MappedFileHint& hint);

  // The vdso as the hint knows it: of this machine, its own, which all 64-bit processes share (null where there is none); of a
  // recording, its own too where the build ID is the same, else one without segments.
  const BinaryInfo* vdso(const MappedFileHint& hint);

  size_t size() const { return by_identity_.size(); }
  bool has_too_many() const { return by_identity_.size() > max_binaries_; }

  // Call between windows. Forgets those that are not in use, and returns their addresses, for who has kept something for
  // them.
  std::vector<const BinaryInfo*> forget_unused(const std::set<const BinaryInfo*>& used);

 private:
  struct Known {
    std::unique_ptr<BinaryInfo> info;
    uint64_t misses = 0;  // times that it was out of reach, or not looked for
    int64_t tried_ns = 0;
  };
  static bool is_worth_a_look(Known& known);
  Known& entry(wire::IdentityKind kind, std::string_view identity, const MappedFileHint& hint);
  struct Identity {
    wire::IdentityKind kind = wire::IDENTITY_UNKNOWN;
    std::string bytes = {};
    uint64_t bytes_to_hash = 0;  // which it waits for; 0: it does not
  };
  Identity identity_of(const OpenedImage& opened);
  // What is known of the file; `bytes_to_hash` becomes what it waits for.
  const BinaryInfo* read(const MappedFileHint& hint, uint64_t& bytes_to_hash);
  bool may_hash(uint64_t bytes);
  BinaryInfo* by_identity(wire::IdentityKind kind, std::string_view identity, const MappedFileHint& hint);

  const ImageSource& images_;
  const size_t max_binaries_;
  const int64_t recheck_ns_;
  const HashLimits hash_limits_;
  uint64_t hashable_bytes_ = hash_limits_.burst_bytes;  // at hashable_ns_
  int64_t hashable_ns_ = 0;
  std::unique_ptr<BinaryInfo> vdso_;
  std::map<std::string, Known, std::less<>> by_identity_;
  // Where no build ID was told. A file that was written over in place is another binary of the same key.
  struct KnownFile {
    const BinaryInfo* info = nullptr;
    int64_t changed_ns = 0;  // the file
    int64_t looked_ns = 0;
    uint64_t bytes_to_hash = 0;  // that it waits for
  };
  using FileKey = std::tuple<std::string, FileId, uint64_t>;  // path, file, generation
  bool is_current(KnownFile& known, const MappedFileHint& hint) const;
  std::map<FileKey, KnownFile> by_file_;
};

}  // namespace plimsoll::identity
