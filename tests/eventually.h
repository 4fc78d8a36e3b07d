// Waiting for what another thread or process does.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace plimsoll::testing {

// Asks again and again until it holds. False after minutes: the caller fails instead of hanging.
inline bool eventually(const std::function<bool()>& holds,
                       std::chrono::microseconds between = std::chrono::milliseconds(5),
                       std::chrono::minutes guard = std::chrono::minutes(2)) {
  const auto deadline = std::chrono::steady_clock::now() + guard;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(between);
  }
  return true;
}

}  // namespace plimsoll::testing
