// Memory of a table that is there from its first use until the end.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>

namespace plimsoll::appprof {

// Maps zeroed memory for `count` things, unless `place` has some; false: there is none. Any thread, several at once. Takes addresses, and
// memory as it is touched.
template <typename Thing>
bool map_once(std::atomic<Thing*>& place, size_t count) noexcept {
  if (place.load(std::memory_order_acquire) != nullptr) {
    return true;
  }
  void* memory = ::mmap(nullptr, count * sizeof(Thing), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return false;
  }
  Thing* expected = nullptr;
  if (!place.compare_exchange_strong(expected, static_cast<Thing*>(memory), std::memory_order_acq_rel)) {
    ::munmap(memory, count * sizeof(Thing));
  }
  return true;
}

}  // namespace plimsoll::appprof
