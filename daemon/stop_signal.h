// SIGINT and SIGTERM as a readable file descriptor.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace plimsoll {

// Blocks both signals in the calling thread and those it creates afterwards; make one in main() before any
// thread.
class StopSignal {
 public:
  static Result<StopSignal> install();

  // Readable, and stays so, once a signal has come.
  int fd() const { return fd_.get(); }

 private:
  explicit StopSignal(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace plimsoll
