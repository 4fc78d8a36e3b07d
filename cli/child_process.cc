#include "cli/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/spawn_settings.h"
#include "base/time.h"
#include "base/unique_fd.h"

namespace plimsoll::cli {
namespace {

int64_t ns_of(const timeval& time) {
  return time.tv_sec * kNsPerSecond + time.tv_usec * (kNsPerSecond / 1'000'000);
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& argv, const std::string& log_path) {
  SpawnSettings settings;
  settings.open(STDIN_FILENO, "/dev/null", O_RDONLY);
  settings.open(STDOUT_FILENO, log_path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  settings.duplicate(STDOUT_FILENO, STDERR_FILENO);
  settings.set_own_group();
  const auto pid = settings.start(argv, true);
  return pid ? Result<ChildProcess>(ChildProcess(*pid)) : propagate(pid);
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

void ChildProcess::stop() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
}

Result<std::optional<ChildEnd>> ChildProcess::wait(std::initializer_list<int> wake_fds) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!process.valid()) {
    return fail_errno(errno, "waiting for process {}", pid_);
  }
  std::vector<pollfd> polled{{.fd = process.get(), .events = POLLIN, .revents = 0}};
  for (const int wake_fd : wake_fds) {
    polled.push_back({.fd = wake_fd, .events = POLLIN, .revents = 0});
  }
  while (::poll(polled.data(), polled.size(), -1) < 0) {
    if (errno != EINTR) {
      return fail_errno(errno, "waiting for process {}", pid_);
    }
  }
  if (polled[0].revents == 0) {
    return std::nullopt;
  }
  int status = 0;
  rusage usage{};
  if (::wait4(pid_, &status, 0, &usage) != pid_) {
    return fail_errno(errno, "waiting for process {}", pid_);
  }
  pid_ = -1;
  return ChildEnd{.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                  .cpu_ns = ns_of(usage.ru_utime) + ns_of(usage.ru_stime)};
}

bool ChildProcess::is_running() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) {
    pid_ = -1;
  }
  return pid_ > 0;
}

std::string last_line_of(const std::string& log_path) {
  std::ifstream file(log_path);
  std::string last = "nothing";
  for (std::string line; std::getline(file, line);) {
    last = line.empty() ? last : line;
  }
  return last;
}

std::string executable_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

}  // namespace plimsoll::cli
