// What the files that users bring hold: themselves, what is compressed in them, or the members of archives. Told by content.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace plimsoll::formats {

// One file's content, neither compressed nor an archive.
struct InputFile {
  std::string name = {};                    // for messages: "runs.tar.gz:a/perf.data"
  std::string file_name = {};               // the file's own: "a/perf.data"
  std::shared_ptr<const UniqueFd> fd = {};  // a regular file; without a name where it had to be unpacked
  uint64_t size_bytes = 0;
  int64_t modified_ns = 0;  // wall clock; of what it lay in where that is not an archive; 0: not known
};

struct UnpackLimits {
  uint64_t max_content_bytes = uint64_t{16}
                               << 30;  // decompressed, of a file or of an archive with all its members
  uint64_t max_members = 10'000;       // of an archive
  std::string folder = {};             // for what has to be unpacked; empty: the usual one (TMPDIR)
};

using TakeInput = std::function<void(const std::string& name, Result<InputFile> input)>;

// Opens `path` and calls `take` for what it holds, one after the other: once for a file, compressed or not; once for each regular
// file of a tar archive, which may be compressed as a whole or member by member. What cannot be read is handed on as an
// error, under its name: an archive in an archive, what is compressed twice, content beyond the limits (kTooLarge); after
// damage to an archive itself nothing more comes of it. Pipes and devices are read to their end first. Takes disk space for one
// unpacked file at a time, and little memory.
void unpack(const std::string& path, const UnpackLimits& limits, const TakeInput& take);

}  // namespace plimsoll::formats
