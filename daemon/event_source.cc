#include "daemon/event_source.h"

#include <algorithm>

#include "daemon/events/cpu_list.h"
#include "daemon/events/event_names.h"
#include "daemon/sampling/event_config.h"
#include "daemon/sampling/event_rate.h"
#include "daemon/sampling/open_event.h"

namespace plimsoll {
namespace {

constexpr int64_t kRateTrialNs = 100'000'000;
// Of trials, which are never enabled.
constexpr uint64_t kTrialPeriod = 1'000'000;
constexpr uint32_t kTrialWakeupBytes = 4096;

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

}  // namespace

Status LiveEvents::try_sampling(const perf::EventType& event) const {
  return try_open(perf::sampling_attr(event, kTrialPeriod, kTrialWakeupBytes, 0), event);
}

Status LiveEvents::try_counting(const perf::EventType& event) const {
  return try_open(perf::counting_attr(event), event);
}

Status LiveEvents::try_sampling_twice(const perf::EventType& event) const {
  const auto cpu = cpu_of(event);
  if (!cpu) {
    return propagate(cpu);
  }
  const auto leader =
      perf::open_event(perf::sampling_attr(event, kTrialPeriod, kTrialWakeupBytes, 0), *cpu, event.name);
  if (!leader) {
    return propagate(leader);
  }
  perf_event_attr bare = perf::bare_sampling_attr(event, kTrialPeriod, kTrialWakeupBytes);
  bare.disabled = 0;  // as the sampler has it: it goes with its leader
  const auto second = perf::open_event(bare, *cpu, event.name, leader->get());
  return second ? Status() : propagate(second);
}

Status LiveEvents::try_branches(const perf::EventType& event) const {
  return try_open(perf::branch_sampling_attr(event, kTrialPeriod, kTrialWakeupBytes), event);
}

Result<double> LiveEvents::rate_of(const perf::EventType& event) const {
  const auto cpus = perf::online_cpus();
  return cpus ? perf::busiest_rate(event, *cpus, kRateTrialNs) : propagate(cpus);
}

bool is_allowed(std::string_view name, std::span<const std::string> allowed) {
  return allowed.empty() || std::ranges::any_of(allowed, [&](const std::string& other) {
           return perf::canonical_name(other) == perf::canonical_name(name);
         });
}

perf::EventType with_one_code(const perf::EventType& event, const perf::EventCode& code) {
  perf::EventType part = event;
  part.codes = {code};
  return part;
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

Result<perf::EventType> branch_stacks(const EventSource& machine) {
  const auto cycles = machine.find("cycles");
  if (!cycles) {
    return propagate(cycles, "recording branches");
  }
  perf::EventType stacks = *cycles;
  stacks.name = kBranchStacks;
  stacks.codes.clear();
  Status last_failure = fail(ErrorCode::kUnsupported, "no CPU counts cycles");
  for (const perf::EventCode& code : cycles->codes) {
    if (const auto tried = machine.try_branches(with_one_code(*cycles, code)); tried) {
      stacks.codes.push_back(code);
    } else {
      last_failure = tried;
    }
  }
  return stacks.codes.empty() ? propagate(last_failure, "recording branches")
                              : Result<perf::EventType>(std::move(stacks));
}

}  // namespace plimsoll
