// The control groups to count: those that an operator's patterns choose of the ones that there are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/group_counts/group_patterns.h"

namespace plimsoll {

struct ChosenGroup {
  std::string name;  // below the hierarchy's folder: "/system.slice/web.service"
  std::string path;  // the same, printable: as profiles and patterns have it
  uint64_t id = 0;   // identity::group_id()
  uint32_t pid = 0;  // of the process that the group is named by
  size_t pattern = 0;
};

struct GroupChoice {
  std::vector<ChosenGroup> groups;  // by pattern, then by path
  std::vector<std::string> unread;  // paths of folders that may not be read: their subfolders are unknown
  bool is_cut = false;              // there were more groups than may be looked at
};

struct GroupChoiceLimits {
  size_t max_groups = 10'000;  // looked at
  size_t max_depth = 32;
};

// Looks through the hierarchy below `root`, about 10 us a group, 20 us where a pattern matches it or one above.
//
// Chosen is a group whose path a pattern matches and that has a process which no chosen group below it has: a folder that only
// holds other chosen groups would have nothing left to count. The root is the whole machine, and never chosen.
GroupChoice choose_groups(const std::string& root, const GroupPatterns& patterns,
                          const GroupChoiceLimits& limits = {});

}  // namespace plimsoll
