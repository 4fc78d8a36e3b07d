#include "daemon/waits/wait_times.h"

#include <algorithm>
#include <utility>

namespace plimsoll::waits {

WaitTimes::WaitTimes(std::function<void(const WaitPart&)> consume, size_t max_threads)
    : consume_(std::move(consume)), max_threads_(max_threads) {}

void WaitTimes::begin_slot(int64_t time_ns, uint32_t weight) {
  is_in_slot_ = true;
  ++slot_;
  slot_start_ns_ = time_ns;
  weight_ = std::max(weight, 1U);
}

WaitTimes::Thread* WaitTimes::find(ThreadId id) {
  if (!is_known(id)) {
    return nullptr;
  }
  const auto known = threads_.find(id.tid);
  if (known != threads_.end()) {
    known->second.pid = id.pid != 0 ? id.pid : known->second.pid;
    return &known->second;
  }
  if (threads_.size() >= max_threads_) {
    ++left_out_;
    return nullptr;
  }
  return &threads_.emplace(id.tid, Thread{.pid = id.pid}).first->second;
}

void WaitTimes::was_off(Thread& thread) const {
  thread.slot = slot_;
  thread.is_off = true;
  thread.running_on.reset();
  thread.off_since_ns = slot_start_ns_;
  thread.runnable_since_ns = INT64_MAX;
  // Between slots it may have run, and waited again.
  thread.stack.reset();
}

// A thread that computes on a CPU which no other one wants may do so for a whole slot.
bool WaitTimes::may_run_unseen(const Thread& thread) const {
  const std::optional<uint32_t>& cpu = thread.running_on;
  return cpu && (*cpu >= switched_in_.size() || switched_in_[*cpu] != slot_);
}

void WaitTimes::account(uint32_t tid, const Thread& thread, int64_t until_ns) const {
  // Records of several CPUs may be out of order by less than a microsecond.
  const int64_t lasted_ns = std::max<int64_t>(until_ns - thread.off_since_ns, 0);
  const int64_t runnable_ns = thread.runnable_since_ns == INT64_MAX
                                  ? 0
                                  : std::clamp<int64_t>(until_ns - thread.runnable_since_ns, 0, lasted_ns);
  consume_({.thread = {thread.pid, tid},
            .time_ns = static_cast<uint64_t>(lasted_ns) * weight_,
            .runnable_ns = static_cast<uint64_t>(runnable_ns) * weight_,
            .lasted_ns = static_cast<uint64_t>(lasted_ns),
            .has_stack = thread.stack.has_value(),
            .sampled = thread.stack.value_or(SampledStack{})});
}

void WaitTimes::leave(const ThreadRecord& record) {
  Thread* const thread = find(record.thread);
  if (thread == nullptr || thread->has_exited) {
    return;
  }
  // One that was off already has entered a CPU in a record that was lost: when its wait ended is unknown.
  thread->slot = slot_;
  thread->is_off = true;
  thread->running_on.reset();
  thread->off_since_ns = record.time_ns;
  thread->runnable_since_ns = record.is_preempted ? record.time_ns : INT64_MAX;
  const bool is_of_this_switch =
      thread->sampled_ns <= record.time_ns && record.time_ns - thread->sampled_ns <= kSampleToSwitchNs;
  thread->stack = is_of_this_switch ? thread->next_stack : std::nullopt;
  thread->next_stack.reset();
}

void WaitTimes::enter(const ThreadRecord& record) {
  const ThreadId id = record.other;
  Thread* const thread = find(id);
  if (thread == nullptr || thread->has_exited) {
    return;
  }
  if (thread->slot != slot_) {
    was_off(*thread);
  }
  if (thread->is_off) {
    account(id.tid, *thread, record.time_ns);
  }
  thread->is_off = false;
  thread->running_on = record.cpu;
  thread->stack.reset();
}

// Of a thread that is unknown the process is unknown, too: the record is of who wakes it.
void WaitTimes::wake(uint32_t tid, int64_t time_ns) {
  const auto known = threads_.find(tid);
  if (known == threads_.end() || known->second.has_exited) {
    return;
  }
  Thread& thread = known->second;
  if (thread.slot != slot_) {
    was_off(thread);
  }
  if (thread.is_off && thread.runnable_since_ns == INT64_MAX) {
    thread.runnable_since_ns = time_ns;
  }
}

void WaitTimes::apply(const ThreadRecord& record) {
  if (!is_open(record.time_ns)) {
    return;
  }
  if (record.event == ThreadEvent::kSwitch) {
    switched_in_.resize(std::max<size_t>(switched_in_.size(), record.cpu + size_t{1}));
    switched_in_[record.cpu] = slot_;
    leave(record);
    enter(record);
  } else if (record.event == ThreadEvent::kWake) {
    wake(record.other.tid, record.time_ns);
  }
}

void WaitTimes::sampled(ThreadId id, int64_t time_ns, SampledStack stack) {
  Thread* const thread = is_open(time_ns) ? find(id) : nullptr;
  if (thread == nullptr) {
    return;
  }
  // The record of its switch may be lost, or younger than the slot: it must not count as off until now then.
  if (thread->slot != slot_) {
    thread->slot = slot_;
    thread->is_off = false;
    thread->stack.reset();
  }
  thread->next_stack = stack;
  thread->sampled_ns = time_ns;
}

void WaitTimes::seen_running(uint32_t cpu, ThreadId id, int64_t time_ns) {
  Thread* const thread = is_open(time_ns) ? find(id) : nullptr;
  if (thread != nullptr && thread->slot != slot_) {
    thread->slot = slot_;
    thread->is_off = false;
    thread->running_on = cpu;
    thread->stack.reset();
  }
}

void WaitTimes::started(ThreadId id, int64_t time_ns) {
  Thread* const thread = find(id);
  if (thread == nullptr) {
    return;
  }
  *thread = {.pid = id.pid};
  if (is_open(time_ns)) {
    thread->slot = slot_;
    thread->is_off = true;
    thread->off_since_ns = time_ns;
    thread->runnable_since_ns = time_ns;
  }
}

void WaitTimes::exited(uint32_t tid, int64_t time_ns) {
  // It may still leave a CPU and come back before it is gone: kept for a while, so that it does not start again.
  if (const auto known = threads_.find(tid); known != threads_.end()) {
    known->second.has_exited = true;
    exits_.push_back({time_ns, tid});
  }
  while (!exits_.empty() && exits_.front().time_ns + kExitToGoneNs < time_ns) {
    const auto gone = threads_.find(exits_.front().tid);
    // Its ID may be another thread's by now.
    if (gone != threads_.end() && gone->second.has_exited) {
      threads_.erase(gone);
    }
    exits_.pop_front();
  }
}

void WaitTimes::forget_threads() {
  threads_.clear();
  exits_.clear();
}

void WaitTimes::end_slot(int64_t time_ns) {
  if (!is_in_slot_) {
    return;
  }
  for (auto& [tid, thread] : threads_) {
    if (thread.has_exited) {
      continue;
    }
    if (thread.slot != slot_ && !may_run_unseen(thread)) {
      was_off(thread);
    }
    if (thread.slot == slot_ && thread.is_off) {
      account(tid, thread, time_ns);
    }
    thread.next_stack.reset();
  }
  is_in_slot_ = false;
}

}  // namespace plimsoll::waits
