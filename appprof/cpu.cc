#include "appprof/cpu.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include <array>
#include <cmath>

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

bool set_timer(int64_t period_ns) {
  const timeval period{period_ns / 1'000'000'000, period_ns % 1'000'000'000 / 1000};
  const itimerval timer{period, period};
  return ::setitimer(ITIMER_PROF, &timer, nullptr) == 0;
}

// Empty, or why not: the program, or a profiler in it, has a use for them.
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
  set_timer(0);
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

}  // namespace

bool SampleLog::allocate() noexcept {
  if (slots_.load(std::memory_order_acquire) != nullptr) {
    return true;
  }
  void* memory = ::mmap(nullptr, kSlots * sizeof(Slot), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return false;
  }
  slots_.store(static_cast<Slot*>(memory), std::memory_order_release);  // zeroed memory is free slots
  return true;
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

Profile take_cpu_profile(const std::function<bool(int64_t ns)>& wait, std::string& why) {
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
  if (!set_timer(kPeriodNs)) {
    why = "no CPU profiles: the timer of CPU time cannot be set\n";
  }
  while (why.empty() && wait(kCollectNs)) {
    collect(profile);
  }
  give_signal_back(before);
  collect(profile);
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
    const auto count = static_cast<uintptr_t>(std::llround(sample.values[0]));
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
