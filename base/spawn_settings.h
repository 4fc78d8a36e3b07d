// What another program is started with: the C interface (posix_spawn) needs it destroyed by hand.
#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include "base/result.h"

namespace plimsoll {

// One thread. The program has no signal blocked, whatever this one blocks.
class SpawnSettings {
 public:
  SpawnSettings();
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings();

  // The program has the file opened so as its descriptor `number` (`mode`: where it is made), or this one's `fd`. In the order of the
  // calls.
  void open(int number, const std::string& path, int flags, mode_t mode = 0);
  void duplicate(int fd, int number);
  // The program leads a process group of its own.
  void set_own_group();
  // The signal does what it does by default, though this program ignores it.
  void set_default(int signal);

  // `argv[0]` is a path; with `in_path` it is looked for in PATH unless it has a slash. The caller waits for the program.
  Result<pid_t> start(const std::vector<std::string>& argv, bool in_path);

 private:
  void add_flag(short flag);

  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
  sigset_t default_signals_{};
};

}  // namespace plimsoll
