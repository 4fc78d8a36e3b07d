#include "daemon/waits/wait_accounts.h"

#include <algorithm>
#include <utility>

#include "base/sort_stably.h"

namespace plimsoll::waits {

WaitAccounts::WaitAccounts()
    : waits_([this](const WaitPart& part) { add_wait(part); }),
      lock_waits_([this](const WaitPart& part) { add_lock_wait(part); }) {}

void WaitAccounts::begin_window(FindThread find_thread) {
  find_thread_ = std::move(find_thread);
  thread_numbers_.clear();
  off_cpu_ = runnable_ = locks_ = latency_ = StackShares();
  latency_samples_ = recorded_ns_ = lost_ = 0;
  slots_ = 0;
  largest_weight_ = 1;
  left_out_before_ = waits_.left_out();
}

void WaitAccounts::add(std::span<const ThreadRecord> records) {
  records_.erase(records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(std::exchange(next_, 0)));
  records_.insert(records_.end(), records.begin(), records.end());
  // The newest of one CPU may have been read before older ones of another.
  sort_stably(records_, [](const ThreadRecord& record) { return record.time_ns; });
}

uint32_t WaitAccounts::number_of(const WaitPart& part) {
  if (part.has_stack) {
    return thread_numbers_[part.thread.tid] = part.sampled.thread;
  }
  const auto known = thread_numbers_.find(part.thread.tid);
  if (known != thread_numbers_.end()) {
    return known->second;
  }
  return thread_numbers_[part.thread.tid] = find_thread_(part.thread, now_ns_);
}

void WaitAccounts::add_wait(const WaitPart& part) {
  if (part.time_ns == 0) {
    return;
  }
  const uint32_t thread = number_of(part);
  const uint32_t* const stack = part.has_stack ? &part.sampled.stack : nullptr;
  off_cpu_.add(thread, part.lasted_ns, part.time_ns, stack);
  runnable_.add(thread, part.lasted_ns, part.runnable_ns, stack);
}

void WaitAccounts::add_lock_wait(const WaitPart& part) {
  if (part.time_ns > 0) {
    locks_.add(number_of(part), part.lasted_ns, part.time_ns, part.has_stack ? &part.sampled.stack : nullptr);
  }
}

void WaitAccounts::open_slot(int64_t time_ns, uint32_t weight) {
  weight_ = weight;
  slot_start_ns_ = time_ns;
  largest_weight_ = std::max(largest_weight_, weight);
  ++slots_;
  running_.begin_slot();
  waits_.begin_slot(time_ns, weight);
  lock_waits_.begin_slot(time_ns, weight);
}

void WaitAccounts::close_slot(int64_t time_ns) {
  recorded_ns_ += static_cast<uint64_t>(std::max<int64_t>(time_ns - slot_start_ns_, 0)) * weight_;
  weight_ = 0;
  waits_.end_slot(time_ns);
  lock_waits_.end_slot(time_ns);
}

void WaitAccounts::pass_edges(int64_t until_ns) {
  while (!edges_.empty() && edges_.front().time_ns <= until_ns) {
    const Edge edge = edges_.front();
    edges_.pop_front();
    now_ns_ = edge.time_ns;
    if (edge.weight > 0) {
      open_slot(edge.time_ns, edge.weight);
    } else {
      close_slot(edge.time_ns);
    }
  }
}

// What threads did meanwhile is unknown: as if a slot ended and another one began.
void WaitAccounts::cut_slot(bool forgets_threads) {
  const uint32_t weight = weight_;
  if (weight > 0) {
    close_slot(now_ns_);
  }
  if (forgets_threads) {
    waits_.forget_threads();
    thread_numbers_.clear();
  }
  if (weight > 0) {
    open_slot(now_ns_, weight);
  }
}

void WaitAccounts::forget_threads() {
  cut_slot(true);
}

void WaitAccounts::apply(const ThreadRecord& record) {
  now_ns_ = record.time_ns;
  if (record.event == ThreadEvent::kLost) {
    lost_ += record.lost;
    cut_slot(false);
    return;
  }
  waits_.apply(record);
  lock_waits_.apply(record);
  running_.apply(record);
}

void WaitAccounts::advance(int64_t before_ns) {
  for (; next_ < records_.size() && records_[next_].time_ns < before_ns; ++next_) {
    pass_edges(records_[next_].time_ns);
    apply(records_[next_]);
  }
  pass_edges(before_ns);
}

void WaitAccounts::switch_sampled(ThreadId thread, int64_t time_ns, SampledStack stack) {
  waits_.sampled(thread, time_ns, stack);
}

void WaitAccounts::lock_sampled(ThreadId thread, int64_t time_ns, SampledStack stack) {
  lock_waits_.sampled(thread.tid, time_ns, stack);
}

void WaitAccounts::running_sampled(uint32_t cpu, ThreadId thread, int64_t time_ns, SampledStack stack,
                                   bool counts_latency) {
  if (weight_ == 0 || time_ns < slot_start_ns_) {
    return;
  }
  now_ns_ = time_ns;
  waits_.seen_running(cpu, thread, time_ns);
  running_.seen_running(cpu, thread);
  if (counts_latency) {
    latency_.add(stack.thread, 0, kWholeSample * weight_ / running_.of_process(thread.pid), &stack.stack);
    latency_samples_ += weight_;
  }
}

void WaitAccounts::thread_exited(uint32_t tid, int64_t time_ns) {
  waits_.exited(tid, time_ns);
  thread_numbers_.erase(tid);
}

}  // namespace plimsoll::waits
