// The source files of a build as one archive, for `plimsoll binaries add --sources`.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace plimsoll::cli {

struct PackedSources {
  std::string name = {};  // for messages
  UniqueFd fd = UniqueFd();
  uint64_t size_bytes = 0;
};

// `place` is a tar archive (plain, gzip, xz, zstd), whose names are the compiler's paths with or without the '/' before them; or a folder, or
// "/build/dir = FOLDER": what the compiler knew as /build/dir. Of a folder the files whose names end as those of sources do, up to 16 MiB each
// and 4 GiB together; no symbolic links, and nothing in folders that begin with a dot. Takes disk space for the archive (TMPDIR).
Result<PackedSources> pack_sources(const std::string& place);

}  // namespace plimsoll::cli
