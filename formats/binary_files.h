// ELF files in what users bring: a file, all of a folder, or a Debian package. Told by content; untrusted bytes; one thread.
//
// A package is an ar archive with a tar archive (data.tar, compressed) in it. Names of its members are for messages alone: no file is ever
// created under one of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace plimsoll::formats {

struct BinaryFile {
  std::string name = {};                    // for messages: "app_1.0_amd64.deb:./usr/bin/app"
  std::shared_ptr<const UniqueFd> fd = {};  // a regular file; without a name where it had to be unpacked
  uint64_t size_bytes = 0;
};

struct BinaryFileLimits {
  uint64_t max_file_bytes = uint64_t{4} << 30;      // of one binary
  uint64_t max_content_bytes = uint64_t{16} << 30;  // of a package, decompressed
  uint64_t max_members = 100'000;                   // of a package
  uint64_t max_files = 1'000'000;                   // of a folder with all below it
  int max_depth = 32;                               // of folders in folders
  std::string folder = {};  // for what has to be unpacked; empty: the usual one (TMPDIR)
};

using TakeBinary = std::function<void(const std::string& name, Result<BinaryFile> file)>;

// Calls `take` for each ELF file, one after the other, and for what cannot be read, with the error. In a folder it follows no symbolic links, and
// passes over what is neither an ELF file nor a package; a file that was named itself is an error then. After damage to a package
// nothing more comes of it. Takes disk space for one unpacked file at a time, and little memory.
void find_binaries(const std::string& path, const BinaryFileLimits& limits, const TakeBinary& take);

}  // namespace plimsoll::formats
