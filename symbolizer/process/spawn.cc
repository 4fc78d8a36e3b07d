#include "symbolizer/process/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "symbolizer/process/confinement.h"

namespace plimsoll::symbolizer {
namespace {

constexpr int kFirstFreeDescriptor = 10;

// What a child is started with; the C interface needs them destroyed by hand.
struct SpawnSettings {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};

  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes, &signals);
    ::sigaddset(&signals, SIGPIPE);
    ::posix_spawnattr_setsigdefault(&attributes, &signals);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
};

}  // namespace

Result<UniqueFd> out_of_the_way(UniqueFd fd) {
  UniqueFd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstFreeDescriptor));
  return moved.valid() ? Result<UniqueFd>(std::move(moved)) : fail_errno(errno, "duplicating a descriptor");
}

Result<pid_t> spawn(const std::vector<std::string>& argv, std::span<const FileAt> files) {
  SpawnSettings settings;
  ::posix_spawn_file_actions_addopen(&settings.actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  for (const FileAt& file : files) {
    ::posix_spawn_file_actions_adddup2(&settings.actions, file.fd, file.number);
  }
  // What a library says when it gives up is not for our users; what a sanitizer says is for us.
  if (!kIsSanitized) {
    ::posix_spawn_file_actions_addopen(&settings.actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  std::vector<char*> arguments;
  for (const std::string& argument : argv) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int error_number = ::posix_spawn(&pid, argv[0].c_str(), &settings.actions, &settings.attributes,
                                         arguments.data(), environ);
  return error_number == 0 ? Result<pid_t>(pid) : fail_errno(error_number, "starting {}", argv[0]);
}

}  // namespace plimsoll::symbolizer
