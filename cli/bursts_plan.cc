#include "cli/bursts_plan.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "base/time.h"
#include "cli/views/answer_source.h"
#include "traces/bursts/burst_plan.h"

namespace plimsoll::cli {
namespace {

std::string plan_text(const BurstsPlanOptions& options, const traces::BurstPlan& plan,
                      const traces::BurstTimes& next) {
  const traces::BurstConfig& config = plan.config;
  std::string text =
      fmt::format("config         {}  (m = {}, n = {}; bits {:#x})\n", config.text(), config.ones(),
                  config.zeros(), config.bits()) +
      fmt::format("burst          {} in every {}, {:.0f} a day\n",
                  format_duration(config.length_ms() * kNsPerMs),
                  format_duration(config.period_ms() * kNsPerMs), std::floor(plan.bursts_per_day)) +
      fmt::format("share of time  {:.3g} %\n", config.share() * 100);
  if (options.clock_error_ms > 0) {
    text += fmt::format("on all         {:.6g} ms of a burst, clocks being within {:g} ms\n", plan.shared_ms,
                        options.clock_error_ms);
  }
  return text +
         fmt::format("whole          {:.1f} % of the requests of {:g} ms that touch a burst\n",
                     plan.whole_share * 100, options.request_ms) +
         fmt::format("next           {} to {}\n", format_time(next.begin_ms * kNsPerMs),
                     format_time(next.end_ms * kNsPerMs));
}

std::string plan_json(const traces::BurstPlan& plan, const traces::BurstTimes& next) {
  const traces::BurstConfig& config = plan.config;
  return fmt::format(
      "{{\"config\": \"{}\", \"m\": {}, \"n\": {}, \"bits\": {}, \"burst_ms\": {}, \"period_ms\": {}, "
      "\"share\": {}, \"shared_ms\": {}, \"whole_share\": {}, \"bursts_per_day\": {}, "
      "\"next\": {{\"begin\": \"{}\", \"end\": \"{}\"}}}}\n",
      config.text(), config.ones(), config.zeros(), config.bits(), config.length_ms(), config.period_ms(),
      config.share(), plan.shared_ms, plan.whole_share, plan.bursts_per_day,
      format_time(next.begin_ms * kNsPerMs), format_time(next.end_ms * kNsPerMs));
}

}  // namespace

Status run_bursts_plan(const BurstsPlanOptions& options) {
  const auto plan = traces::plan_bursts({.request_ms = options.request_ms,
                                         .max_share = options.max_share,
                                         .clock_error_ms = options.clock_error_ms});
  if (!plan) {
    return propagate(plan);
  }
  const traces::BurstTimes next = plan->config.burst_at_or_after(wall_now_ns() / kNsPerMs);
  return write_output("-", options.is_json ? plan_json(*plan, next) : plan_text(options, *plan, next));
}

}  // namespace plimsoll::cli
