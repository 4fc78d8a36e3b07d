// How many bytes all connections of a listener may hold together. Any thread may call; nothing waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace plimsoll::http {

// Bytes of bodies, or of answers.
class ByteBudget {
 public:
  explicit ByteBudget(size_t max_bytes) : max_bytes_(max_bytes) {}

  // False: there is no room.
  bool take(size_t bytes) {
    size_t used = used_bytes_.load();
    do {
      if (used > max_bytes_ || bytes > max_bytes_ - used) {
        return false;
      }
    } while (!used_bytes_.compare_exchange_weak(used, used + bytes));
    return true;
  }
  // One that is larger than all of it has it alone.
  bool take_or_all(size_t bytes) {
    size_t nothing = 0;
    return take(bytes) || used_bytes_.compare_exchange_strong(nothing, bytes);
  }
  void give_back(size_t bytes) { used_bytes_ -= bytes; }
  bool has_room(uint64_t bytes) const {
    const size_t used = used_bytes_.load();
    return used <= max_bytes_ && bytes <= max_bytes_ - used;
  }
  size_t used_bytes() const { return used_bytes_.load(); }

 private:
  const size_t max_bytes_;
  std::atomic<size_t> used_bytes_ = 0;
};

}  // namespace plimsoll::http
