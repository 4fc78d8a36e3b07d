#include "daemon/event_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "daemon/sampling/event_rate.h"

namespace plimsoll {
namespace {

// Of events that nobody asked for: enough to tell in which instances they happen.
constexpr uint32_t kCompanionRateHz = 10;
constexpr std::array<std::string_view, 2> kCompanions{"context-switches", "cpu-migrations"};
// Shorter periods than these cost too much where an event becomes frequent within a window.
constexpr uint64_t kMinPeriodOfPmu = 10'000;
constexpr uint64_t kMinPeriodOfTracepoint = 10;
constexpr int64_t kDefaultTurnNs = 1'000'000'000;
constexpr int64_t kShortestTurnNs = 20'000'000;
constexpr int64_t kFewestTurns = 4;           // of each set within a window
constexpr uint32_t kBurstsOfCompanions = 10;  // times the rate that they are wanted at
constexpr std::string_view kSwitches = "context-switches";
constexpr std::string_view kLockBegins = "lock:contention_begin";
constexpr std::string_view kLatencyClock = "cpu-clock";
// Each takes file descriptors on every CPU, and a tenth of a second where its rate is unknown.
constexpr size_t kMaxEvents = 64;
constexpr uint64_t kLongestPeriod = uint64_t{1} << 50;  // times the largest slowdown it is still a number

// A nominal rate from what was counted, where nothing better is known.
Status learn_rate(const EventSource& machine, perf::EventType& event) {
  const auto measured = machine.rate_of(event);
  if (!measured) {
    return propagate(measured);
  }
  event.nominal_per_second = std::clamp(*measured, 1.0, event.nominal_per_second);
  return {};
}

uint64_t min_period_of(const perf::EventType& event) {
  return event.codes.front().type == PERF_TYPE_TRACEPOINT ? kMinPeriodOfTracepoint : kMinPeriodOfPmu;
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
  if (request.period() > kLongestPeriod) {
    return fail(ErrorCode::kInvalid, "the period of event {} is over the maximum of {}", sampled.name,
                kLongestPeriod);
  }
  if (request.period() == 0 && sampled.has_unknown_rate) {
    if (auto learnt = learn_rate(machine, sampled); !learnt) {
      return propagate(learnt);
    }
    event.followed_rate_hz = rate_hz;
    event.min_period = min_period_of(sampled);
  }
  if (request.period() == 0) {
    event.sampled.mean_period = std::max(perf::mean_period(sampled, rate_hz), event.min_period);
  }
  return event;
}

wire::EventRequest request_of(std::string_view name) {
  wire::EventRequest request;
  request.set_name(std::string(name));
  return request;
}

uint64_t period_over_share(uint64_t period, double share) {
  return static_cast<uint64_t>(std::min(static_cast<double>(period) / share, double{kLongestPeriod}));
}

// Puts a plan together, event by event.
class Planner {
 public:
  Planner(const wire::Assignment& assignment, std::span<const std::string> allowed,
          const EventSource& machine)
      : assignment_(assignment), allowed_(allowed), machine_(machine) {}

  Result<EventPlan> plan();

 private:
  Status choose(const wire::EventRequest& request, uint32_t rate_hz);
  Status choose_counted(const perf::EventType& event);
  Status choose_waits(const wire::EventRequest& request);
  Status choose_defaults();
  Status choose_stand_in();
  Status choose_requested(std::span<const wire::EventRequest> requests);
  void say_missing(std::string_view name, const Error& why);
  // Which share of the samples has a stack, as the assignment has it.
  void share_stacks();
  void share_stacks_of(PlannedEvent& event);
  Status try_twice(const perf::EventType& event) const;
  // Not asked for, and no loss where they cannot be had: they say so, that is all.
  void add_companions();
  // What CPU time by latency is made of, after what was asked for, which may have it.
  void add_latency_clock();
  // What the stacks of waits come from.
  void add_wait_stacks();
  void add_stacks_of(std::string_view name);
  // Where the assignment asks for them; no failure of the others where this machine records none.
  void add_branch_stacks();
  void number_sets();

