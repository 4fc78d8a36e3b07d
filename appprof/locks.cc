#include "appprof/locks.h"

#include <errno.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "appprof/holders.h"
#include "appprof/sample_limit.h"
#include "appprof/site_table.h"
#include "appprof/text_sink.h"
#include "appprof/thread_state.h"

namespace plimsoll::appprof {

constinit std::atomic<bool> g_locks_on{false};

namespace {

constinit SiteTable g_waits;
constinit SiteTable g_held;
constinit SiteTable g_condition_waits;
constinit SampleLimit g_limit;
constinit std::atomic<uint64_t> g_lock_period_ns{0};
constinit std::atomic<int64_t> g_locks_began_ns{0};  // monotonic: a clock that is set changes no duration

double lock_period() noexcept {
  return static_cast<double>(g_lock_period_ns.load(std::memory_order_relaxed));
}

double condition_period() noexcept {
  return lock_period() * static_cast<double>(kConditionPeriods);
}

void seed(Countdown& countdown) noexcept {
  if (!countdown.is_seeded()) {
    countdown.seed(seed_for_thread(&countdown));
  }
}

}  // namespace

std::string start_locks(uint64_t period_ns, uint32_t max_samples_per_second) {
  if (std::string why = why_no_lock_calls(); !why.empty()) {
    return why;
  }
  if (!g_waits.allocate() || !g_held.allocate() || !g_condition_waits.allocate()) {
    return "lock waits are not counted: no memory for the table of sites";
  }
  int64_t never = 0;
  g_locks_began_ns.compare_exchange_strong(never, monotonic_ns());
  g_lock_period_ns.store(period_ns, std::memory_order_relaxed);
  g_limit.set_max_per_second(max_samples_per_second);
  g_locks_on.store(true, std::memory_order_release);
  count_lock_calls(true);
  return {};
}

void stop_locks() noexcept {
  count_lock_calls(false);
  g_locks_on.store(false, std::memory_order_release);
}

void reset_locks_in_child() noexcept {
  stop_locks();
  t_state.thread_id = 0;  // the child's thread has another
  for (SiteTable* table : {&g_waits, &g_held, &g_condition_waits}) {
    table->clear_in_child();
  }
  reset_holders_in_child();
  g_limit.clear();
  g_locks_began_ns.store(0);
}

LockWait begin_wait(const void* lock) noexcept {
  LockWait wait{monotonic_ns(), kNotWatched, 0};
  ThreadState& state = t_state;
  if (!state.is_inside) {
    const Inside inside;
    seed(state.lock_wait);
    wait.period_ns = std::ldexp(lock_period(), g_limit.doublings(wait.began_ns));
    // A period of days is as good as none.
    const double left_ns = std::min(state.lock_wait.left(wait.period_ns), 1e15);
    wait.place = watch_lock(lock, wait.began_ns + static_cast<int64_t>(left_ns));
  }
  return wait;
}

void end_wait(const LockWait& wait, bool counts, uintptr_t caller) noexcept {
  ThreadState& state = t_state;
  if (state.is_inside) {
    return;
  }
  const int64_t now_ns = monotonic_ns();
  const auto amount = static_cast<double>(now_ns - wait.began_ns);
  const Inside inside;
  const int saved_errno = errno;
  uintptr_t frames[kMaxFrames];
  const Holder holder = unwatch_lock(wait.place, frames);
  if (counts && state.lock_wait.take(amount, wait.period_ns)) {
    g_limit.add_sample(now_ns);
    const double weight = weight_of_sample(amount, wait.period_ns);
    g_held.add({frames, holder.depth}, holder.labels, weight, weight * amount);
    const size_t depth = take_stack(frames, kMaxFrames, caller);
    g_waits.add({frames, depth}, current_labels(), weight, weight * amount);
  }
  errno = saved_errno;
}

void record_condition_wait(int64_t wait_ns, uintptr_t caller) noexcept {
  ThreadState& state = t_state;
  if (state.is_inside) {
    return;
  }
  const Inside inside;
  const int saved_errno = errno;
  seed(state.condition_wait);
  const double period = condition_period();
  const auto amount = static_cast<double>(wait_ns);
  if (state.condition_wait.take(amount, period)) {
    uintptr_t frames[kMaxFrames];
    const size_t depth = take_stack(frames, kMaxFrames, caller);
    const double weight = weight_of_sample(amount, period);
    g_condition_waits.add({frames, depth}, current_labels(), weight, weight * amount);
  }
  errno = saved_errno;
}

static Profile profile_of_waits(const SiteTable& sites, const std::string& what, double period_ns) {
  Profile profile;
  profile.types = {{"contentions", "count"}, {"delay", "nanoseconds"}};
  profile.period_type = {"contentions", "count"};
  profile.period = 1;
  profile.time_ns = unix_time_ns();
  profile.monotonic_ns = monotonic_ns();
  profile.duration_ns = profile.monotonic_ns - g_locks_began_ns.load();
  add_sites(sites, profile);
  profile.comments.push_back(what + ", sampled every " + std::to_string(std::llround(period_ns)) +
                             " ns of waiting");
  return profile;
}

Profile lock_profile() {
  return profile_of_waits(g_waits, "waits for locks, by the stacks of those that waited", lock_period());
}

Profile holder_profile() {
  Profile profile =
      profile_of_waits(g_held, "waits for locks, by the stacks of those that held them", lock_period());
  for (Sample& sample : profile.samples) {
    if (sample.stack.empty() && sample.stand_in.empty()) {
      sample.stand_in = "[unknown holder]";
    }
  }
  return profile;
}

Profile condition_profile() {
  return profile_of_waits(g_condition_waits, "waits for condition variables", condition_period());
}

std::string contention_text(const Profile& profile) {
  // No stream: its numbers would be those of the program's locale ("12.345").
  StringSink sink;
  // None is below 0: sums only grow.
  const auto natural = [](double value) { return static_cast<uint64_t>(std::llround(value)); };
  uint64_t lost = 0;
  for (const Sample& sample : profile.samples) {
    lost += sample.stack.empty() ? natural(sample.values[0]) : 0;
  }
  sink.text("--- contention:\ncycles/second=1000000000\nsampling period=1\nms since reset=");
  write_number(sink, static_cast<uint64_t>(std::max<int64_t>(profile.duration_ns, 0) / 1'000'000));
  sink.text("\ndiscarded samples=");
  write_number(sink, lost);
  sink.text("\n");
  for (const Sample& sample : profile.samples) {
    if (!sample.stack.empty()) {
      sink.text("  ");
      write_number(sink, natural(sample.values[1]));
      sink.text(" ");
      write_number(sink, natural(sample.values[0]));
      sink.text(" @");
      for (const uintptr_t address : sample.stack) {
        sink.text(" 0x");
        write_number(sink, address, 16);
      }
      sink.text("\n");
    }
  }
  return sink.take();
}

}  // namespace plimsoll::appprof
