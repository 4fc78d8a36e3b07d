// How many of those drawn may measure, so that daemons stay within their share of the fleet's CPU time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/draws/population.h"
#include "scheduler/safety/overhead_meter.h"
#include "store/draws/draw.h"

namespace plimsoll::scheduler {

// What is known of draws before the first one.
struct PlannedDraws {
  double share_drawn = 0;  // of the machines, per draw
  int64_t window_ns = 0;
  int64_t interval_ns = 0;
  double stacks_per_s = 0;  // samples with a stack, per CPU
};

// The share of the fleet's CPU time that daemons are expected to take for samples of such draws. A lower bound: what they take
// without samples depends on the number of CPUs, which is not known yet.
double expected_overhead(const PlannedDraws& draws);

// Any thread.
class OverheadBudget {
 public:
  struct Answer {
    std::vector<size_t> may;
    std::vector<size_t> may_not;
    std::string why_not = {};  // in words, where there are any of those
  };

  // `max_share`: of the fleet's CPU time, that daemons may take on average over an hour.
  explicit OverheadBudget(double max_share) : max_share_(max_share) {}

  // What a daemon says that it has cost since its start. Costs a look-up.
  void heard_from(std::string_view machine_id, int64_t cpu_time_ns, int64_t now_ns) {
    meter_.heard_from(machine_id, cpu_time_ns, now_ns);
  }
  // CPUs that a daemon took on average over the last hour; nothing: not known yet.
  std::optional<double> cpus_of_daemon(int64_t now_ns) const { return meter_.cpus_of_daemon(now_ns); }
  double max_share() const { return max_share_; }
  // The draws of the last hour, of which those count whose windows were over `late_after_ns` before they were due.
  void learn(std::span<const store::DrawWithMachines> draws, int64_t late_after_ns, int64_t now_ns);

  // Of those that would measure, by their places, whom the budget leaves, by chance from the seed: all are as likely to
  // be left out, whatever their probabilities, so that weights within a stratum stay true. `fleet`: what the share is
  // of.
  Answer ask(std::vector<size_t> places, std::span<const Candidate> fleet, uint64_t seed,
             int64_t now_ns) const;

 private:
  const double max_share_;
  OverheadMeter meter_;
  mutable std::mutex mutex_;
  double measured_each_ = 0;  // machines in a draw of the last hour, on average; guarded by mutex_
};

}  // namespace plimsoll::scheduler
