// How many samples of a kind the process takes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace plimsoll::appprof {

constexpr uint32_t kNoSampleLimit = UINT32_MAX;

// Bounds what samples cost, whatever the program does: where they come faster than the limit, their period doubles with every 64
// that are too many, and halves again as time makes up for them. So the first samples after a quiet time have the period that was
// asked for. Totals stay unbiased: the number of doublings depends on earlier samples alone, and each sample is weighted by the
// period that it was taken by.
//
// A queue that serves one sample per interval, kept as the time at which it will be empty (the generic cell rate algorithm, ITU-T
// I.371). Any thread and signal handler: no lock, no allocation.
class SampleLimit {
 public:
  static constexpr int64_t kSamplesPerDoubling = 64;
  static constexpr int kMaxDoublings = 16;

  constexpr SampleLimit() = default;

  void set_max_per_second(uint32_t samples) noexcept {
    constexpr int64_t kNsPerSecond = 1'000'000'000;
    const bool is_limited = samples != 0 && samples != kNoSampleLimit;
    interval_ns_.store(is_limited ? std::max<int64_t>(kNsPerSecond / samples, 1) : 0,
                       std::memory_order_relaxed);
  }

  // Of the period, for what comes at this time.
  int doublings(int64_t now_ns) const noexcept {
    const int64_t interval_ns = interval_ns_.load(std::memory_order_relaxed);
    if (interval_ns == 0) {
      return 0;
    }
    const int64_t ahead_ns = empty_at_ns_.load(std::memory_order_relaxed) - now_ns;
    return static_cast<int>(
        std::clamp<int64_t>(ahead_ns / (interval_ns * kSamplesPerDoubling), 0, kMaxDoublings));
  }

  void add_sample(int64_t now_ns) noexcept {
    const int64_t interval_ns = interval_ns_.load(std::memory_order_relaxed);
    // A queue that no number of doublings empties grows no longer: it would take as long to shrink.
    const int64_t longest_ns = interval_ns * kSamplesPerDoubling * (kMaxDoublings + 1);
    int64_t was_ns = empty_at_ns_.load(std::memory_order_relaxed);
    int64_t is_ns = 0;
    do {
      is_ns = std::min(std::max(was_ns, now_ns) + interval_ns, now_ns + longest_ns);
    } while (!empty_at_ns_.compare_exchange_weak(was_ns, is_ns, std::memory_order_relaxed));
  }

  void clear() noexcept { empty_at_ns_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> interval_ns_{0};  // 0: no limit
  std::atomic<int64_t> empty_at_ns_{0};
};

}  // namespace plimsoll::appprof
