// Recordings of bursts in a backup.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace plimsoll::store {

// Copies the recordings of one data directory into another that has none, as of one moment, while more come and old ones are dropped. What is
// dropped meanwhile is not in the copy. `copied` is called with bytes as they are copied. The caller syncs the folders.
Status copy_bursts(const std::string& from, const std::string& to,
                   const std::function<void(uint64_t bytes)>& copied);

}  // namespace plimsoll::store
