// How long threads wait for locks of the kernel, from lock:contention_begin and lock:contention_end: within the stretches of
// time in which these are recorded, as WaitTimes has it.
//
// A wait that began before the stretch counts from the stretch's beginning on; one that goes on counts until its end. One that lasts
// throughout a stretch is not seen there.
//
// Pure; one thread. Takes about 100 bytes for each thread that waits within a stretch, of kMaxThreads; others are left out.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <optional>

#include "daemon/waits/thread_record.h"

namespace plimsoll::waits {

class LockTimes {
 public:
  explicit LockTimes(std::function<void(const WaitPart&)> consume) : consume_(std::move(consume)) {}

  void begin_slot(int64_t time_ns, uint32_t weight);
  void end_slot(int64_t time_ns);
  // kLockBegin and kLockEnd; others are passed over.
  void apply(const ThreadRecord& record);
  // The stack with which the thread begins to wait.
  void sampled(uint32_t tid, int64_t time_ns, SampledStack stack);

 private:
  static constexpr size_t kMaxThreads = 100'000;
  static constexpr int64_t kSampleToBeginNs = 1'000'000;  // as WaitTimes::kSampleToSwitchNs

  struct Wait {
    uint32_t pid = 0;
    std::optional<int64_t> since_ns = {};
    std::optional<SampledStack> stack = {};
    std::optional<SampledStack> next_stack = {};
    int64_t sampled_ns = 0;
  };
  void account(uint32_t tid, const Wait& wait, int64_t since_ns, int64_t until_ns) const;

  std::function<void(const WaitPart&)> consume_;
  boost::unordered_flat_map<uint32_t, Wait> waits_;
  bool is_in_slot_ = false;
  int64_t slot_start_ns_ = 0;
  uint32_t weight_ = 1;
};

}  // namespace plimsoll::waits
