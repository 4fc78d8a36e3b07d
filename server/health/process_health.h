// What the kernel says of this process.
#pragma once

#include <cstdint>

namespace plimsoll::server {

struct ProcessHealth {
  double cpu_s = 0;
  double start_s = 0;  // since 1970
  int64_t resident_bytes = 0;
  int64_t virtual_bytes = 0;
  int64_t open_fds = 0;
  int64_t max_fds = 0;
};

// Reads /proc/self; what cannot be read there stays 0. Some system calls, and one for each open file.
ProcessHealth process_health();

}  // namespace plimsoll::server
