// Two pieces of work at once.
#pragma once

#include <array>
#include <cstddef>
#include <thread>

namespace plimsoll {

// Runs the one in this thread and the other in a thread of its own, and returns once both have ended. Neither may throw. Costs some 20 us:
// for work of milliseconds.
template <typename First, typename Second>
void run_both(const First& first, const Second& second) {
  const std::jthread other(second);
  first();
}

// What `of` gives, or an error, for 0 and for 1, worked out at once.
template <typename Of>
auto both_of(const Of& of) {
  std::array<decltype(of(size_t{0})), 2> results;
  run_both([&] { results[0] = of(size_t{0}); }, [&] { results[1] = of(size_t{1}); });
  return results;
}

}  // namespace plimsoll
