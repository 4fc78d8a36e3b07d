// Remembers across the end of the process which profile was being turned into rows.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace plimsoll::store {

// A file of one number, written in place for each profile: one system call, and no disk is waited for. It outlives a process that
// dies, and not a machine that loses its power, which no profile brings about. One thread at a time.
class BuildingMark {
 public:
  // Creates the file where it is missing.
  static Result<BuildingMark> open(const std::string& path);

  // The archive's number of the profile at which the process before this one ended; 0: it ended at none.
  int64_t left() const { return left_; }

  // That profile is being built from now on; 0: none is. On a full disk it may be forgotten, which costs the next process what it would
  // have learned: no reason not to build.
  void set(int64_t sequence);

 private:
  BuildingMark(UniqueFd fd, int64_t left) : fd_(std::move(fd)), left_(left) {}

  UniqueFd fd_;
  int64_t left_;
};

}  // namespace plimsoll::store
