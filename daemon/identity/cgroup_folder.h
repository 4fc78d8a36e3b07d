// A control group as a folder of a mounted hierarchy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::identity {

// The names of the groups right below, sorted; none where the group has vanished or is out of reach. Links are no groups.
std::vector<std::string> groups_below(const std::string& folder);

// False where the folder is out of reach, and what it holds with it; a group that has vanished is not.
bool may_read_group(const std::string& folder);

// The lowest PID of the processes in the group itself; it passes for the oldest. 0: the group has none that this PID namespace
// knows.
uint32_t lowest_pid(const std::string& folder);

// The number of the group's folder (kernfs), which no later group of that name has; 0: it has vanished.
uint64_t group_id(const std::string& folder);

}  // namespace plimsoll::identity
