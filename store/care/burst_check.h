// Recordings of bursts in a check.
#pragma once

#include <string_view>

#include "store/care/check_log.h"

namespace plimsoll::store {

// The folder of recordings, which is there. `id`: of the data directory. Takes the memory of one recording at a time.
void check_bursts(CheckLog& log, std::string_view id);

}  // namespace plimsoll::store
