#include "scheduler/safety/overhead_budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/draws/random.h"

namespace plimsoll::scheduler {
namespace {

// CPUs of a machine; those that do not say have one at least.
double cores_each(std::span<const Candidate> machines) {
  double cores = 0;
  for (const Candidate& machine : machines) {
    cores += std::max(machine.machine->cores(), 1U);
  }
  return cores / static_cast<double>(machines.size());
}

// A daemon's time per sample with a stack: overhead_bench (docs/benchmarks.md) has 0.442 % of a CPU with events on and 0.072 %
// with events off, at 99 samples per second on each of two CPUs: 0.0037 s / 198.
constexpr double kSecondsPerStack = (0.00442 - 0.00072) / (2 * 99);

}  // namespace

double expected_overhead(const PlannedDraws& draws) {
  if (draws.interval_ns <= 0) {
    return 0;
  }
  // On each CPU of a drawn machine, during the window, and averaged over all machines and the interval.
  const double share_of_time = static_cast<double>(draws.window_ns) / static_cast<double>(draws.interval_ns);
  return draws.share_drawn * share_of_time * draws.stacks_per_s * kSecondsPerStack;
}

void OverheadBudget::learn(std::span<const store::DrawWithMachines> draws, int64_t late_after_ns,
                           int64_t now_ns) {
  size_t over = 0;
  size_t measured = 0;
  for (const store::DrawWithMachines& draw : draws) {
    if (draw.draw.due_ns - late_after_ns <= now_ns && !store::is_by_order(draw.draw.id)) {
      ++over;
      measured += static_cast<size_t>(std::ranges::count_if(draw.machines, [](const auto& machine) {
        return machine.told_ns > 0 && machine.window_start_ns > 0;
      }));
    }
  }
  const std::lock_guard lock(mutex_);
  measured_each_ = over == 0 ? 0 : static_cast<double>(measured) / static_cast<double>(over);
}

OverheadBudget::Answer OverheadBudget::ask(std::vector<size_t> places, std::span<const Candidate> fleet,
                                           uint64_t seed, int64_t now_ns) const {
  constexpr uint64_t kOfBudget = 0x6f7665726865'6164;  // a stream of its own beside that of turns
  const auto cpus_of_daemon = meter_.cpus_of_daemon(now_ns);
  if (!cpus_of_daemon || places.empty()) {
    return {std::move(places), {}};
  }
  const double share = *cpus_of_daemon / cores_each(fleet);
  double measured_each = 0;
  {
    const std::lock_guard lock(mutex_);
    measured_each = measured_each_;
  }
  const double permitted = affordable(places.size(), measured_each, share, max_share_);
  DrawRandom random(seed ^ kOfBudget);
  const auto whole = static_cast<size_t>(permitted);
  const size_t left = whole + (random.happens(permitted - static_cast<double>(whole)) ? 1 : 0);
  if (left == places.size()) {
    return {std::move(places), {}};
  }
  random.shuffle(std::span(places));
  const auto first_left_out = places.begin() + static_cast<ptrdiff_t>(left);
  return {{places.begin(), first_left_out},
          {first_left_out, places.end()},
          fmt::format("over the overhead budget: daemons use {:.2g} % of the fleet's CPU time, max {:.2g} % "
                      "(draw.max_overhead_percent)",
                      100 * share, 100 * max_share_)};
}

}  // namespace plimsoll::scheduler
