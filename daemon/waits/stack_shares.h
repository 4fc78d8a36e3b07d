// From waits of which all are timed and some have stacks, to the rows of an event.
//
// Waits of a thread that last about as long (within a factor of two) are a class. The time of a class is exact; where some
// of its waits have stacks, which are a random sample of it, the time is divided among these stacks in proportion to the time
// that was sampled of each. A class without any stack counts for the thread, under a stack that says so. So a long wait never
// counts under the stack of a short one, and the time of each thread is exact whatever was sampled.
//
// Pure; one thread. Bounded: beyond `max_entries` stacks are left out, never time.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>

#include "capture/profile/profile_builder.h"
#include "daemon/waits/thread_record.h"

namespace plimsoll::waits {

class StackShares {
 public:
  static constexpr size_t kMaxEntries = 500'000;

  explicit StackShares(size_t max_entries = kMaxEntries) : max_entries_(max_entries) {}

  // A wait of the profile's thread, or a part of one, that counts `time_ns` and belongs to the class of waits that last
  // `lasted_ns`. `stack`: null where none was taken.
  void add(uint32_t thread, uint64_t lasted_ns, uint64_t time_ns, const uint32_t* stack);

  uint64_t total_ns() const { return total_ns_; }
  // How many were added.
  uint64_t waits() const { return waits_; }

  // Adds the rows to the builder as the event of that index, and starts afresh. `stackless` is the stack of what has none. A
  // hit is a nanosecond, or 1024 where they would be too many for a profile.
  void write(uint32_t event, uint32_t stackless, ProfileBuilder& builder);

 private:
  struct Class {
    uint64_t time_ns = 0;
    uint64_t sampled_ns = 0;  // of it, with stacks
    double squares = 0;
  };
  // thread << 8 | bits of the time
  using ClassKey = uint64_t;

  size_t max_entries_;
  uint64_t total_ns_ = 0;
  uint64_t waits_ = 0;
  boost::unordered_flat_map<ClassKey, Class> classes_;
  boost::unordered_flat_map<std::pair<ClassKey, uint32_t>, uint64_t> by_stack_;
};

}  // namespace plimsoll::waits
