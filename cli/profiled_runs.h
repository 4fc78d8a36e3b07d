// Runs of one command, with and without plimsolld at work beside it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/child_process.h"
#include "daemon/service/ready_socket.h"
#include "daemon/service/signals.h"

namespace plimsoll::cli {

struct RunTime {
  int64_t wall_ns = 0;
  int64_t cpu_ns = 0;  // of the command, not of the profiler
};

// One thread. Takes SIGINT and SIGTERM of the process: they end a run with kUnavailable, and nothing is left running.
class ProfiledRuns {
 public:
  struct Options {
    std::vector<std::string> command;  // its output goes to a file, of which errors show the last line
    std::vector<std::string> profiler_options;  // of plimsolld, but for those of time, rate and output
    double limit_s = 3600;                      // of a run
  };

  static Result<ProfiledRuns> create(Options options);
  ProfiledRuns(ProfiledRuns&& other) noexcept
      : options_(std::move(other.options_)),
        signals_(std::move(other.signals_)),
        folder_(std::exchange(other.folder_, {})) {}
  ProfiledRuns& operator=(ProfiledRuns&&) = delete;
  ProfiledRuns(const ProfiledRuns&) = delete;
  ProfiledRuns& operator=(const ProfiledRuns&) = delete;
  // Removes what was written.
  ~ProfiledRuns();

  // The profiler samples the whole machine from before the command starts until after its end; its own start and what it does with the
  // samples in the end fall into no run. 0: without one.
  Result<RunTime> run(uint32_t rate_hz);

 private:
  ProfiledRuns(Options options, Signals signals, std::string folder);
  Result<ChildProcess> start_profiler(uint32_t rate_hz) const;
  Status wait_until_ready(const ReadySocket& socket, ChildProcess& profiler) const;
  Result<RunTime> run_command() const;

  Options options_;
  Signals signals_;
  std::string folder_;  // empty: moved from
};

}  // namespace plimsoll::cli
