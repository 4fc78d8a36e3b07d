// Exact counting for the control groups that an operator chose (config [count]): from the configuration to what a collector
// counts.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/daemon_config.h"
#include "daemon/event_plan.h"
#include "daemon/group_counts/group_counters.h"

namespace plimsoll {

// In front of an event's name: "exact-cycles" was counted, "cycles" sampled.
inline constexpr std::string_view kExactPrefix = "exact-";

// Settings that have been accepted.
struct ExactCountSettings {
  std::shared_ptr<const GroupPatterns> groups = nullptr;  // null: nothing is counted
  std::vector<std::string> events = {};
  size_t max_fds = 0;
};

// kInvalid, with the key as its field, for expressions that are none, names that no event has, and over 16 events.
Result<ExactCountSettings> compile_exact_counts(const config::CountSettings& settings);

// Which of the events can be counted on this machine. `allowed` are the names of those that it permits; none: all. The plan's
// missing events say why of the others.
GroupCountPlan plan_group_counts(const ExactCountSettings& settings, std::span<const std::string> allowed,
                                 const EventSource& machine);

// Null where nothing is to be counted. Borrows `proc_fs`; null `rules`: none.
std::unique_ptr<WindowCounts> exact_counts(const ExactCountSettings& settings,
                                           std::span<const std::string> allowed, const EventSource& machine,
                                           const identity::ProcFs& proc_fs,
                                           std::shared_ptr<const identity::JobRules> rules);

// Whether counting per control group works here, and in which hierarchy: the folder; tries one event of the kernel's own.
Result<std::string> try_exact_counts();

}  // namespace plimsoll
