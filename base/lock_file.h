// A file that one process at a time may hold, and that says which one does.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace plimsoll {

// Takes the lock at `path`, creating the file where it is missing, and writes this process's ID into it. The lock lasts
// until the descriptor is closed or the process ends, however it ends. kConflict where another process holds it: the
// message is "WHAT process PID", and `hint` says what to do about it.
Result<UniqueFd> take_lock_file(const std::string& path, const std::string& what, std::string hint);

}  // namespace plimsoll
