// Reading files: whole, with a bound, or mapped. Writing durably is base/durable_file.h.
#pragma once

#include <cstdint>
#include <string>

#include "base/byte_reader.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace plimsoll {

// The whole file; fails with kTooLarge when it holds more than `max_bytes`. Works for /proc and /sys, whose
// files say size 0.
Result<std::string> read_file(const std::string& path, uint64_t max_bytes);

// The beginning of a file, however long it is: at most `max_bytes` bytes, which are allocated.
Result<std::string> read_beginning(const std::string& path, size_t max_bytes);

// Exactly `size_bytes` bytes from `offset` on. kCorrupt where the file ends before; `name` is for errors.
Result<std::string> read_at(const UniqueFd& fd, const std::string& name, uint64_t offset,
                            uint64_t size_bytes);

// A file without a name in that folder, open for reading and writing, which is gone with its descriptor.
Result<UniqueFd> unnamed_file(const std::string& folder);

// A read-only private mapping of a whole regular file; unmapped on destruction. An empty file has no bytes.
// The file may shrink while mapped (then touching its pages raises SIGBUS): map only files that are immutable
// by contract (segments) or whose readers take that risk knowingly (binaries on disk, which package managers
// replace by rename).
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path, uint64_t max_bytes);
  static Result<MappedFile> map(const UniqueFd& fd, const std::string& name, uint64_t max_bytes);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  Bytes bytes() const { return bytes_; }

 private:
  explicit MappedFile(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;
};

}  // namespace plimsoll
