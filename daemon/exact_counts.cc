#include "daemon/exact_counts.h"

#include <algorithm>

#include "capture/identity/cgroup_table.h"
#include "daemon/events/event_names.h"

namespace plimsoll {
namespace {

constexpr size_t kMaxCountedEvents = 16;
constexpr const char* kMounts = "/sys/fs/cgroup";

std::string hierarchy() {
  return identity::CgroupTable(kMounts).root();
}

// Of one event, on every kind of core that has it: half of a group's count would look like the whole.
Result<perf::EventType> countable(const std::string& name, std::span<const std::string> allowed,
                                  const EventSource& machine) {
  if (!is_allowed(name, allowed)) {
    return fail(ErrorCode::kDenied, "limits.events does not permit {}", name);
  }
  auto event = machine.find(name);
  if (event && event->is_for_packages) {
    return fail(ErrorCode::kUnsupported, "{} is counted per CPU package, not per control group", name);
  }
  for (size_t i = 0; event && i < event->codes.size(); ++i) {
    if (auto tried = machine.try_counting(with_one_code(*event, event->codes[i])); !tried) {
      return propagate(tried);
    }
  }
  return event;
}

}  // namespace

Result<ExactCountSettings> compile_exact_counts(const config::CountSettings& settings) {
  auto groups = GroupPatterns::compile(settings.groups);
  if (!groups) {
    return with_field(propagate(groups), "count.groups");
  }
  if (settings.events.size() > kMaxCountedEvents) {
    return with_field(
        fail(ErrorCode::kInvalid, "{} events, over {}", settings.events.size(), kMaxCountedEvents),
        "count.events");
  }
  for (const std::string& name : settings.events) {
    if (const auto known = perf::describe_event(name); !known) {
      return with_field(propagate(known), "count.events");
    }
  }
  const bool counts = !groups->empty();
  return ExactCountSettings{counts ? std::make_shared<const GroupPatterns>(std::move(*groups)) : nullptr,
                            settings.events, static_cast<size_t>(settings.max_fds)};
}

GroupCountPlan plan_group_counts(const ExactCountSettings& settings, std::span<const std::string> allowed,
                                 const EventSource& machine) {
  GroupCountPlan plan{.patterns = settings.groups, .events = {}, .missing = {}, .max_fds = settings.max_fds};
  for (const std::string& requested : settings.events) {
    auto event = countable(requested, allowed, machine);
    const std::string name =
        fmt::format("{}{}", kExactPrefix, event ? event->name : perf::canonical_name(requested));
    if (std::ranges::find(plan.events, name, &GroupEvent::name) != plan.events.end()) {
      continue;
    }
    if (event) {
      const wire::Unit unit = wire_unit(event->unit);
      plan.events.push_back({std::move(*event), name, unit});
    } else {
      wire::MissingEvent& missing = plan.missing.emplace_back();
      missing.set_name(name);
      missing.set_reason(event.error().text());
    }
  }
  return plan;
}

std::unique_ptr<WindowCounts> exact_counts(const ExactCountSettings& settings,
                                           std::span<const std::string> allowed, const EventSource& machine,
                                           const identity::ProcFs& proc_fs,
                                           std::shared_ptr<const identity::JobRules> rules) {
  return settings.groups == nullptr ? nullptr
                                    : std::make_unique<GroupCounters>(
                                          plan_group_counts(settings, allowed, machine), hierarchy(),
                                          std::make_unique<PerfGroupCounters>(), proc_fs, std::move(rules));
}

Result<std::string> try_exact_counts() {
  const std::string root = hierarchy();
  if (root.empty()) {
    return fail(ErrorCode::kUnsupported,
                "neither the unified hierarchy of control groups nor v1's perf_event is below {}", kMounts);
  }
  const PerfGroupCounters counters;
  const auto event = perf::find_event("task-clock");
  const auto cpus = counters.cpus();
  if (!event || !cpus) {
    return !event ? propagate(event) : propagate(cpus);
  }
  const auto opened = counters.open(root, *event, std::span(*cpus).first(1));
  return opened ? Result<std::string>(root) : propagate(opened);
}

}  // namespace plimsoll
