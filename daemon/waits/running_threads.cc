#include "daemon/waits/running_threads.h"

#include <algorithm>

namespace plimsoll::waits {

void RunningThreads::begin_slot() {
  pids_.clear();
  running_.clear();
}

void RunningThreads::set(uint32_t cpu, ThreadId thread) {
  if (cpu >= kMaxCpus) {
    return;
  }
  pids_.resize(std::max<size_t>(pids_.size(), cpu + 1));
  uint32_t& pid = pids_[cpu];
  const uint32_t next = is_known(thread) ? thread.pid : 0;
  if (pid == next) {
    return;
  }
  if (const auto left = running_.find(pid); left != running_.end() && --left->second == 0) {
    running_.erase(left);
  }
  if (next != 0) {
    ++running_[next];
  }
  pid = next;
}

void RunningThreads::apply(const ThreadRecord& record) {
  if (record.event == ThreadEvent::kSwitch) {
    set(record.cpu, record.other);
  }
}

uint32_t RunningThreads::of_process(uint32_t pid) const {
  const auto found = running_.find(pid);
  return found == running_.end() ? 1 : found->second;
}

}  // namespace plimsoll::waits
