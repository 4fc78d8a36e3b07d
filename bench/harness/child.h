// Programs that a benchmark starts: loads, and what is measured.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace plimsoll::bench {

// What a program and those it waited for took, as the kernel accounts for it at their end.
struct Usage {
  double cpu_s = 0;
  // The most that was resident at once. The kernel carries over what this process had at the start, so that only a value
  // above own_peak_rss_bytes() says something.
  uint64_t peak_rss_bytes = 0;
};

uint64_t own_peak_rss_bytes();

// A running program, in a process group of its own. Ended, with its group, when destroyed, and by the kernel should this
// process die. Start children from the main thread: they end with the thread that started them.
class Child {
 public:
  // `output` gets what it prints, errors included.
  static Result<Child> start(const std::vector<std::string>& argv, const std::string& output = "/dev/null");

  Child(Child&& other) noexcept : argv0_(std::move(other.argv0_)), pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  // Waits for its end; fails where that was not with status 0.
  Result<Usage> wait();

 private:
  Child(std::string argv0, pid_t pid) : argv0_(std::move(argv0)), pid_(pid) {}
  std::string argv0_;
  pid_t pid_;
};

Result<Usage> run_to_end(const std::vector<std::string>& argv, const std::string& output = "/dev/null");

// A program beside this one (build/bin/).
std::string sibling_program(const std::string& name);

}  // namespace plimsoll::bench
