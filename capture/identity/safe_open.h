// Opens files that other users chose, with this program's privileges.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace plimsoll::identity {

// For reading, and only a regular file; kDenied for anything else. Devices and pipes are not opened at all, since some
// act on it. Links are followed. Needs /proc.
Result<UniqueFd> open_regular_file(const std::string& path);

// Of what was opened with O_PATH, which opens nothing yet. `name` is for errors.
Result<UniqueFd> reopen_regular_file(const UniqueFd& place, const std::string& name);

}  // namespace plimsoll::identity
