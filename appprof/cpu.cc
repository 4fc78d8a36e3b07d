#include "appprof/cpu.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "appprof/mapped_once.h"
#include "appprof/sampling.h"
#include "appprof/thread_state.h"

namespace plimsoll::appprof {
namespace {

constexpr int64_t kPeriodNs = 10'000'000;
constexpr int64_t kCollectNs = 100'000'000;
constexpr size_t kMaxStacks = 20'000;

constinit SampleLog g_cpu_log;

void on_cpu_time(int, siginfo_t*, void* context) {
  const int saved_errno = errno;
  // Threads of the library block all signals; this is for its start and stop, which run in the application's.
  if (!t_state.is_inside) {
    const Inside inside;
    g_cpu_log.add(interrupted_address(context));
  }
  errno = saved_errno;
}

bool is_signal_ours() {
  struct sigaction now{};
  return ::sigaction(SIGPROF, nullptr, &now) == 0 && now.sa_sigaction == &on_cpu_time;
}

// A timer of each thread's own CPU time. One of the process's would fire once a tick however many cores are busy, and ITIMER_PROF
// would survive execve() and end the program that is executed then. The kernel ends these at exec, and a child has none.
class ThreadTimers {
 public:
  ThreadTimers() = default;
  ThreadTimers(const ThreadTimers&) = delete;
  ThreadTimers& operator=(const ThreadTimers&) = delete;
  ~ThreadTimers() {
    for (const auto& [thread, timer] : timers_) {
      ::timer_delete(timer);
    }
  }

  // Those of threads that have come, and of none that has gone. False: no thread has one.
  bool follow(const std::function<std::vector<pid_t>()>& list_threads) {
    std::map<pid_t, timer_t> now;
    for (const pid_t thread : list_threads()) {
      if (auto known = timers_.extract(thread); !known.empty()) {
        now.insert(std::move(known));
      } else if (timer_t timer{}; start(thread, timer)) {
        now.emplace(thread, timer);
      }
    }
    for (const auto& [thread, timer] : std::exchange(timers_, std::move(now))) {
      ::timer_delete(timer);
    }
    return !timers_.empty();
  }

 private:
  // The first signal comes after a random part of a period: a thread that uses less than one has a sample as often as it should. After a
  // whole period, none of a thousand threads that use 8 ms each would have any.
  bool start(pid_t thread, timer_t& timer) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGPROF;
    event._sigev_un._tid = thread;
    // The kernel's number of the clock of a thread's CPU time, by that of the thread (CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED).
    const auto clock = static_cast<clockid_t>(~static_cast<uint32_t>(thread) << 3 | 6);
    if (::timer_create(clock, &event, &timer) != 0) {
      return false;
    }
    const timespec period{0, kPeriodNs};
    const timespec first{0, 1 + static_cast<long>(random_.next() % uint64_t{kPeriodNs})};
    const itimerspec times{period, first};
    if (::timer_settime(timer, 0, &times, nullptr) != 0) {
      ::timer_delete(timer);
      return false;
    }
    return true;
  }

  std::map<pid_t, timer_t> timers_;
  RandomBits random_{static_cast<uint64_t>(monotonic_ns())};
};

int64_t process_cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Empty, or why not: the program, or a profiler in it, has a use for it.
std::string take_signal(struct sigaction& before) {
  itimerval timer{};
  // Ours where this process was forked while its parent was profiled.
  if (::sigaction(SIGPROF, nullptr, &before) != 0 ||
      (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN && before.sa_sigaction != &on_cpu_time) ||
      ::getitimer(ITIMER_PROF, &timer) != 0 || timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0) {
    return "no CPU profiles: the program uses SIGPROF or its timer itself\n";
  }
  struct sigaction ours{};
  ours.sa_sigaction = &on_cpu_time;
  // On the thread's own stack for signals where it has one: Go and others run on stacks too small for a handler.
  ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  ::sigfillset(&ours.sa_mask);
  return ::sigaction(SIGPROF, &ours, nullptr) == 0 ? "" : "no CPU profiles: SIGPROF cannot be handled\n";
}

void give_signal_back(const struct sigaction& before) {
  if (!is_signal_ours()) {
    return;  // the program has taken it meanwhile
  }
  // What is still pending, which would end the process without a handler, is discarded where the signal is ignored.
  struct sigaction action{};
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPROF, &action, nullptr);
  if (before.sa_handler != SIG_IGN) {
    action.sa_handler = SIG_DFL;
    ::sigaction(SIGPROF, &action, nullptr);
  }
}

