#include "server/access/request_rates.h"

#include <algorithm>
#include <cmath>

#include "base/time.h"

namespace plimsoll::server {

double RequestRates::refilled(const Allowance& allowance, int64_t now_ns) const {
  const double minutes = static_cast<double>(now_ns - allowance.since_ns) / static_cast<double>(kNsPerMinute);
  return std::min(max_per_minute_, allowance.requests + minutes * max_per_minute_);
}

// Whoever has not asked for a minute has its whole allowance again, as has one who was never heard of.
void RequestRates::forget_idle(int64_t now_ns) {
  if (now_ns - forgotten_ns_ >= kNsPerMinute) {
    forgotten_ns_ = now_ns;
    std::erase_if(allowances_,
                  [&](const auto& entry) { return now_ns - entry.second.since_ns >= kNsPerMinute; });
  }
}

int64_t RequestRates::wait_ns(const std::string& machine_id, int64_t now_ns) {
  if (max_per_minute_ == 0) {
    return 0;
  }
  const std::lock_guard lock(mutex_);
  forget_idle(now_ns);
  Allowance& allowance =
      allowances_.try_emplace(machine_id, Allowance{max_per_minute_, now_ns}).first->second;
  allowance = {refilled(allowance, now_ns), now_ns};
  if (allowance.requests < 1) {
    return static_cast<int64_t>(
        std::ceil((1 - allowance.requests) / max_per_minute_ * static_cast<double>(kNsPerMinute)));
  }
  --allowance.requests;
  return 0;
}

}  // namespace plimsoll::server
