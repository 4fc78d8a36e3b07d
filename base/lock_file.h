// A file that one process at a time may hold, and that says which one does.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace plimsoll {

// Takes the lock at `path`, creating the file where it is missing, and writes this process's ID and, in a second line, its machine's name
// into it. The lock lasts until the descriptor is closed or the process ends, however it ends. kConflict where another process holds it: the
// message is "WHAT process PID", with " on HOST" where that is another machine, and `hint` says what to do about it.
Result<UniqueFd> take_lock_file(const std::string& path, const std::string& what, const std::string& hint);

// Fails as take_lock_file() would where another process holds the lock; no file is held by none. Writes nothing, and holds the lock for
// a moment only, shared with others that look; who takes it meanwhile tries again.
Status expect_unlocked_file(const std::string& path, const std::string& what, const std::string& hint);

}  // namespace plimsoll
