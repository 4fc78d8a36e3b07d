// Files that are either whole and on disk, or not there.
#pragma once

#include <string>

#include "base/byte_reader.h"
#include "base/result.h"

namespace plimsoll {

// The system calls that a durable write makes, as a seam: tests replace one by a function that fails.
struct FileCalls {
  ssize_t (*write)(int fd, const void* bytes, size_t size);
  int (*fsync)(int fd);
  int (*rename)(const char* from, const char* to);

  static const FileCalls& system();
};

// Writes `content` to `path` so that after a crash at any moment the path holds either its old content (or
// nothing) or the new one: temporary file in the same folder, fsync, rename, fsync of the folder. On failure
// the temporary file is removed and the path is as it was. Costs two fsyncs.
Status write_file_durably(const std::string& path, Bytes content,
                          const FileCalls& calls = FileCalls::system());

}  // namespace plimsoll
