#include "daemon/governor.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/file.h"
#include "base/time.h"

namespace plimsoll {
namespace {

constexpr int64_t kSlotNs = kNsPerSecond / 2;
constexpr size_t kRecentSlots = 5;
constexpr size_t kFewestSlots = 3;  // that decide anything
constexpr size_t kCalmSlots = 20;
constexpr uint32_t kLargestSlowdown = 1024;
constexpr double kSlowdownOfPause = 4;

// Shares of the limit. Below kMaxShareOfLimit, so that the minute's budget has room for moments that are more expensive.
constexpr double kMaxShareOfLimit = 0.75;
constexpr double kAimedAt = 0.55;
constexpr double kCalm = 0.35;  // twice that is still below what is aimed at

// Shares of the minute's budget.
constexpr double kScarce = 0.9;
constexpr double kGone = 0.95;
constexpr double kBack = 0.5;

// Minutes that work done once is paid for in, and the most of their budget that it may have.
constexpr int64_t kSpreadMinutes = 10;
constexpr double kMaxSpread = 0.5;

// The rest is for encoding the profile, kernel symbols among it.
constexpr double kFullMemory = 0.75;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double mean(const std::deque<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

SelfUsage read_self_usage() {
  SelfUsage self;
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    const auto ns = [](const timeval& time) { return time.tv_sec * kNsPerSecond + time.tv_usec * 1000; };
    self.cpu_time_ns = ns(usage.ru_utime) + ns(usage.ru_stime);
  }
  // "size resident shared ...", in pages.
  const std::string statm = read_file("/proc/self/statm", 256).value_or(std::string());
  const size_t resident = std::min(statm.find(' '), statm.size() - 1) + 1;
  uint64_t resident_pages = 0;
  std::from_chars(statm.data() + resident, statm.data() + statm.size(), resident_pages);
  self.resident_bytes = resident_pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return self;
}

Governor::Governor(Budget budget, std::function<SelfUsage()> read_usage)
    : read_usage_(std::move(read_usage)), budget_(budget) {}

Budget Governor::budget() const {
  const std::lock_guard lock(mutex_);
  return budget_;
}

void Governor::set_budget(Budget budget) {
  const std::lock_guard lock(mutex_);
  budget_ = budget;
}

void Governor::observe(int64_t now_ns) {
  const SelfUsage usage = read_usage_();
  const std::lock_guard lock(mutex_);
  if (started_ns_ == 0) {
    started_ns_ = now_ns;
    open_slot_.end_ns = now_ns;
    usage_ = usage;
  }
  // Another thread's observation may have come between.
  open_slot_.cpu_ns += std::max<int64_t>(0, usage.cpu_time_ns - usage_.cpu_time_ns);
  usage_.cpu_time_ns = std::max(usage.cpu_time_ns, usage_.cpu_time_ns);
  usage_.resident_bytes = usage.resident_bytes;
  peak_resident_bytes_ = std::max(peak_resident_bytes_, usage.resident_bytes);
  observed_ns_ = std::max(observed_ns_, now_ns);
  if (observed_ns_ - open_slot_.end_ns >= kSlotNs) {
    close_slot(observed_ns_);
  }
}

void Governor::close_slot(int64_t now_ns) {
  const double share =
      static_cast<double>(open_slot_.cpu_ns) / static_cast<double>(now_ns - open_slot_.end_ns);
  slots_.push_back({now_ns, open_slot_.cpu_ns});
  open_slot_ = {now_ns, 0};
  while (slots_.front().end_ns <= now_ns - kNsPerMinute) {
    slots_.pop_front();
  }
  while (!spread_.empty() && spread_.front().at_ns <= now_ns - kSpreadMinutes * kNsPerMinute) {
    spread_.pop_front();
  }
  if (is_paused_) {
    is_paused_ = used_of_budget() > kBack;
    return;  // what a pause costs says nothing of sampling
  }
  adapt_slowdown(share);
  if (used_of_budget() > kGone) {
    is_paused_ = true;
    slow_down(kSlowdownOfPause);  // or the same would happen after the pause
  }
}

void Governor::adapt_slowdown(double slot_share) {
  shares_.push_back(slot_share);
  if (shares_.size() > kCalmSlots) {
    shares_.pop_front();
  }
  if (shares_.size() < kFewestSlots) {
    return;
  }
  const auto recent_slots = static_cast<ptrdiff_t>(std::min(shares_.size(), kRecentSlots));
  const double recent = median({shares_.end() - recent_slots, shares_.end()});
  const bool is_calm = shares_.size() == kCalmSlots && mean(shares_) < kCalm * budget_.cpu_share;
  if (recent > kMaxShareOfLimit * budget_.cpu_share) {
    slow_down(recent / (kAimedAt * budget_.cpu_share));
  } else if (used_of_budget() > kScarce && shares_.size() >= kRecentSlots) {
    slow_down(2);
  } else if (is_calm && slowdown_ > 1 && used_of_budget() < kBack) {
    slow_down(0.5);
  }
}

void Governor::slow_down(double times) {
  const double wanted = std::ceil(slowdown_ * times);
  slowdown_ = static_cast<uint32_t>(std::clamp(wanted, 1.0, double{kLargestSlowdown}));
  shares_.clear();
}

void Governor::spread(int64_t cpu_ns) {
  const std::lock_guard lock(mutex_);
  const double most = kMaxSpread * budget_.cpu_share * static_cast<double>(kSpreadMinutes * kNsPerMinute);
  const int64_t left_ns =
      static_cast<int64_t>(most) - spread_cpu_ns(observed_ns_ - kSpreadMinutes * kNsPerMinute);
  const int64_t taken_ns = std::clamp<int64_t>(cpu_ns, 0, std::max<int64_t>(0, left_ns));
  if (taken_ns > 0) {
    open_slot_.cpu_ns -= taken_ns;
    spread_.push_back({observed_ns_, taken_ns});
  }
}

int64_t Governor::spread_cpu_ns(int64_t since_ns) const {
  int64_t cpu_ns = 0;
  for (const Spread& spread : spread_) {
    cpu_ns += spread.at_ns > since_ns ? spread.cpu_ns : 0;
  }
  return cpu_ns;
}

// Without what is spread.
int64_t Governor::minute_cpu_ns() const {
  int64_t cpu_ns = open_slot_.cpu_ns;
  for (const Slot& slot : slots_) {
    cpu_ns += slot.cpu_ns;
  }
  return cpu_ns;
}

double Governor::used_of_budget() const {
  const int64_t share_of_spread_ns =
      spread_cpu_ns(observed_ns_ - kSpreadMinutes * kNsPerMinute) / kSpreadMinutes;
  return static_cast<double>(minute_cpu_ns() + share_of_spread_ns) /
         (budget_.cpu_share * static_cast<double>(kNsPerMinute));
}

uint32_t Governor::slowdown() const {
  const std::lock_guard lock(mutex_);
  return slowdown_;
}

std::string Governor::reason_to_pause() const {
  const std::lock_guard lock(mutex_);
  return is_paused_ ? fmt::format("CPU limit of {:g} % of a core reached ({:.2f} s in the last minute)",
                                  budget_.cpu_share * 100, static_cast<double>(minute_cpu_ns()) / 1e9)
                    : std::string();
}

bool Governor::is_over_memory() const {
  const std::lock_guard lock(mutex_);
  return static_cast<double>(usage_.resident_bytes) >
         kFullMemory * static_cast<double>(budget_.resident_bytes);
}

Governor::State Governor::state() const {
  const std::lock_guard lock(mutex_);
  const int64_t observed_for_ns = std::clamp<int64_t>(observed_ns_ - started_ns_, kSlotNs, kNsPerMinute);
  const int64_t cpu_ns = minute_cpu_ns() + spread_cpu_ns(observed_ns_ - kNsPerMinute);
  return {usage_, peak_resident_bytes_, static_cast<double>(cpu_ns) / static_cast<double>(observed_for_ns),
          slowdown_};
}

OneTimeWork::OneTimeWork(Governor* governor) : governor_(governor), cpu_before_ns_(thread_cpu_ns()) {}

OneTimeWork::~OneTimeWork() {
  if (governor_ != nullptr) {
    governor_->spread(thread_cpu_ns() - cpu_before_ns_);
  }
}

void Governor::restart_peak() {
  const std::lock_guard lock(mutex_);
  peak_resident_bytes_ = usage_.resident_bytes;
}

}  // namespace plimsoll