void collect(Profile& profile) {
  double lost = static_cast<double>(g_cpu_log.take([&](std::span<const uintptr_t> frames, uint32_t labels) {
    Sample& sample = profile.samples.emplace_back();
    sample.stack.assign(frames.begin(), frames.end());
    sample.is_leaf_exact = true;
    sample.labels = labels_of(labels);
    sample.values = {1, static_cast<double>(kPeriodNs)};
  }));
  merge_equal(profile);
  while (profile.samples.size() > kMaxStacks) {
    lost += profile.samples.back().values[0];
    profile.samples.pop_back();
  }
  if (lost > 0) {
    Sample& sample = profile.samples.emplace_back();
    sample.stand_in = "[stacks beyond the table]";
    sample.values = {lost, lost * static_cast<double>(kPeriodNs)};
    merge_equal(profile);
  }
}

// What has no samples is as the rest: time until a new thread had its timer, and of threads that block the signal.
void scale_to(Profile& profile, int64_t cpu_ns) {
  double sampled_ns = 0;
  for (const Sample& sample : profile.samples) {
    sampled_ns += sample.values[1];
  }
  for (Sample& sample : profile.samples) {
    sample.values[1] *= static_cast<double>(cpu_ns) / sampled_ns;
  }
}

}  // namespace

bool SampleLog::allocate() noexcept {
  return map_once(slots_, kSlots);  // zeroed memory is free slots
}

void SampleLog::add(uintptr_t first) noexcept {
  Slot* slots = slots_.load(std::memory_order_acquire);
  Slot* slot = slots == nullptr ? nullptr : &slots[next_.fetch_add(1, std::memory_order_relaxed) % kSlots];
  uint32_t expected = kFree;
  if (slot == nullptr ||
      !slot->state.compare_exchange_strong(expected, kWriting, std::memory_order_acquire)) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  slot->depth = take_stack(slot->frames, kMaxFrames, first);
  slot->labels = current_labels();
  slot->state.store(kWhole, std::memory_order_release);
}

uint64_t SampleLog::take(const std::function<void(std::span<const uintptr_t>, uint32_t)>& visit) {
  Slot* slots = slots_.load(std::memory_order_acquire);
  for (size_t i = 0; slots != nullptr && i < kSlots; ++i) {
    if (slots[i].state.load(std::memory_order_acquire) == kWhole) {
      visit({slots[i].frames, slots[i].depth}, slots[i].labels);
      slots[i].state.store(kFree, std::memory_order_release);
    }
  }
  return lost_.exchange(0, std::memory_order_relaxed);
}

Profile take_cpu_profile(const std::function<std::vector<pid_t>()>& list_threads,
                         const std::function<bool(int64_t ns)>& wait, std::string& why) {
  Profile profile;
  profile.types = {{"samples", "count"}, {"cpu", "nanoseconds"}};
  profile.period_type = {"cpu", "nanoseconds"};
  profile.period = kPeriodNs;
  if (!g_cpu_log.allocate()) {
    why = "no CPU profiles: no memory for samples\n";
    return profile;
  }
  g_cpu_log.take([](auto, auto) {});  // of a handler that ended after the request before
  struct sigaction before{};
  why = take_signal(before);
  if (!why.empty()) {
    return profile;
  }
  const int64_t began_ns = monotonic_ns();
  const int64_t cpu_began_ns = process_cpu_ns();
  {
    ThreadTimers timers;
    if (!timers.follow(list_threads)) {
      why = "no CPU profiles: no timer of CPU time can be set\n";
    }
    while (why.empty() && wait(kCollectNs) && is_signal_ours()) {
      timers.follow(list_threads);
      collect(profile);
    }
  }
  give_signal_back(before);
  collect(profile);
  scale_to(profile, process_cpu_ns() - cpu_began_ns);
  profile.duration_ns = monotonic_ns() - began_ns;
  profile.time_ns = unix_time_ns();
  return profile;
}

std::string legacy_cpu_profile(const Profile& profile, const std::string& maps) {
  std::string text;
  const auto add = [&text](std::initializer_list<uintptr_t> words) {
    for (const uintptr_t word : words) {
      text.append(reinterpret_cast<const char*>(&word), sizeof(word));
    }
  };
  // 0, the words of the head that follow, the version, the period in us, padding.
  add({0, 3, 0, static_cast<uintptr_t>(profile.period / 1000), 0});
  for (const Sample& sample : profile.samples) {
    const auto count = static_cast<uintptr_t>(
        std::max(1LL, std::llround(sample.values[1] / static_cast<double>(profile.period))));
    // A sample without a stack has an address that nothing lies at.
    add({count, sample.stack.empty() ? 1 : sample.stack.size()});
    for (const uintptr_t address : sample.stack) {
      add({address});
    }
    if (sample.stack.empty()) {
      add({1});
    }
  }
  add({0, 1, 0});
  return text + maps;
}

}  // namespace plimsoll::appprof
