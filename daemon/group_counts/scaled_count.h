// What several counters of one event say together, where each may have had to share its CPU's hardware.
#pragma once

#include <optional>
#include <span>

#include "capture/perf/records.h"

namespace plimsoll {

// Of one event within a window. Times are sums over CPUs.
struct ScaledCount {
  double value = 0;  // scaled to all of the time enabled
  double time_enabled_ns = 0;
  double time_running_ns = 0;
};

// The counters of the CPUs at either end of a window, in the same order. Each is scaled by its own times, before the sum: rates
// differ between CPUs. Nothing where counters that ran for less than a hundredth of their time had more than a hundredth of all
// the time; of less, the others' rate is taken. Nothing without counters, either, and beyond 2^53, where no counter gets.
std::optional<ScaledCount> scaled_count(std::span<const perf::CounterValues> before,
                                        std::span<const perf::CounterValues> after);

}  // namespace plimsoll
