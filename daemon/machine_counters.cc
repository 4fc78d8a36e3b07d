#include "daemon/machine_counters.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "daemon/event_plan.h"
#include "daemon/events/cpu_list.h"
#include "daemon/sampling/event_config.h"
#include "daemon/sampling/open_event.h"

namespace plimsoll {
namespace {

// One for all windows and kinds of counters, so that a profile has it once.
const std::shared_ptr<identity::ProcessIdentity>& whole_machine() {
  static const auto identity = [] {
    auto machine = std::make_shared<identity::ProcessIdentity>();
    machine->comm = "[machine]";
    return machine;
  }();
  return identity;
}

void say_missing(const std::string& name, const std::string& reason, wire::RawProfile& profile) {
  wire::MissingEvent& missing = *profile.add_missing_events();
  missing.set_name(name);
  missing.set_reason(reason);
}

}  // namespace

void add_machine_count(const MachineCount& count, wire::RawProfile& profile, ProfileBuilder& builder) {
  const auto index = static_cast<uint32_t>(profile.events_size());
  const auto hits = static_cast<uint64_t>(std::llround(std::max(count.value, 0.0)));
  wire::Event& event = *profile.add_events();
  event.set_name(count.name);
  event.set_requested_name(count.name);
  event.set_note("counted for the machine as a whole");
  event.set_unit(count.unit);
  event.set_kind(wire::DELTA);
  event.set_counter_total(static_cast<double>(hits));
  event.set_time_enabled_ns(count.time_enabled_ns);
  event.set_time_running_ns(count.time_running_ns);
  if (hits > 0) {
    event.set_samples(1);
    builder.add_count(index, builder.thread(builder.process(whole_machine()), 0, "[machine]"), hits);
  }
}

MachineCounters::MachineCounters(const std::vector<perf::EventType>& events) {
  for (const perf::EventType& event : events) {
    counters_.push_back(open(event));
  }
}

MachineCounters::Counter MachineCounters::open(const perf::EventType& event) {
  Counter counter{.event = event, .fds = {}, .problem = {}};
  const auto cpus = perf::online_cpus();
  if (!cpus) {
    counter.problem = cpus.error().text();
    return counter;
  }
  for (const int cpu : *cpus) {
    const perf::EventCode* const code = code_on(event, cpu);
    if (code == nullptr) {
      continue;
    }
    perf_event_attr attr = perf::counting_attr(event);
    set_code(*code, attr);
    auto fd = perf::open_event(attr, cpu, event.name);
    if (!fd) {
      counter.problem = fd.error().text();
      counter.fds.clear();
      return counter;
    }
    counter.fds.push_back(std::move(*fd));
  }
  return counter;
}

Result<perf::CounterValues> MachineCounters::read(const Counter& counter) {
  if (!counter.problem.empty()) {
    return fail(ErrorCode::kUnsupported, "{}", counter.problem);
  }
  perf::CounterValues sum{};
  for (const UniqueFd& fd : counter.fds) {
    const auto values = perf::read_counter(fd);
    if (!values) {
      return propagate(values);
    }
    sum.value += values->value;
    sum.time_enabled_ns += values->time_enabled_ns;
    sum.time_running_ns += values->time_running_ns;
  }
  return sum;
}

void MachineCounters::start() {
  for (Counter& counter : counters_) {
    counter.at_start = read(counter);
  }
}

void MachineCounters::add_to(wire::RawProfile& profile, ProfileBuilder& builder) {
  for (const Counter& counter : counters_) {
    const std::string& name = counter.event.name;
    const auto& before = counter.at_start;
    const auto values = read(counter);
    if (!before || !values) {
      say_missing(name, (!before ? before : values).error().text(), profile);
      continue;
    }
    const auto ran_ns = static_cast<int64_t>(values->time_running_ns - before->time_running_ns);
    if (ran_ns == 0) {
      say_missing(name, "its counter never ran in this window", profile);
      continue;
    }
    add_machine_count(
        {.name = name,
         .unit = wire_unit(counter.event.unit),
         .value = static_cast<double>(values->value - before->value) * counter.event.scale,
         .time_enabled_ns = static_cast<int64_t>(values->time_enabled_ns - before->time_enabled_ns),
         .time_running_ns = ran_ns},
        profile, builder);
  }
}

}  // namespace plimsoll
