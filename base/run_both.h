// Several pieces of work at once.
#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

#include "base/stop_scope.h"

namespace plimsoll {

// Runs work(0) to work(count - 1), the first in this thread and each of the others in one of its own, and returns once all have ended.
// What one of them throws is thrown here, so that a lack of memory ends the work and not the program. Where a thread cannot be started
// this one does its work. They work under the StopScope of this one. A thread costs some 20 us: for work of milliseconds.
template <typename Work>
void run_all(size_t count, const Work& work) {
  std::vector<std::exception_ptr> failures(count);
  const StopCheck* const stop_check = current_stop_check();
  const auto run = [&](size_t i) noexcept {
    const StopScope scope(stop_check);
    try {
      work(i);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    const auto start = [&](size_t i) {
      try {
        others.emplace_back(run, i);
        return true;
      } catch (const std::exception&) {
        return false;  // no thread, or no memory for one
      }
    };
    size_t next = 1;
    while (next < count && start(next)) {
      ++next;
    }
    for (size_t i = 0; i < count; i = i == 0 ? next : i + 1) {
      run(i);
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
}

// As run_all(), with two pieces.
template <typename First, typename Second>
void run_both(const First& first, const Second& second) {
  run_all(2, [&](size_t i) {
    if (i == 0) {
      first();
    } else {
      second();
    }
  });
}

// What `of` gives, or an error, for 0 and for 1, worked out at once.
template <typename Of>
auto both_of(const Of& of) {
  std::array<decltype(of(size_t{0})), 2> results;
  run_both([&] { results[0] = of(size_t{0}); }, [&] { results[1] = of(size_t{1}); });
  return results;
}

}  // namespace plimsoll
