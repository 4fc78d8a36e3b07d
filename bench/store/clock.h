// Clocks of measurements that several threads or processes take part in.
#pragma once

#include <chrono>

namespace plimsoll::bench {

inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace plimsoll::bench
