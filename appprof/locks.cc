#include "appprof/locks.h"

#include <errno.h>

#include <atomic>
#include <cmath>
#include <sstream>

#include "appprof/site_table.h"
#include "appprof/thread_state.h"

namespace plimsoll::appprof {
namespace {

constinit SiteTable g_waits;
constinit std::atomic<bool> g_locks_on{false};
constinit std::atomic<uint64_t> g_lock_period_ns{0};
constinit std::atomic<int64_t> g_locks_began_ns{0};

}  // namespace

std::string start_locks(uint64_t period_ns) {
  if (!are_lock_calls_ours()) {
    return "lock waits are not seen: another library replaces pthread_mutex_lock; link or preload this one "
           "first";
  }
  if (!g_waits.allocate()) {
    return "lock waits are not counted: no memory for the table of sites";
  }
  int64_t never = 0;
  g_locks_began_ns.compare_exchange_strong(never, unix_time_ns());
  g_lock_period_ns.store(period_ns, std::memory_order_relaxed);
  g_locks_on.store(true, std::memory_order_release);
  return {};
}

void stop_locks() noexcept {
  g_locks_on.store(false, std::memory_order_release);
}

void reset_locks_in_child() noexcept {
  stop_locks();
  g_waits.clear_in_child();
  g_locks_began_ns.store(0);
}

bool are_locks_on() noexcept {
  return g_locks_on.load(std::memory_order_relaxed);
}

void record_wait(int64_t wait_ns, uintptr_t caller) noexcept {
  ThreadState& state = t_state;
  if (state.is_inside) {
    return;
  }
  const Inside inside;
  const int saved_errno = errno;
  if (!state.lock_wait.is_seeded()) {
    state.lock_wait.seed(static_cast<uint64_t>(monotonic_ns()) ^ reinterpret_cast<uintptr_t>(&state) << 20);
  }
  const auto period = static_cast<double>(g_lock_period_ns.load(std::memory_order_relaxed));
  const auto amount = static_cast<double>(wait_ns);
  if (state.lock_wait.take(amount, period)) {
    uintptr_t frames[kMaxFrames];
    const size_t depth = take_stack(frames, kMaxFrames, caller);
    const double weight = weight_of_sample(amount, period);
    g_waits.add({frames, depth}, current_labels(), weight, weight * amount);
  }
  errno = saved_errno;
}

Profile lock_profile() {
  Profile profile;
  profile.types = {{"contentions", "count"}, {"delay", "nanoseconds"}};
  profile.period_type = {"contentions", "count"};
  profile.period = 1;
  profile.time_ns = unix_time_ns();
  profile.duration_ns = profile.time_ns - g_locks_began_ns.load();
  add_sites(g_waits, profile);
  profile.comments.push_back("waits sampled every " + std::to_string(g_lock_period_ns.load()) +
                             " ns of waiting; pthread_cond_wait is not included");
  return profile;
}

std::string contention_text(const Profile& profile) {
  std::ostringstream text;
  int64_t lost = 0;
  for (const Sample& sample : profile.samples) {
    lost += sample.stack.empty() ? std::llround(sample.values[0]) : 0;
  }
  text << "--- contention:\ncycles/second=1000000000\nsampling period=1\nms since reset="
       << profile.duration_ns / 1'000'000 << "\ndiscarded samples=" << lost << "\n";
  text << std::hex << std::showbase;
  for (const Sample& sample : profile.samples) {
    if (!sample.stack.empty()) {
      text << "  " << std::dec << std::llround(sample.values[1]) << " " << std::llround(sample.values[0])
           << " @" << std::hex;
      for (const uintptr_t address : sample.stack) {
        text << " " << address;
      }
      text << "\n";
    }
  }
  return text.str();
}

}  // namespace plimsoll::appprof
