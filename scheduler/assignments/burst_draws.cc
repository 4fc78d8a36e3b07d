#include "scheduler/assignments/burst_draws.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/time.h"
#include "traces/bursts/burst_config.h"
#include "traces/bursts/burst_events.h"

namespace plimsoll::scheduler {
namespace {

bool is_report_over(wire::AssignmentState state) {
  return state == wire::DONE || state == wire::REFUSED || state == wire::FAILED;
}

std::string text_of_results(const wire::BurstReport& bursts) {
  std::string text =
      fmt::format("bursts: {} recorded in {} recordings", bursts.recorded(), bursts.recordings());
  if (bursts.missed() > 0) {
    text += fmt::format(", {} missed", bursts.missed());
  }
  if (bursts.lost() > 0) {
    text += fmt::format(", {} events lost", bursts.lost());
  }
  return bursts.detail().empty() ? text : fmt::format("{}: {}", text, bursts.detail());
}

}  // namespace

Status check_bursts(const wire::BurstRequest& bursts, int64_t max_duration_ns) {
  const auto config = traces::BurstConfig::of_bits(bursts.config_bits());
  if (!config) {
    return with_field(propagate(config), "bursts.config");
  }
  const int64_t longest_ns = std::min(max_duration_ns, kMaxBurstsNs);
  if (bursts.duration_ns() <= 0 || bursts.duration_ns() > longest_ns) {
    return with_field(
        fail(ErrorCode::kInvalid, "the duration of bursts must be above 0 and at most {}, is {}",
             format_duration(longest_ns), format_duration(bursts.duration_ns())),
        "bursts.duration");
  }
  // A whole burst comes in each period and a burst, wherever it begins.
  const int64_t needed_ns = (config->period_ms() + config->length_ms()) * kNsPerMs;
  if (bursts.duration_ns() < needed_ns) {
    return with_hint(
        with_field(
            fail(ErrorCode::kInvalid, "bursts {} come every {}: {} may have none", config->text(),
                 format_duration(config->period_ms() * kNsPerMs), format_duration(bursts.duration_ns())),
            "bursts.duration"),
        fmt::format("give at least {}, or a burst-config with a smaller M", format_duration(needed_ns)));
  }
  const std::vector<std::string> events(bursts.events().begin(), bursts.events().end());
  if (const Status known = traces::check_burst_events(events); !known) {
    return with_field(propagate(known), "bursts.events");
  }
  const bool is_share =
      std::isfinite(bursts.max_overhead()) && bursts.max_overhead() >= 0 && bursts.max_overhead() <= 1;
  return is_share
             ? Status()
             : with_field(fail(ErrorCode::kInvalid, "the maximum overhead of bursts is a share of CPU time"),
                          "bursts.max_overhead_percent");
}

std::string text_of(const wire::BurstRequest& bursts) {
  const auto config = traces::BurstConfig::of_bits(bursts.config_bits());
  const std::string text = fmt::format("bursts {} for {}", config ? config->text() : "of an unknown config",
                                       format_duration(bursts.duration_ns()));
  return bursts.events().empty() ? text
                                 : fmt::format("{} with {}", text, fmt::join(bursts.events(), " and "));
}

int64_t open_until_ns(const store::DrawWithMachines& draw) {
  const int64_t bursts_ns =
      draw.draw.collects.has_bursts() ? draw.draw.collects.bursts().duration_ns() : draw.draw.window_ns;
  // What came of bursts is reported after their end: as much later than it as profiles are due after theirs.
  return draw.draw.due_ns + std::max<int64_t>(0, bursts_ns - draw.draw.window_ns);
}

std::string detail_of(const wire::AssignmentReport& report, const wire::Assignment& collects) {
  if (!collects.has_bursts() || !is_report_over(report.state())) {
    return report.detail();
  }
  const std::string bursts =
      report.has_bursts() ? text_of_results(report.bursts())
                          : std::string("bursts: did not report: the daemon does not know how to record any");
  return report.detail().empty() ? bursts : fmt::format("{}; {}", report.detail(), bursts);
}

}  // namespace plimsoll::scheduler
