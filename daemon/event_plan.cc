#include "daemon/event_plan.h"

#include "daemon/perf/cpu_list.h"
#include "daemon/perf/open_event.h"

namespace plimsoll {
namespace {

// Whether this machine can sample the event at all.
Status try_event(const perf::EventType& type) {
  const auto cpus = perf::online_cpus();
  if (!cpus) {
    return propagate(cpus);
  }
  const auto fd = perf::open_event(perf::sampling_attr(type, 1'000'000, 4096, 0), cpus->front(), type.name);
  return fd ? Status() : propagate(fd);
}

Status choose_default_event(uint32_t rate_hz, EventPlan& plan) {
  const perf::EventType cycles = *perf::find_event("cycles");
  const auto tried = try_event(cycles);
  if (tried) {
    plan.events.push_back({{cycles, perf::mean_period(cycles, rate_hz)}, "cycles", ""});
    return {};
  }
  if (tried.error().code != ErrorCode::kUnsupported) {
    return tried;
  }
  const perf::EventType cpu_clock = *perf::find_event("cpu-clock");
  plan.events.push_back({{cpu_clock, perf::mean_period(cpu_clock, rate_hz)},
                         "cycles",
                         "no hardware counters here: cpu-clock stands in for cycles"});
  plan.notes.push_back(plan.events.back().note);
  return {};
}

Status choose_requested_event(const wire::EventRequest& request, uint32_t rate_hz, EventPlan& plan) {
  const auto type = perf::find_event(request.name());
  if (!type) {
    return propagate(type);
  }
  if (auto tried = try_event(*type); !tried) {
    return tried;
  }
  for (const PlannedEvent& chosen : plan.events) {
    if (chosen.sampled.type.name == type->name) {
      return fail(ErrorCode::kInvalid, "event {} is asked for twice", type->name);
    }
  }
  perf::SampledEvent sampled{*type, perf::mean_period(*type, rate_hz)};
  if (request.period() != 0) {
    sampled.mean_period = request.period();
    sampled.random_period = request.period() > 1;
  }
  plan.events.push_back({sampled, request.name(), ""});
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

Status choose_events(const wire::Assignment& assignment, EventPlan& plan) {
  if (assignment.events().empty()) {
    return choose_default_event(assignment.rate_hz(), plan);
  }
  Status last_failure;
  for (const wire::EventRequest& request : assignment.events()) {
    if (auto chosen = choose_requested_event(request, assignment.rate_hz(), plan); !chosen) {
      plan.notes.push_back(chosen.error().text());
      wire::MissingEvent& missing = plan.missing.emplace_back();
      missing.set_name(request.name());
      missing.set_reason(chosen.error().text());
      last_failure = chosen;
    }
  }
  return plan.events.empty() ? last_failure : Status();
}

}  // namespace

Result<EventPlan> plan_events(const wire::Assignment& assignment) {
  EventPlan plan;
  if (auto chosen = choose_events(assignment, plan); !chosen) {
    return propagate(chosen);
  }
  share_stacks(assignment, plan);
  return plan;
}

void describe_events(const EventPlan& plan, wire::RawProfile& profile) {
  for (const PlannedEvent& planned : plan.events) {
    wire::Event& event = *profile.add_events();
    event.set_name(std::string(planned.sampled.type.name));
    event.set_requested_name(planned.requested_name);
    event.set_note(planned.note);
    event.set_unit(planned.sampled.type.unit == perf::EventUnit::kNanoseconds ? wire::NANOSECONDS
                                                                              : wire::COUNT);
    event.set_kind(wire::DELTA);
    event.set_mean_period(planned.sampled.mean_period);
  }
  for (const wire::MissingEvent& missing : plan.missing) {
    *profile.add_missing_events() = missing;
  }
}

}  // namespace plimsoll
