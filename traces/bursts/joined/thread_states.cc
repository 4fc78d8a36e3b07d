#include "traces/bursts/joined/thread_states.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/sort_stably.h"

namespace plimsoll::traces {
namespace {

// Of sched_switch: 0 where the thread yields, this bit where it is preempted (TASK_REPORT_MAX in the kernel's sched.h).
constexpr uint64_t kPreempted = 0x100;
// EXIT_DEAD and EXIT_ZOMBIE.
constexpr uint64_t kEnded = 0x30;
constexpr uint32_t kIdleThread = 0;

struct ThreadNow {
  std::optional<ThreadState> state;  // nothing: not seen yet, or ended
  int64_t since_ns = 0;
  uint64_t request = 0;
  uint16_t cpu = 0;
  bool makes_marks = false;
  bool was_seen = false;
};

class Joining {
 public:
  explicit Joining(const Burst& burst) : burst_(burst) {}

  JoinedBurst run() {
    decode_marks();
    size_t next_mark = 0;
    const auto marks_until = [&](int64_t time_ns) {
      while (next_mark < joined_.marks.size() && joined_.marks[next_mark].time_ns <= time_ns) {
        take_mark(joined_.marks[next_mark++]);
      }
    };
    for (const BurstEvent& event : burst_.events) {
      // A mark's time is that of its head, which is one of these events: what came before it happened before.
      marks_until(event.time_ns - 1);
      // Outside of these times some CPUs record and others do not: half of what happens is missing.
      if (burst_.on_ns <= event.time_ns && event.time_ns <= burst_.off_ns) {
        take(event);
      }
    }
    marks_until(INT64_MAX);
    std::vector<uint32_t> seen;
    seen.reserve(threads_.size());
    for (const auto& [thread, now] : threads_) {
      seen.push_back(thread);
    }
    std::ranges::sort(seen);
    for (const uint32_t thread : seen) {
      close(thread, burst_.off_ns, kNoThread);
    }
    if (joined_.missing_switches > 0) {
      sort_stably(joined_.intervals, [](const StateInterval& one) { return one.end_ns; });
    }
    return std::move(joined_);
  }

 private:
  void decode_marks() {
    MarkDecoder decoder;
    for (const BurstEvent& event : burst_.events) {
      if (event.kind == BurstEventKind::kMarkCall) {
        if (const auto mark = decoder.take({event.time_ns, event.thread, event.first, event.second})) {
          joined_.marks.push_back(*mark);
        }
      }
    }
    decoder.finish();
    joined_.mark_counts = decoder.counts();
    sort_stably(joined_.marks, [](const Mark& mark) { return mark.time_ns; });
    std::unordered_set<uint64_t> started;
    for (const Mark& mark : joined_.marks) {
      ThreadNow& thread = threads_[mark.tid];
      if (mark.kind > MarkKind::kSwitch) {
        continue;
      }
      if (mark.kind == MarkKind::kStart) {
        started.insert(mark.value);
      }
      // A stop may come on another thread than the start did: this one need not have worked for it then.
      if (!thread.makes_marks && mark.kind == MarkKind::kStop && !started.contains(mark.value)) {
        set_request(mark.tid, mark.value);
      }
      thread.makes_marks = true;
    }
  }

  void set_request(uint32_t thread, uint64_t request) {
    threads_[thread].request = request;
    if (request != 0) {
      workers_[request].push_back(thread);
    }
  }

  // For all threads that work for it, not only that which says so.
  void end_request(uint64_t request, int64_t time_ns) {
    const auto found = workers_.find(request);
    if (found == workers_.end()) {
      return;
    }
    for (const uint32_t thread : found->second) {
      if (threads_[thread].request == request) {
        enter(thread, threads_[thread].state, time_ns);
        threads_[thread].request = 0;
      }
    }
    workers_.erase(found);
  }

  // Ends what the thread did, if that is known and took any time.
  void close(uint32_t thread, int64_t time_ns, uint32_t waker) {
    const ThreadNow& now = threads_[thread];
    const int64_t begin_ns = std::max(now.since_ns, burst_.on_ns);
    const int64_t end_ns = std::min(time_ns, burst_.off_ns);
    if (now.state && thread != kIdleThread && begin_ns < end_ns) {
      const bool is_blocked = *now.state == ThreadState::kBlocked;
      joined_.intervals.push_back({.begin_ns = begin_ns,
                                   .end_ns = end_ns,
                                   .request = is_blocked && !now.makes_marks ? 0 : now.request,
                                   .thread = thread,
                                   .waker = is_blocked ? waker : kNoThread,
                                   .cpu = *now.state == ThreadState::kRunning ? now.cpu : uint16_t{0},
                                   .state = *now.state});
    }
  }

  void enter(uint32_t thread, std::optional<ThreadState> state, int64_t time_ns, uint32_t waker = kNoThread) {
    close(thread, time_ns, waker);
    ThreadNow& now = threads_[thread];
    now.state = state;
    now.since_ns = time_ns;
  }

  // The first that is seen of a thread tells what it did since the burst began.
  void see(uint32_t thread, ThreadState state, uint16_t cpu) {
    ThreadNow& now = threads_[thread];
    if (!now.was_seen) {
      now.was_seen = true;
      now.state = state;
      now.since_ns = burst_.on_ns;
      now.cpu = cpu;
    }
  }

  // Where the switch to it from the idle thread is missing: an idle CPU takes a thread as soon as it is woken, within some us.
  bool ran_from_idle(uint32_t thread, uint16_t cpu) {
    const auto idle = idle_since_ns_.find(cpu);
    ThreadNow& now = threads_[thread];
    if (idle == idle_since_ns_.end() || now.state != ThreadState::kRunnable) {
      return false;
    }
    enter(thread, ThreadState::kRunning, std::max(now.since_ns, idle->second));
    now.cpu = cpu;
    idle_since_ns_.erase(idle);
    return true;
  }

