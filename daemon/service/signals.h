// Signals as a readable file descriptor.
#pragma once

#include <initializer_list>

#include "base/result.h"
#include "base/unique_fd.h"

namespace plimsoll {

// Blocks the signals in the calling thread and those it creates afterwards; make one in main() before any thread. One thread
// takes them.
class Signals {
 public:
  static Result<Signals> install(std::initializer_list<int> numbers);

  // Readable while a signal has come that was not taken.
  int fd() const { return fd_.get(); }

  // The number of one that has come; 0: none.
  int take() const;

 private:
  explicit Signals(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace plimsoll
