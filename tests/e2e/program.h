// Running our programs from tests: to their end, or in the background.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace plimsoll::testing {

struct Finished {
  int status = -1;  // exit status; 128 + signal where one ended it
  std::string out;
  std::string err;
};

// Runs to the end. `argv[0]` without a slash is one of our programs.
Finished run(const std::vector<std::string>& argv);

// Ended with SIGKILL when destroyed, if it still runs. A daemon finds a state folder of its own, which goes with it, unless
// its arguments name another; and so much CPU time: all that its tests could want, unless said, since theirs are busy daemons on
// busy machines.
class Background {
 public:
  explicit Background(const std::vector<std::string>& argv, int daemon_cpu_percent = 100);
  Background(Background&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)),
        out_(std::move(other.out_)),
        err_(std::move(other.err_)),
        state_(std::exchange(other.state_, {})) {}
  Background& operator=(Background&&) = delete;
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background();

  pid_t pid() const { return pid_; }
  void kill(int signal_number) const;
  Finished wait();
  // What it has printed so far.
  std::string out() const;
  std::string err() const;

 private:
  pid_t pid_ = -1;
  std::string out_;  // files
  std::string err_;
  std::string state_;  // folder
};

// Returns when the daemon has enabled its events and waits for samples, or has ended.
void wait_until_sampling(const Background& daemon);

// A folder under the tests' temporary one, empty, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The path of one of our programs.
std::string program(const std::string& name);

// Whether this user may sample the whole machine, as `plimsolld probe` says.
bool may_sample_machine();

// Whether others take more than half of this machine's CPU time. Watches it for half a second.
bool machine_is_busy();

}  // namespace plimsoll::testing
