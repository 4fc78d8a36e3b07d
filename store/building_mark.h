// Remembers across the end of the process which profile was being turned into rows: one that takes the process down with it, as
// with all memory, must not do so at every start.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace plimsoll::store {

// A file of two numbers, written in place for each profile: one system call, and no disk is waited for. It outlives a process that
// is killed, and not a machine that loses its power, which no profile brings about. One thread at a time.
class BuildingMark {
 public:
  // Creates the file where it is missing.
  static Result<BuildingMark> open(const std::string& path);

  // The profile that a process ended at, and how many did so one after the other. 0: none.
  int64_t sequence() const { return left_.sequence; }
  int64_t times() const { return left_.times; }

  // A profile is being built from now on; forgets none that a process ended at, until it has been built.
  Status begin(int64_t sequence);
  // Nothing is being built, whether it became rows, was set aside or failed.
  Status end();

 private:
  struct Content {
    int64_t sequence = 0;
    int64_t times = 0;
  };

  explicit BuildingMark(UniqueFd fd, Content left) : fd_(std::move(fd)), left_(left) {}
  Status write(Content content);

  UniqueFd fd_;
  Content left_;
  Content written_ = left_;
};

}  // namespace plimsoll::store
