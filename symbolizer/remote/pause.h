// Pauses of a symbolizer worker, which end when it is to stop.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace plimsoll::symbolizer {

// False: it is to stop.
inline bool pause_for(std::chrono::milliseconds pause, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, pause, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace plimsoll::symbolizer
