// The binaries that processes have mapped: their identities and program headers, each read once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/identity/proc_fs.h"
#include "elf/elf_file.h"
#include "proto/profile.pb.h"

namespace plimsoll::identity {

struct BinaryInfo {
  wire::IdentityKind identity_kind = wire::IDENTITY_UNKNOWN;
  std::string identity;                // binary; empty where unknown
  std::string path;                    // printable, as the process that was seen first named it
  std::vector<elf::Segment> segments;  // empty where the file was out of reach
};

// What is known of a mapped file before opening it.
struct MappedFileHint {
  uint32_t pid = 0;
  std::string_view path;      // in the process's mount namespace
  std::string_view build_id;  // as the kernel told it; empty: not told
  uint64_t inode = 0;         // 0: not told
};

// Lives as long as the daemon; the infos it hands out live as long as it does. One thread.
class BinaryTable {
 public:
  explicit BinaryTable(const ProcFs& proc_fs);

  // Never null. Opens the file where it was not seen before: /proc/PID/root/PATH, whose inode or build ID
  // must be the mapped one's; else the binary is known by what the hint says, without segments.
  const BinaryInfo* find_or_read(const MappedFileHint& hint);

  // This process's own vdso, which all 64-bit processes share; null where there is none.
  const BinaryInfo* vdso() const { return vdso_.get(); }

 private:
  const BinaryInfo* read(const MappedFileHint& hint);
  BinaryInfo* by_identity(wire::IdentityKind kind, std::string_view identity, std::string_view path);

  const ProcFs& proc_fs_;
  std::unique_ptr<BinaryInfo> vdso_;
  std::map<std::string, std::unique_ptr<BinaryInfo>, std::less<>> by_identity_;
  std::map<std::pair<std::string, uint64_t>, const BinaryInfo*>
      by_file_;  // (path, inode), where no build ID was told
};

}  // namespace plimsoll::identity
