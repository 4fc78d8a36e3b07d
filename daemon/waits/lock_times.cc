#include "daemon/waits/lock_times.h"

#include <algorithm>

namespace plimsoll::waits {

void LockTimes::begin_slot(int64_t time_ns, uint32_t weight) {
  is_in_slot_ = true;
  slot_start_ns_ = time_ns;
  weight_ = std::max(weight, 1U);
  waits_.clear();
}

void LockTimes::account(uint32_t tid, const Wait& wait, int64_t since_ns, int64_t until_ns) const {
  const auto lasted_ns = static_cast<uint64_t>(std::max<int64_t>(until_ns - since_ns, 0));
  consume_({.thread = {wait.pid, tid},
            .time_ns = lasted_ns * weight_,
            .lasted_ns = lasted_ns,
            .has_stack = wait.stack.has_value(),
            .sampled = wait.stack.value_or(SampledStack{})});
}

void LockTimes::apply(const ThreadRecord& record) {
  const bool is_begin = record.event == ThreadEvent::kLockBegin;
  const bool is_lock = is_begin || record.event == ThreadEvent::kLockEnd;
  if (!is_lock || !is_in_slot_ || record.time_ns < slot_start_ns_ || !is_known(record.thread)) {
    return;
  }
  if (waits_.size() >= kMaxThreads && !waits_.contains(record.thread.tid)) {
    return;
  }
  const bool is_first = !waits_.contains(record.thread.tid);
  Wait& wait = waits_[record.thread.tid];
  wait.pid = record.thread.pid;
  if (is_begin) {
    // An interrupt may wait for a lock while its thread does: the inner wait is a part of the outer one.
    if (!wait.since_ns) {
      const bool is_of_this_wait =
          wait.sampled_ns <= record.time_ns && record.time_ns - wait.sampled_ns <= kSampleToBeginNs;
      wait.since_ns = record.time_ns;
      wait.stack = is_of_this_wait ? wait.next_stack : std::nullopt;
    }
    wait.next_stack.reset();
    return;
  }
  if (wait.since_ns) {
    account(record.thread.tid, wait, *wait.since_ns, record.time_ns);
  } else if (is_first) {
    account(record.thread.tid, wait, slot_start_ns_, record.time_ns);
  }
  wait.since_ns.reset();
  wait.stack.reset();
  // Of a second begin within the wait (it spun, then slept): not the next one's.
  if (wait.sampled_ns <= record.time_ns) {
    wait.next_stack.reset();
  }
}

void LockTimes::sampled(uint32_t tid, int64_t time_ns, SampledStack stack) {
  const auto known = waits_.find(tid);
  const bool has_room = known != waits_.end() || waits_.size() < kMaxThreads;
  if (is_in_slot_ && time_ns >= slot_start_ns_ && has_room) {
    Wait& wait = waits_[tid];
    // The kernel tells one moment by two events, in either order: here the record came first.
    const bool has_just_begun = wait.since_ns && !wait.stack && *wait.since_ns <= time_ns &&
                                time_ns - *wait.since_ns <= kSampleToBeginNs;
    if (has_just_begun) {
      wait.stack = stack;
      return;
    }
    wait.next_stack = stack;
    wait.sampled_ns = time_ns;
  }
}

void LockTimes::end_slot(int64_t time_ns) {
  if (!is_in_slot_) {
    return;
  }
  for (const auto& [tid, wait] : waits_) {
    if (wait.since_ns) {
      account(tid, wait, *wait.since_ns, time_ns);
    }
  }
  waits_.clear();
  is_in_slot_ = false;
}

}  // namespace plimsoll::waits
