#include "daemon/bursts/burst_limits.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/time.h"
#include "traces/bursts/burst_config.h"

namespace plimsoll::bursts {
namespace {

constexpr int64_t kLatestStartNs = INT64_MAX / 2;  // in 2116; an end can be told

std::string refusal_of(const wire::Assignment& assignment, const BurstLimits& limits) {
  if (!limits.is_permitted) {
    return "bursts.permit of this daemon is false";
  }
  const auto config = traces::BurstConfig::of_bits(assignment.bursts().config_bits());
  if (!config) {
    return config.error().text();
  }
  if (assignment.continuous() || assignment.start_ns() <= 0 || assignment.start_ns() > kLatestStartNs) {
    return "bursts have no start";
  }
  if (assignment.bursts().duration_ns() <= 0) {
    return "bursts have no duration";
  }
  if (config->share() > limits.max_share) {
    return fmt::format("bursts {} are {:.3g} % of the time, over bursts.max_share_percent", config->text(),
                       100 * config->share());
  }
  if (config->length_ms() * kNsPerMs > limits.max_burst_ns) {
    return fmt::format("bursts {} last {}, over bursts.max_burst", config->text(),
                       format_duration(config->length_ms() * kNsPerMs));
  }
  return {};
}

// Keeps those that are permitted; the others, in words.
std::string limit_events(const BurstLimits& limits, wire::BurstRequest& bursts) {
  std::vector<std::string> kept;
  std::vector<std::string> left_out;
  for (const std::string& event : bursts.events()) {
    const bool is_permitted = std::ranges::find(limits.events, event) != limits.events.end();
    (is_permitted ? kept : left_out).push_back(event);
  }
  bursts.clear_events();
  bursts.mutable_events()->Add(kept.begin(), kept.end());
  return left_out.empty()
             ? std::string()
             : fmt::format("without {}, which bursts.events does not permit", fmt::join(left_out, " and "));
}

}  // namespace

AcceptedBursts accept_bursts(const wire::Assignment& assignment, const BurstLimits& limits) {
  AcceptedBursts accepted{.wanted = {.assignment = assignment}};
  accepted.wanted.refusal = refusal_of(assignment, limits);
  if (!accepted.wanted.refusal.empty()) {
    return accepted;
  }
  wire::Assignment& own = accepted.wanted.assignment;
  wire::BurstRequest& bursts = *own.mutable_bursts();
  accepted.note = limit_events(limits, bursts);
  if (bursts.duration_ns() > limits.max_duration_ns) {
    bursts.set_duration_ns(limits.max_duration_ns);
    accepted.note += fmt::format("{}for {}, bursts.max_duration", accepted.note.empty() ? "" : "; ",
                                 format_duration(limits.max_duration_ns));
  }
  own.set_duration_ns(bursts.duration_ns());
  bursts.set_max_bytes(bursts.max_bytes() == 0 ? limits.max_bytes
                                               : std::min<uint64_t>(bursts.max_bytes(), limits.max_bytes));
  const bool has_limit = std::isfinite(bursts.max_overhead()) && bursts.max_overhead() > 0;
  bursts.set_max_overhead(has_limit ? std::min(bursts.max_overhead(), limits.max_overhead)
                                    : limits.max_overhead);
  return accepted;
}

}  // namespace plimsoll::bursts
