#include "bench/harness/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

namespace plimsoll::bench {
namespace {

constexpr uint64_t kKibibyte = 1024;

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// In the child, after fork: only what may be called there.
[[noreturn]] void become(char* const* argv, const char* output, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int null = ::open("/dev/null", O_RDONLY);
  const int out = ::open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (::getppid() == parent && null >= 0 && out >= 0 && ::dup2(null, STDIN_FILENO) >= 0 &&
      ::dup2(out, STDOUT_FILENO) >= 0 && ::dup2(out, STDERR_FILENO) >= 0) {
    ::close(null);
    ::close(out);
    ::execvp(argv[0], argv);
  }
  ::_exit(127);
}

}  // namespace

uint64_t own_peak_rss_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * kKibibyte;
}

Result<Child> Child::start(const std::vector<std::string>& argv, const std::string& output) {
  std::vector<std::string> arguments = argv;
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) {
    pointers.push_back(argument.data());
  }
  pointers.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    return fail_errno(errno, "starting {}", argv[0]);
  }
  if (pid == 0) {
    become(pointers.data(), output.c_str(), parent);
  }
  ::setpgid(pid, pid);  // in both processes: whichever comes first
  return Child(argv[0], pid);
}

Child::~Child() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

Result<Usage> Child::wait() {
  int status = 0;
  rusage usage{};
  if (::wait4(pid_, &status, 0, &usage) != pid_) {
    return fail_errno(errno, "waiting for {}", argv0_);
  }
  pid_ = -1;
  if (status != 0) {
    return fail(ErrorCode::kIo, "{} ended with {} {}", argv0_, WIFEXITED(status) ? "status" : "signal",
                WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  }
  return Usage{.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime),
               .peak_rss_bytes = static_cast<uint64_t>(usage.ru_maxrss) * kKibibyte};
}

Result<Usage> run_to_end(const std::vector<std::string>& argv, const std::string& output) {
  auto child = Child::start(argv, output);
  return child ? child->wait() : propagate(child);
}

std::string sibling_program(const std::string& name) {
  std::error_code error;
  return (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / name).string();
}

}  // namespace plimsoll::bench
