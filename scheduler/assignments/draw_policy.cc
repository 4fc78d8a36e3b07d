#include "scheduler/assignments/draw_policy.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/time.h"
#include "scheduler/assignments/burst_draws.h"

namespace plimsoll::scheduler {
namespace {

// Heartbeats that a draw is made ahead of its interval: one may be lost, and none comes at once.
constexpr int64_t kHeartbeatsAhead = 3;
constexpr int64_t kHeartbeatsOfLease = 3;

// From the end of a window in one draw to the beginning of one so many draws later lies at least an interval less.
uint32_t turns_for(int64_t cooldown_ns, int64_t interval_ns) {
  const int64_t whole = cooldown_ns / interval_ns + (cooldown_ns % interval_ns > 0 ? 1 : 0);
  return cooldown_ns == 0 ? 1 : static_cast<uint32_t>(whole + 1);
}

}  // namespace

Result<DrawPolicy> DrawPolicy::make(DrawSettings settings, uint64_t seed) {
  if (settings.event_sets.empty()) {
    settings.event_sets.emplace_back();
  }
  constexpr int64_t kMaxCooldownNs = int64_t{365} * 24 * 3600 * kNsPerSecond;
  if (settings.heartbeat_ns <= 0 || settings.late_after_ns < 0) {
    return fail(ErrorCode::kInvalid,
                "draw settings: heartbeat {} ns must be above 0, late_after {} ns must not be negative",
                settings.heartbeat_ns, settings.late_after_ns);
  }
  if (settings.cooldown_ns < 0 || settings.cooldown_ns > kMaxCooldownNs) {
    return with_field(fail(ErrorCode::kInvalid, "cooldown must be between 0 and {}, is {} ns",
                           format_duration(kMaxCooldownNs), settings.cooldown_ns),
                      "cooldown");
  }
  if (auto checked = check(settings.safety); !checked) {
    return propagate(checked);
  }
  // Whether a size makes sense does not depend on the fleet.
  if (const auto plan = DrawPlan::make({}, settings.size); !plan) {
    return propagate(plan);
  }
  auto schedule =
      DrawSchedule::make({.interval_ns = settings.interval_ns,
                          .window_ns = settings.window_ns,
                          .lead_ns = std::min(kHeartbeatsAhead * settings.heartbeat_ns, settings.interval_ns),
                          .event_sets = settings.event_sets.size(),
                          .seed = seed});
  if (!schedule) {
    return propagate(schedule);
  }
  // A machine may be drawn again in the next interval.
  const Status bursts = settings.collects.has_bursts()
                            ? check_bursts(settings.collects.bursts(), settings.interval_ns)
                            : Status();
  if (!bursts) {
    return propagate(bursts);
  }
  auto stratification = Stratification::make(settings.strata);
  if (!stratification) {
    return propagate(stratification);
  }
  return DrawPolicy(std::move(settings), std::move(*schedule), std::move(*stratification), seed);
}

DrawPolicy::DrawPolicy(DrawSettings settings, DrawSchedule schedule, Stratification stratification,
                       uint64_t seed)
    : settings_(std::move(settings)),
      schedule_(std::move(schedule)),
      stratification_(std::move(stratification)),
      rotation_{.turns = turns_for(settings_.cooldown_ns, settings_.interval_ns), .seed = seed} {}

uint32_t DrawPolicy::turn_of(const ScheduledDraw& draw) const {
  return static_cast<uint32_t>(draw.number % rotation_.turns);
}

wire::Assignment DrawPolicy::assignment(const ScheduledDraw& draw) const {
  wire::Assignment assignment = settings_.collects;
  assignment.clear_events();
  for (const std::string& event : settings_.event_sets[draw.event_set]) {
    assignment.add_events()->set_name(event);
  }
  assignment.set_duration_ns(settings_.window_ns);
  return assignment;
}

std::vector<int64_t> DrawPolicy::turn_starts_ns(const ScheduledDraw& draw) const {
  const int64_t step_ns = settings_.window_ns + settings_.window_ns / 10 + kMinGapNs;
  const int64_t last_ns = draw.interval_start_ns + settings_.interval_ns - settings_.window_ns;
  std::vector<int64_t> starts_ns;
  for (int64_t start_ns = draw.window_start_ns; start_ns <= last_ns; start_ns += step_ns) {
    starts_ns.push_back(start_ns);
  }
  for (int64_t start_ns = draw.window_start_ns - step_ns; start_ns >= draw.interval_start_ns;
       start_ns -= step_ns) {
    starts_ns.push_back(start_ns);
  }
  return starts_ns;
}

int64_t DrawPolicy::lease_ns() const {
  return kHeartbeatsOfLease * settings_.heartbeat_ns;
}

std::string DrawPolicy::text() const {
  const DrawSize& size = settings_.size;
  const std::string many = size.machines > 0 ? fmt::format("{} machines", size.machines)
                                             : fmt::format("{:.4g} % of the machines", 100 * size.fraction);
  const std::string strata =
      settings_.strata.empty() ? std::string() : fmt::format(", by {}", fmt::join(settings_.strata, " and "));
  const std::string jobs = size.min_per_job > 0 ? fmt::format(", min {:g} per job", size.min_per_job) : "";
  const std::string cooldown = settings_.cooldown_ns > 0
                                   ? fmt::format(", cooldown {}", format_duration(settings_.cooldown_ns))
                                   : std::string();
  const std::string bursts = settings_.collects.has_bursts()
                                 ? "; " + scheduler::text_of(settings_.collects.bursts())
                                 : std::string();
  return fmt::format(
      "every {} for {}: {}{}, min {} per stratum{}{}; max at once {:.4g} % of a job's instances and {:.4g} % "
      "of a "
      "platform's machines; max overhead {:.4g} % of the fleet's CPU time{}",
      format_duration(settings_.interval_ns), format_duration(settings_.window_ns), many, strata,
      size.min_per_stratum, jobs, cooldown, 100 * settings_.safety.share_of_job,
      100 * settings_.safety.share_of_platform, 100 * settings_.safety.share_of_cpu, bursts);
}

}  // namespace plimsoll::scheduler
