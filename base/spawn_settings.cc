#include "base/spawn_settings.h"

#include <unistd.h>

namespace plimsoll {

SpawnSettings::SpawnSettings() {
  ::posix_spawn_file_actions_init(&actions_);
  ::posix_spawnattr_init(&attributes_);
  ::sigemptyset(&default_signals_);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes_, &none);
  add_flag(POSIX_SPAWN_SETSIGMASK);
}

SpawnSettings::~SpawnSettings() {
  ::posix_spawn_file_actions_destroy(&actions_);
  ::posix_spawnattr_destroy(&attributes_);
}

void SpawnSettings::open(int number, const std::string& path, int flags, mode_t mode) {
  ::posix_spawn_file_actions_addopen(&actions_, number, path.c_str(), flags, mode);
}

void SpawnSettings::duplicate(int fd, int number) {
  ::posix_spawn_file_actions_adddup2(&actions_, fd, number);
}

void SpawnSettings::set_own_group() {
  ::posix_spawnattr_setpgroup(&attributes_, 0);
  add_flag(POSIX_SPAWN_SETPGROUP);
}

void SpawnSettings::set_default(int signal) {
  ::sigaddset(&default_signals_, signal);
  ::posix_spawnattr_setsigdefault(&attributes_, &default_signals_);
  add_flag(POSIX_SPAWN_SETSIGDEF);
}

Result<pid_t> SpawnSettings::start(const std::vector<std::string>& argv, bool in_path) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const auto spawn = in_path ? ::posix_spawnp : ::posix_spawn;
  const int error_number = spawn(&pid, argv[0].c_str(), &actions_, &attributes_, arguments.data(), environ);
  return error_number == 0 ? Result<pid_t>(pid) : fail_errno(error_number, "starting {}", argv[0]);
}

void SpawnSettings::add_flag(short flag) {
  short flags = 0;
  ::posix_spawnattr_getflags(&attributes_, &flags);
  ::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags | flag));
}

}  // namespace plimsoll
