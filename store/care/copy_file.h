// Copies of immutable files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace plimsoll::store {

// Writes all of an open file to a new one, on disk when it returns; its folder is the caller's to sync. `name` is of the open one, for
// errors.
Status copy_file(const UniqueFd& from, const std::string& name, const std::string& to,
                 const std::function<void(uint64_t bytes)>& copied);

}  // namespace plimsoll::store
