#include "daemon/event_plan.h"

#include <algorithm>
#include <array>
#include <set>

#include "daemon/perf/cpu_list.h"
#include "daemon/perf/event_rate.h"
#include "daemon/perf/open_event.h"

namespace plimsoll {
namespace {

constexpr int64_t kRateTrialNs = 100'000'000;
// Of events that nobody asked for: enough to tell in which instances they happen.
constexpr uint32_t kCompanionRateHz = 10;
constexpr std::array<std::string_view, 2> kCompanions{"context-switches", "cpu-migrations"};
// Shorter periods than these cost too much where an event becomes frequent within a window.
constexpr uint64_t kLeastPeriodOfPmu = 10'000;
constexpr uint64_t kLeastPeriodOfTracepoint = 10;
constexpr int64_t kDefaultTurnNs = 1'000'000'000;
constexpr int64_t kShortestTurnNs = 20'000'000;
constexpr int64_t kFewestTurns = 4;           // of each set within a window
constexpr uint32_t kBurstsOfCompanions = 10;  // times the rate that they are wanted at

bool is_allowed(std::string_view name, std::span<const std::string> allowed) {
  return allowed.empty() || std::ranges::any_of(allowed, [&](const std::string& other) {
           return perf::canonical_name(other) == perf::canonical_name(name);
         });
}

void say_missing(std::string_view name, const Error& why, EventPlan& plan) {
  plan.notes.push_back(why.text());
  wire::MissingEvent& missing = plan.missing.emplace_back();
  missing.set_name(std::string(name));
  missing.set_reason(why.text());
}

perf::EventType with_one_code(const perf::EventType& event, const perf::EventCode& code) {
  perf::EventType part = event;
  part.codes = {code};
  return part;
}

// A CPU that is online and has the event.
Result<int> cpu_of(const perf::EventType& event) {
  const auto cpus = perf::online_cpus();
  if (!cpus) {
    return propagate(cpus);
  }
  const auto found = std::ranges::find_if(*cpus, [&](int cpu) { return code_on(event, cpu) != nullptr; });
  return found != cpus->end()
             ? Result<int>(*found)
             : fail(ErrorCode::kUnsupported, "no CPU that counts event {} is online", event.name);
}

Status try_open(const perf_event_attr& attr, const perf::EventType& event) {
  const auto cpu = cpu_of(event);
  if (!cpu) {
    return propagate(cpu);
  }
  const auto fd = perf::open_event(attr, *cpu, event.name);
  return fd ? Status() : propagate(fd);
}

// A nominal rate from what was counted, where nothing better is known.
Status learn_rate(const EventSource& machine, perf::EventType& event) {
  const auto measured = machine.rate_of(event);
  if (!measured) {
    return propagate(measured);
  }
  event.nominal_per_second = std::clamp(*measured, 1.0, event.nominal_per_second);
  return {};
}

uint64_t least_period_of(const perf::EventType& event) {
  return event.codes.front().type == PERF_TYPE_TRACEPOINT ? kLeastPeriodOfTracepoint : kLeastPeriodOfPmu;
}

bool is_sampled(std::string_view name, const EventPlan& plan) {
  return std::ranges::any_of(plan.events,
                             [&](const PlannedEvent& event) { return event.sampled.type.name == name; });
}

bool is_planned(std::string_view name, const EventPlan& plan) {
  return is_sampled(name, plan) ||
         std::ranges::any_of(plan.counted, [&](const perf::EventType& event) { return event.name == name; });
}

// Of an event that can be sampled here, as it was asked for.
Result<PlannedEvent> planned(perf::EventType type, const wire::EventRequest& request, uint32_t rate_hz,
                             const EventSource& machine) {
  PlannedEvent event{.sampled = {.type = std::move(type), .mean_period = request.period()},
                     .requested_name = request.name(),
                     .note = {}};
  event.sampled.set = request.set();
  event.sampled.random_period = request.period() != 1;
  perf::EventType& sampled = event.sampled.type;
  if (sampled.scale != 1) {
    // Hits stand for counts.
    sampled.unit = perf::EventUnit::kCount;
    sampled.scale = 1;
  }
  if (request.period() == 0 && sampled.has_unknown_rate) {
    if (auto learnt = learn_rate(machine, sampled); !learnt) {
      return propagate(learnt);
    }
    event.followed_rate_hz = rate_hz;
    event.least_period = least_period_of(sampled);
  }
  if (request.period() == 0) {
    event.sampled.mean_period = std::max(perf::mean_period(sampled, rate_hz), event.least_period);
  }
  return event;
}

// Counts of PMUs that do not sample are events of the machine as a whole.
Status choose_counted(const perf::EventType& event, const EventSource& machine, EventPlan& plan) {
  const auto tried = machine.try_counting(event);
  if (tried) {
    plan.counted.push_back(event);
  }
  return tried;
}

Status choose_event(const wire::EventRequest& request, uint32_t rate_hz, const EventSource& machine,
                    EventPlan& plan) {
  const auto found = machine.find(request.name());
  if (!found) {
    return propagate(found);
  }
  if (is_planned(found->name, plan)) {
    return fail(ErrorCode::kInvalid, "event {} is asked for twice", found->name);
  }
  if (found->is_for_packages) {
    return choose_counted(*found, machine, plan);
  }
  std::string note;
  auto type = sampleable_part(*found, machine, note);
  if (!type) {
    const bool may_count = type.error().code == ErrorCode::kUnsupported;
    return may_count && choose_counted(*found, machine, plan) ? Status() : propagate(type);
  }
  auto event = planned(std::move(*type), request, rate_hz, machine);
  if (!event) {
    return propagate(event);
  }
  event->note = note;
  plan.events.push_back(std::move(*event));
  return {};
}

wire::EventRequest request_of(std::string_view name) {
  wire::EventRequest request;
  request.set_name(std::string(name));
  return request;
}

Status choose_default_events(uint32_t rate_hz, const EventSource& machine, EventPlan& plan) {
  for (const char* name : {"cycles", "instructions"}) {
    const auto chosen = choose_event(request_of(name), rate_hz, machine, plan);
    if (!chosen && chosen.error().code != ErrorCode::kUnsupported) {
      return chosen;
    }
    if (!chosen) {
      say_missing(name, chosen.error(), plan);
    }
  }
  if (is_sampled("cycles", plan)) {
    return {};
  }
  if (auto chosen = choose_event(request_of("cpu-clock"), rate_hz, machine, plan); !chosen) {
    return chosen;
  }
  if (!is_sampled("cpu-clock", plan)) {
    return fail(ErrorCode::kUnsupported, "neither cycles nor cpu-clock can be sampled here");
  }
  PlannedEvent& stand_in = plan.events.back();
  stand_in.requested_name = "cycles";
  stand_in.note = "no hardware counters here: cpu-clock stands in for cycles";
  plan.notes.push_back(stand_in.note);
  return {};
}

// Which share of the samples has a stack, as the assignment has it.
void share_stacks(const wire::Assignment& assignment, EventPlan& plan) {
  if (assignment.stack_rate_hz() == assignment.rate_hz()) {
    return;
  }
  plan.notes.push_back(fmt::format("stacks are taken with {} of {} samples, the others have their leaf alone",
                                   assignment.stack_rate_hz(), assignment.rate_hz()));
  for (PlannedEvent& event : plan.events) {
    if (event.sampled.mean_period > 1) {
      event.sampled.stack_share = static_cast<double>(assignment.stack_rate_hz()) / assignment.rate_hz();
    } else {
      plan.notes.push_back(fmt::format(
          "{} is sampled with every occurrence, and has a stack with each sample", event.sampled.type.name));
    }
  }
}

Status choose_requested_events(const wire::Assignment& assignment, const EventSource& machine,
                               EventPlan& plan) {
  Status last_failure;
  for (const wire::EventRequest& request : assignment.events()) {
    if (auto chosen = choose_event(request, assignment.rate_hz(), machine, plan); !chosen) {
      say_missing(request.name(), chosen.error(), plan);
      last_failure = chosen;
    }
  }
  return plan.events.empty() && plan.counted.empty() ? last_failure : Status();
}

// Not asked for, and no loss where they cannot be had: they say so, that is all.
void add_companions(std::span<const std::string> allowed, const EventSource& machine, EventPlan& plan) {
  for (const std::string_view name : kCompanions) {
    if (is_planned(name, plan) || !is_allowed(name, allowed)) {
      continue;
    }
    if (auto chosen = choose_event(request_of(name), kCompanionRateHz, machine, plan); !chosen) {
      say_missing(name, chosen.error(), plan);
      continue;
    }
    if (!is_sampled(name, plan)) {
      continue;  // counted, which tells as much of the machine
    }
    PlannedEvent& event = plan.events.back();
    event.is_companion = true;
    event.sampled.stack_share = 0;
    event.sampled.set = perf::kEverySet;
    event.followed_rate_hz = kCompanionRateHz;
    event.least_period = perf::mean_period(event.sampled.type, kCompanionRateHz * kBurstsOfCompanions);
  }
}

}  // namespace

size_t count_sets(const EventPlan& plan) {
  std::set<uint32_t> sets;
  for (const PlannedEvent& event : plan.events) {
    if (event.sampled.set != perf::kEverySet) {
      sets.insert(event.sampled.set);
    }
  }
  return std::max<size_t>(sets.size(), 1);
}

int64_t turn_ns(const wire::Assignment& assignment, const EventPlan& plan) {
  const int64_t wanted_ns = assignment.turn_ns() > 0 ? assignment.turn_ns() : kDefaultTurnNs;
  const auto turns = kFewestTurns * static_cast<int64_t>(count_sets(plan));
  const int64_t longest_ns = assignment.duration_ns() > 0 ? assignment.duration_ns() / turns : wanted_ns;
  return std::max(kShortestTurnNs, std::min(wanted_ns, longest_ns));
}

Status LiveEvents::try_sampling(const perf::EventType& event) const {
  return try_open(perf::sampling_attr(event, 1'000'000, 4096, 0), event);
}

Status LiveEvents::try_counting(const perf::EventType& event) const {
  return try_open(perf::counting_attr(event), event);
}

Result<double> LiveEvents::rate_of(const perf::EventType& event) const {
  const auto cpus = perf::online_cpus();
  return cpus ? perf::busiest_rate(event, *cpus, kRateTrialNs) : propagate(cpus);
}

Result<perf::EventType> sampleable_part(const perf::EventType& event, const EventSource& machine,
                                        std::string& note) {
  perf::EventType part = event;
  part.codes.clear();
  Status last_failure;
  for (const perf::EventCode& code : event.codes) {
    const auto tried = machine.try_sampling(with_one_code(event, code));
    if (tried) {
      part.codes.push_back(code);
      continue;
    }
    if (tried.error().code != ErrorCode::kUnsupported) {
      return propagate(tried);
    }
    last_failure = tried;
    note = fmt::format("not counted on the CPUs of {}, which does not offer it", code.pmu);
  }
  return part.codes.empty() ? propagate(last_failure) : Result<perf::EventType>(std::move(part));
}

Result<EventPlan> plan_events(const wire::Assignment& assignment, std::span<const std::string> allowed,
                              const EventSource& machine) {
  EventPlan plan;
  const auto chosen = assignment.events().empty() ? choose_default_events(assignment.rate_hz(), machine, plan)
                                                  : choose_requested_events(assignment, machine, plan);
  if (!chosen) {
    return propagate(chosen);
  }
  share_stacks(assignment, plan);
  add_companions(allowed, machine, plan);
  return plan;
}

void follow_rates(std::span<const double> per_second, EventPlan& plan, perf::Sampler& sampler) {
  for (size_t i = 0; i < plan.events.size(); ++i) {
    PlannedEvent& event = plan.events[i];
    if (event.followed_rate_hz > 0 && per_second[i] > 0) {
      event.sampled.mean_period = perf::followed_period(per_second[i], event.followed_rate_hz,
                                                        event.sampled.mean_period, event.least_period);
      sampler.set_mean_period(i, event.sampled.mean_period);
    }
  }
}

}  // namespace plimsoll
