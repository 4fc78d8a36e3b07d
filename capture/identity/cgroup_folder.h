// A control group as a folder of a mounted hierarchy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/identity/proc_fs.h"

namespace plimsoll::identity {

// The names of the groups right below, sorted; none where the group has vanished or is out of reach. Links are no groups.
std::vector<std::string> groups_below(const std::string& folder);

// False where the folder is out of reach, and what it holds with it; a group that has vanished is not.
bool may_read_group(const std::string& folder);

// The processes in the group itself, by PID, each once; at most some thousands. 0: those that this PID namespace does not know.
std::vector<uint32_t> processes_in_group(const std::string& folder);

// The one that started first, whose name the group has; of the 64 lowest PIDs, each of which is asked when it started. 0: it is
// outside this PID namespace. Nothing: the group has none.
std::optional<uint32_t> oldest_process(const std::string& folder, const ProcFs& proc_fs);

// The number of the group's folder (kernfs), which no later group of that name has; 0: it has vanished.
uint64_t group_id(const std::string& folder);

}  // namespace plimsoll::identity