  // By an event of its own. Kernels leave out switches: perf on Linux 6.18 about half of those from the idle thread.
  void see_running(uint32_t thread, uint16_t cpu, int64_t time_ns) {
    see(thread, ThreadState::kRunning, cpu);
    ThreadNow& now = threads_[thread];
    if (thread == kIdleThread || now.state == ThreadState::kRunning) {
      return;
    }
    ++joined_.missing_switches;
    if (!ran_from_idle(thread, cpu)) {
      enter(thread, ThreadState::kRunning, time_ns);
      now.cpu = cpu;
    }
  }

  void take_mark(const Mark& mark) {
    // Of a mark outside, the switch that followed may be one that is left out: it tells of requests alone.
    if (burst_.on_ns <= mark.time_ns && mark.time_ns <= burst_.off_ns) {
      see(mark.tid, ThreadState::kRunning, 0);
    }
    if (mark.kind > MarkKind::kSwitch) {
      return;
    }
    enter(mark.tid, threads_[mark.tid].state, mark.time_ns);
    if (mark.kind == MarkKind::kStop) {
      // A thread that works for another request by now goes on with it.
      end_request(mark.value, mark.time_ns);
    } else {
      set_request(mark.tid, mark.value);
    }
  }

  void take_switch(const BurstEvent& event) {
    ThreadNow& from = threads_[event.thread];
    see(event.thread, ThreadState::kRunning, event.cpu);
    if (event.thread != kIdleThread && from.state != ThreadState::kRunning) {
      const bool is_known = ran_from_idle(event.thread, event.cpu);
      ++(is_known ? joined_.missing_switches : joined_.contradictions);
    }
    if (event.other == kIdleThread) {
      idle_since_ns_[event.cpu] = event.time_ns;
    } else {
      idle_since_ns_.erase(event.cpu);
    }
    const bool is_runnable = event.first == 0 || (event.first & kPreempted) != 0;
    if ((event.first & kEnded) != 0 && !is_runnable) {
      enter(event.thread, std::nullopt, event.time_ns);
    } else {
      enter(event.thread, is_runnable ? ThreadState::kRunnable : ThreadState::kBlocked, event.time_ns);
    }
    if (!from.makes_marks && !is_runnable) {
      from.request = 0;
    }
    // It would have been woken within the burst, had it been blocked.
    see(event.other, ThreadState::kRunnable, 0);
    enter(event.other, ThreadState::kRunning, event.time_ns);
    threads_[event.other].cpu = event.cpu;
  }

  void take_wake(const BurstEvent& event) {
    const bool is_new = event.kind == BurstEventKind::kNewThread;
    see_running(event.thread, event.cpu, event.time_ns);
    ThreadNow& woken = threads_[event.other];
    if (is_new) {
      woken.was_seen = true;
      woken.state.reset();
    }
    see(event.other, ThreadState::kBlocked, 0);
    // A thread that was about to block and has not yet: it goes on.
    if (woken.state == ThreadState::kRunning || woken.state == ThreadState::kRunnable) {
      return;
    }
    // An interrupt wakes on whatever thread it came upon.
    const bool is_by_thread = event.first == 0;
    enter(event.other, ThreadState::kRunnable, event.time_ns, is_by_thread ? event.thread : kNoThread);
    if (!woken.makes_marks) {
      set_request(event.other, is_by_thread ? threads_[event.thread].request : 0);
    }
  }

  void take_running(const BurstEvent& event) {
    see_running(event.thread, event.cpu, event.time_ns);
    threads_[event.thread].cpu = event.cpu;
  }

  void take(const BurstEvent& event) {
    switch (event.kind) {
      case BurstEventKind::kSwitch:
        take_switch(event);
        return;
      case BurstEventKind::kWake:
      case BurstEventKind::kNewThread:
        take_wake(event);
        return;
      case BurstEventKind::kMarkCall:
      case BurstEventKind::kSyscallEnter:
      case BurstEventKind::kSyscallExit:
      case BurstEventKind::kPageFault:
        take_running(event);
        return;
      case BurstEventKind::kSample:
        take_running(event);
        joined_.samples.push_back({.time_ns = event.time_ns,
                                   .request = threads_[event.thread].request,
                                   .thread = event.thread,
                                   .stack = static_cast<uint32_t>(event.first)});
        return;
      case BurstEventKind::kDiskIssue:
      case BurstEventKind::kDiskDone:
      case BurstEventKind::kPacketSent:
      case BurstEventKind::kPacketReceived:
        // Most come in interrupts, upon whichever thread, idle ones too.
      case BurstEventKind::kRpcIn:
      case BurstEventKind::kRpcOut:
      case BurstEventKind::kRpcEnd:
      case BurstEventKind::kAnnotation:
      case BurstEventKind::kNamedPhase:
        // By the application's word, not by the kernel's.
        return;
    }
  }

  const Burst& burst_;
  // Of those seen in this burst alone: a recording may have many times as many threads, and many bursts.
  std::unordered_map<uint32_t, ThreadNow> threads_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> workers_;  // by request: all that have worked for it
  std::unordered_map<uint16_t, int64_t> idle_since_ns_;  // of CPUs whose newest switch is to the idle thread
  JoinedBurst joined_;
};

}  // namespace

std::string_view name_of(ThreadState state) {
  constexpr std::array<std::string_view, kThreadStates> kNames{"running", "runnable", "blocked"};
  return kNames[static_cast<size_t>(state)];
}

JoinedBurst join_burst(const Burst& burst) {
  return Joining(burst).run();
}

}  // namespace plimsoll::traces
