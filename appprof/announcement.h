// The file by which a process says where its profiles are (docs/appprof.md has its fields).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "appprof/labels.h"

namespace plimsoll::appprof {

struct Announcement {
  pid_t pid = 0;
  uint64_t start_ticks =
      0;  // since boot, as /proc/PID/stat has it: tells a process from a later one of the same number
  std::string address;
  bool requires_token = false;
  std::vector<std::string> kinds;
  std::vector<std::string> problems;
  Labels labels;
};

std::string to_json(const Announcement& announcement);

// Writes FOLDER/PID-START_TICKS.json, whole or not at all. Returns why not; empty: done. A file that another user left, of an earlier
// process of this number, is not in the way.
std::string announce(const std::string& folder, const Announcement& announcement);
std::string announcement_path(const std::string& folder, pid_t pid, uint64_t start_ticks);

// PLIMSOLL_APPPROF_DIR, else /run/plimsoll/appprof.
std::string default_announcement_folder();

// Field 22 of this process's stat; 0 where it cannot be read.
uint64_t own_start_ticks();

}  // namespace plimsoll::appprof
