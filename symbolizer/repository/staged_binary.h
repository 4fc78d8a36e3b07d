// A binary that is arriving: a temporary file of the repository, which nothing finds until it is whole and checked.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/durable_file.h"
#include "base/file.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "symbolizer/repository/repository_room.h"

namespace plimsoll::symbolizer {

// Removed with this, unless it was moved to its place. One thread at a time.
class StagedBinary {
 public:
  // In a folder of the file system that it is to stay on. What is written takes room, until this is destroyed. Borrows `calls`.
  static Result<StagedBinary> create(const std::string& folder, uint64_t max_bytes,
                                     std::shared_ptr<RepositoryRoom> room, const FileCalls& calls);

  StagedBinary(StagedBinary&& other) noexcept
      : path_(std::exchange(other.path_, {})),
        fd_(std::move(other.fd_)),
        bytes_(std::exchange(other.bytes_, 0)),
        max_bytes_(other.max_bytes_),
        room_(std::move(other.room_)),
        calls_(other.calls_) {}
  StagedBinary& operator=(StagedBinary&& other) = delete;
  StagedBinary(const StagedBinary&) = delete;
  StagedBinary& operator=(const StagedBinary&) = delete;
  ~StagedBinary();

  // kTooLarge beyond its limit, kUnavailable on a full disk, and where there is no room for it.
  Status write(Bytes piece);

  uint64_t bytes() const { return bytes_; }

  // What was written so far.
  Result<MappedFile> map() const;

  // Makes it durable under that name, in place of what was there; its folder exists. Done, or not: then it is still here.
  Status move_to(const std::string& path);

  // Of the file, once nothing more is written.
  Result<int64_t> modified_ns() const;

 private:
  StagedBinary(std::string path, UniqueFd fd, uint64_t max_bytes, std::shared_ptr<RepositoryRoom> room,
               const FileCalls& calls)
      : path_(std::move(path)),
        fd_(std::move(fd)),
        max_bytes_(max_bytes),
        room_(std::move(room)),
        calls_(&calls) {}

  Status write_all(Bytes piece);

  std::string path_;  // empty: it has been moved
  UniqueFd fd_;
  uint64_t bytes_ = 0;  // as many as it holds of the room
  uint64_t max_bytes_;
  std::shared_ptr<RepositoryRoom> room_;
  const FileCalls* calls_;
};

}  // namespace plimsoll::symbolizer
