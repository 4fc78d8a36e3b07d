#include "tests/e2e/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "tests/places.h"

namespace plimsoll::testing {
namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

std::string output_path() {
  static std::atomic<int> count = 0;
  return fmt::format("{}/plimsoll-test-output.{}.{}", std::filesystem::temp_directory_path().string(),
                     ::getpid(), ++count);
}

// Profiles of tests are of 2023 (tests/profile_fixture.h), which servers are to take, and to keep, unless their configuration is the test's.
[[maybe_unused]] const bool g_old_profiles_are_taken =
    ::setenv("PLIMSOLL_RETENTION_MAX_UPLOAD_AGE", "87600h", 0) == 0 &&
    ::setenv("PLIMSOLL_RETENTION_RAW_MAX_AGE", "87600h", 0) == 0 &&
    ::setenv("PLIMSOLL_RETENTION_ROWS_MAX_AGE", "87600h", 0) == 0;

// This process's environment, with these settings of daemons in place of its own.
std::vector<std::string> daemon_environment(const std::string& state, int cpu_percent) {
  const std::string state_dir = "PLIMSOLL_DAEMON_STATE_DIR=";
  const std::string max_cpu = "PLIMSOLL_LIMITS_MAX_CPU_PERCENT=";
  std::vector<std::string> variables{state_dir + state, fmt::format("{}{}", max_cpu, cpu_percent)};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    if (!variable.starts_with(state_dir) && !variable.starts_with(max_cpu)) {
      variables.emplace_back(variable);
    }
  }
  return variables;
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == pid;
}

bool has_events(pid_t pid) {
  std::error_code error;
  for (std::filesystem::directory_iterator file(fmt::format("/proc/{}/fd", pid), error), end;
       !error && file != end; file.increment(error)) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(file->path(), ignored) == "anon_inode:[perf_event]") {
      return true;
    }
  }
  return false;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

// CPU time of the machine since it started, in ticks: all of it, and what was idle (`cpu` in /proc/stat: user, nice, system, idle,
// iowait, ...).
struct MachineTicks {
  uint64_t all = 0;
  uint64_t idle = 0;
};

MachineTicks machine_ticks() {
  std::ifstream stat("/proc/stat");
  std::string name;
  stat >> name;
  MachineTicks ticks;
  uint64_t value = 0;
  for (int field = 0; field < 8 && stat >> value; ++field) {
    ticks.all += value;
    ticks.idle += field == 3 || field == 4 ? value : 0;
  }
  return ticks;
}

}  // namespace

std::string program(const std::string& name) {
  return built_file(name);
}

Background::Background(const std::vector<std::string>& argv, int daemon_cpu_percent)
    : out_(output_path()), err_(output_path()), state_(output_path()) {
  std::vector<std::string> arguments = argv;
  if (arguments[0].find('/') == std::string::npos) {
    arguments[0] = program(arguments[0]);
  }
  std::vector<std::string> variables = daemon_environment(state_, daemon_cpu_percent);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
  if (::posix_spawn(&pid_, arguments[0].c_str(), &actions, nullptr, pointers_to(arguments).data(),
                    pointers_to(variables).data()) != 0) {
    pid_ = -1;
  }
  ::posix_spawn_file_actions_destroy(&actions);
}

Background::~Background() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::unlink(out_.c_str());
  ::unlink(err_.c_str());
  if (!state_.empty()) {
    std::error_code error;
    std::filesystem::remove_all(state_, error);
  }
}

void Background::kill(int signal_number) const {
  if (pid_ > 0) {
    ::kill(pid_, signal_number);
  }
}

std::string Background::out() const {
  return content_of(out_);
}

std::string Background::err() const {
  return content_of(err_);
}

Finished Background::wait() {
  Finished finished;
  int status = 0;
  if (pid_ > 0 && ::waitpid(pid_, &status, 0) == pid_) {
    finished.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    pid_ = -1;
  }
  finished.out = content_of(out_);
  finished.err = content_of(err_);
  return finished;
}

Finished run(const std::vector<std::string>& argv) {
  return Background(argv).wait();
}

void wait_until_sampling(const Background& daemon) {
  const std::string waits_for_samples = fmt::format("{} ", SYS_ppoll);
  while (!has_ended(daemon.pid()) &&
         !(has_events(daemon.pid()) &&
           content_of(fmt::format("/proc/{}/syscall", daemon.pid())).starts_with(waits_for_samples))) {
    ::sched_yield();
  }
}

bool machine_is_busy() {
  const MachineTicks before = machine_ticks();
  ::poll(nullptr, 0, 500);
  const MachineTicks after = machine_ticks();
  return after.all > before.all && 2 * (after.idle - before.idle) < after.all - before.all;
}

bool may_sample_machine() {
  const std::string found = run({"plimsolld", "probe"}).out;
  const std::string subject = "event cpu-clock ";
  const size_t line = found.find(subject);
  const size_t answer =
      line == std::string::npos ? line : found.find_first_not_of(' ', line + subject.size());
  return answer != std::string::npos && found.compare(answer, 3, "yes") == 0;
}

TemporaryFolder::TemporaryFolder()
    : path_(std::filesystem::temp_directory_path().string() + "/plimsoll-test-XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr) {
    std::abort();
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace plimsoll::testing