  const wire::Assignment& assignment_;
  const std::span<const std::string> allowed_;
  const EventSource& machine_;
  EventPlan plan_;
};

Result<EventPlan> Planner::plan() {
  // Without a choice the events are the machine's to choose, and so are those that it allows.
  std::vector<wire::EventRequest> requests(assignment_.events().begin(), assignment_.events().end());
  if (requests.empty()) {
    std::ranges::transform(allowed_, std::back_inserter(requests), request_of);
  }
  const auto chosen = requests.empty() ? choose_defaults() : choose_requested(requests);
  if (!chosen) {
    return propagate(chosen);
  }
  add_latency_clock();
  share_stacks();
  add_wait_stacks();
  add_companions();
  add_branch_stacks();
  number_sets();
  return std::move(plan_);
}

// Counts of PMUs that do not sample are events of the machine as a whole.
Status Planner::choose_counted(const perf::EventType& event) {
  const auto tried = machine_.try_counting(event);
  if (tried) {
    plan_.counted.push_back(event);
  }
  return tried;
}

Status Planner::choose(const wire::EventRequest& request, uint32_t rate_hz) {
  if (!is_allowed(request.name(), allowed_)) {
    return fail(ErrorCode::kDenied, "event {} is not among those this machine allows (limits.events)",
                request.name());
  }
  if (perf::is_wait_event(request.name())) {
    return choose_waits(request);
  }
  const auto found = machine_.find(request.name());
  if (!found) {
    return propagate(found);
  }
  if (is_planned(found->name, plan_)) {
    return fail(ErrorCode::kInvalid, "event {} is requested twice", found->name);
  }
  if (found->is_for_packages) {
    return choose_counted(*found);
  }
  std::string note = found->definition;
  auto type = sampleable_part(*found, machine_, note);
  if (!type) {
    const bool may_count = type.error().code == ErrorCode::kUnsupported;
    return may_count && choose_counted(*found) ? Status() : propagate(type);
  }
  auto event = planned(std::move(*type), request, rate_hz, machine_);
  if (!event) {
    return propagate(event);
  }
  event->note = note;
  plan_.events.push_back(std::move(*event));
  return {};
}

Status Planner::choose_waits(const wire::EventRequest& request) {
  const std::string& name = request.name();
  if (std::ranges::find(plan_.waits, name) != plan_.waits.end()) {
    return fail(ErrorCode::kInvalid, "event {} is requested twice", name);
  }
  if (request.period() != 0) {
    return with_hint(fail(ErrorCode::kInvalid, "event {} has no period", name),
                     fmt::format("its stacks have that of {}", kSwitches));
  }
  std::vector<std::string_view> tracepoints;
  if (name == perf::kRunnableEvent) {
    tracepoints = {"sched:sched_wakeup"};
  } else if (name == perf::kLockWaitEvent) {
    tracepoints = {kLockBegins, "lock:contention_end"};
  }
  for (const std::string_view tracepoint : tracepoints) {
    const auto found = machine_.find(tracepoint);
    const auto tried = found ? machine_.try_sampling(*found) : propagate(found);
    if (!tried) {
      return propagate(tried, "event {}", name);
    }
  }
  plan_.waits.push_back(name);
  return {};
}

void Planner::add_latency_clock() {
  const auto latency = std::ranges::find(plan_.waits, perf::kCpuLatencyEvent);
  if (latency == plan_.waits.end() || is_planned(kLatencyClock, plan_)) {
    return;
  }
  if (auto chosen = choose(request_of(kLatencyClock), assignment_.rate_hz()); !chosen) {
    plan_.waits.erase(latency);
    say_missing(perf::kCpuLatencyEvent, chosen.error());
  }
}

Status Planner::choose_defaults() {
  for (const char* name : {"cycles", "instructions"}) {
    const auto chosen = choose(request_of(name), assignment_.rate_hz());
    if (!chosen && chosen.error().code != ErrorCode::kUnsupported) {
      return chosen;
    }
    if (!chosen) {
      say_missing(name, chosen.error());
    }
  }
  return is_sampled("cycles", plan_) ? Status() : choose_stand_in();
}

Status Planner::choose_stand_in() {
  if (auto chosen = choose(request_of("cpu-clock"), assignment_.rate_hz()); !chosen) {
    return chosen;
  }
  if (!is_sampled("cpu-clock", plan_)) {
    return fail(ErrorCode::kUnsupported, "neither cycles nor cpu-clock can be sampled here");
  }
  PlannedEvent& stand_in = plan_.events.back();
  stand_in.requested_name = "cycles";
  stand_in.note = "no hardware counters: using cpu-clock instead of cycles";
  plan_.notes.push_back(stand_in.note);
  return {};
}

Status Planner::choose_requested(std::span<const wire::EventRequest> requests) {
  Status last_failure;
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto chosen =
        i < kMaxEvents ? choose(requests[i], assignment_.rate_hz())
                       : fail(ErrorCode::kTooLarge, "event {} is over the limit of {} events per assignment",
                              requests[i].name(), kMaxEvents);
    if (!chosen) {
      say_missing(requests[i].name(), chosen.error());
      last_failure = chosen;
    }
  }
  return plan_.events.empty() && plan_.counted.empty() && plan_.waits.empty() ? last_failure : Status();
}

void Planner::say_missing(std::string_view name, const Error& why) {
  plan_.notes.push_back(why.text());
  wire::MissingEvent& missing = plan_.missing.emplace_back();
  missing.set_name(std::string(name));
  missing.set_reason(why.text());
}

void Planner::share_stacks() {
  if (assignment_.stack_rate_hz() == assignment_.rate_hz()) {
    return;
  }
  plan_.notes.push_back(
      fmt::format("{} of {} samples have stacks, the others have the instruction address only",
                  assignment_.stack_rate_hz(), assignment_.rate_hz()));
  for (PlannedEvent& event : plan_.events) {
    share_stacks_of(event);
  }
}

void Planner::share_stacks_of(PlannedEvent& event) {
  const perf::EventType& type = event.sampled.type;
  if (event.sampled.mean_period == 1) {
    plan_.notes.push_back(
        fmt::format("{} is sampled at every occurrence, with a stack per sample", type.name));
    return;
  }
  const double share = static_cast<double>(assignment_.stack_rate_hz()) / assignment_.rate_hz();
  if (const auto tried = try_twice(type); tried) {
    event.sampled.stack_share = share;
  } else {
    // As many stacks as asked for, which is what they cost; fewer samples.
    event.sampled.mean_period = period_over_share(event.sampled.mean_period, share);
    event.followed_rate_hz *= share;
    plan_.notes.push_back(
        fmt::format("{} is sampled at the rate of its stacks: {}", type.name, tried.error().text()));
  }
}

Status Planner::try_twice(const perf::EventType& event) const {
  for (const perf::EventCode& code : event.codes) {
    if (auto tried = machine_.try_sampling_twice(with_one_code(event, code)); !tried) {
      return tried;
    }
  }
  return {};
}

void Planner::add_stacks_of(std::string_view name) {
  const auto chosen = choose(request_of(name), assignment_.stack_rate_hz());
  if (!chosen || !is_sampled(name, plan_)) {
    plan_.notes.push_back(
        fmt::format("waits have no stacks: {}",
                    chosen ? fmt::format("{} cannot be sampled", name) : chosen.error().text()));
    return;
  }
  PlannedEvent& event = plan_.events.back();
  event.is_companion = true;
  event.sampled.set = perf::kEverySet;
  event.followed_rate_hz = assignment_.stack_rate_hz();
  // Threads may begin to switch often within a window, as companions may.
  event.min_period =
      std::max(event.min_period,
               perf::mean_period(event.sampled.type, assignment_.stack_rate_hz() * kBurstsOfCompanions));
}

void Planner::add_wait_stacks() {
  if (plan_.waits.empty()) {
    return;
  }
  const auto has = [&](std::string_view name) {
    return std::ranges::find(plan_.waits, name) != plan_.waits.end();
  };
  if (const auto switches = machine_.find(kSwitches)) {
    plan_.switches_per_second = machine_.rate_of(*switches).value_or(switches->nominal_per_second);
  }
  if ((has(perf::kOffCpuEvent) || has(perf::kRunnableEvent)) && !is_planned(kSwitches, plan_)) {
    add_stacks_of(kSwitches);
    if (is_sampled(kSwitches, plan_)) {
      PlannedEvent& event = plan_.events.back();
      event.sampled.mean_period = perf::followed_period(plan_.switches_per_second, event.followed_rate_hz,
                                                        event.sampled.mean_period, event.min_period);
    }
  }
  if (has(perf::kLockWaitEvent) && !is_planned(kLockBegins, plan_)) {
    add_stacks_of(kLockBegins);
  }
}

void Planner::add_companions() {
  for (const std::string_view name : kCompanions) {
    if (is_planned(name, plan_) || !is_allowed(name, allowed_)) {
      continue;
    }
    if (auto chosen = choose(request_of(name), kCompanionRateHz); !chosen) {
      say_missing(name, chosen.error());
      continue;
    }
    if (!is_sampled(name, plan_)) {
      continue;  // counted, which tells as much of the machine
    }
    PlannedEvent& event = plan_.events.back();
    event.is_companion = true;
    event.sampled.stack_share = 0;
    event.sampled.set = perf::kEverySet;
    event.followed_rate_hz = kCompanionRateHz;
    event.min_period = perf::mean_period(event.sampled.type, kCompanionRateHz * kBurstsOfCompanions);
  }
}

void Planner::add_branch_stacks() {
  if (assignment_.branch_rate_hz() == 0) {
    return;
  }
  if (!is_allowed(kBranchStacks, allowed_)) {
    say_missing(kBranchStacks,
                fail(ErrorCode::kDenied, "event {} is not among those this machine allows (limits.events)",
                     kBranchStacks)
                    .error());
    return;
  }
  auto type = branch_stacks(machine_);
  if (!type) {
    say_missing(kBranchStacks, type.error());
    return;
  }
  const uint64_t period = perf::mean_period(*type, assignment_.branch_rate_hz());
  plan_.events.push_back({.sampled = {.type = std::move(*type),
                                      .mean_period = period,
                                      .stack_share = 0,
                                      .set = perf::kEverySet,
                                      .with_branches = true},
                          .requested_name = std::string(kBranchStacks),
                          .note = "cycles in user mode, each sample with the branches before it",
                          .is_companion = true});
}

// From 0, whatever numbers were asked for: one of them stands for every set.
void Planner::number_sets() {
  std::map<uint32_t, uint32_t> numbers;
  for (PlannedEvent& event : plan_.events) {
    if (!event.is_companion) {
      event.sampled.set =
          numbers.try_emplace(event.sampled.set, static_cast<uint32_t>(numbers.size())).first->second;
    }
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

Result<EventPlan> plan_events(const wire::Assignment& assignment, std::span<const std::string> allowed,
                              const EventSource& machine) {
  return Planner(assignment, allowed, machine).plan();
}

void follow_rates(std::span<const perf::EventCounts> counts, EventPlan& plan, perf::Sampler& sampler) {
  for (size_t i = 0; i < plan.events.size(); ++i) {
    PlannedEvent& event = plan.events[i];
    const double per_second = counts[i].busiest_per_second;
    if (event.followed_rate_hz > 0 && per_second > 0) {
      event.sampled.mean_period = perf::followed_period(per_second, event.followed_rate_hz,
                                                        event.sampled.mean_period, event.min_period);
      sampler.set_mean_period(i, event.sampled.mean_period);
    }
  }
}

}  // namespace plimsoll
