// What a write-behind goes by, and what a pass of it has done.
#pragma once

#include <cstdint>
#include <functional>

#include "base/time.h"

namespace plimsoll::store {

struct WriteBehindOptions {
  // For how long objects stay of what retention has dropped from the directory.
  int64_t keep_dropped_ns = int64_t{7} * 24 * kNsPerHour;
  // From one copy of a database to the next: live.db changes all the time.
  int64_t database_pause_ns = 5 * kNsPerMinute;
  // A pack that is smaller is replaced by a larger one when profiles come.
  uint64_t pack_bytes = uint64_t{16} << 20;
  // Of a pass, about: it ends once it has put so many.
  uint64_t pass_bytes = uint64_t{256} << 20;
  std::function<int64_t()> now_ns = wall_now_ns;
};

struct WriteBehindReport {
  uint64_t files = 0;  // that were put
  uint64_t bytes = 0;
  bool is_complete = true;  // false: another pass has to follow
};

}  // namespace plimsoll::store
