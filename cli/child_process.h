// A program that this one has started, in a process group of its own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace plimsoll::cli {

struct ChildEnd {
  int status = 0;      // as a shell has it: that of exit(), or 128 and the number of the signal that ended it
  int64_t cpu_ns = 0;  // user and system time, its own and of all that it waited for
};

// Ends the group (SIGKILL) and waits for the program when destroyed. Move-only.
class ChildProcess {
 public:
  // `argv[0]` is looked for in PATH unless it has a slash. Standard output and error go to `log_path`.
  static Result<ChildProcess> start(const std::vector<std::string>& argv, const std::string& log_path);

  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  // Asks it to end (SIGTERM to the group) and waits for it.
  void stop();

  // Waits for its end. Nothing where one of `wake_fds` became readable before.
  Result<std::optional<ChildEnd>> wait(std::initializer_list<int> wake_fds);

  // Whether it is still there; false as well once it has ended by itself.
  bool is_running();

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

// What a program said last, of what is not empty; "nothing" where it said nothing.
std::string last_line_of(const std::string& log_path);

// Where this program lies, and its companions.
std::string executable_folder();

}  // namespace plimsoll::cli
