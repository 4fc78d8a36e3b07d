#include "daemon/events/event_catalogue.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <array>

#include "base/file.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "capture/platform/generation.h"
#include "daemon/events/machine_aliases.h"
#include "daemon/events/tracepoints.h"

namespace plimsoll::perf {
namespace {

constexpr uint64_t kMaxCpuInfoBytes = uint64_t{16} << 20;
constexpr size_t kMaxNameBytes = 256;
// PERF_PMU_TYPE_SHIFT: a generic event's config may name the PMU that is to count it.
constexpr unsigned kPmuTypeShift = 32;
constexpr std::string_view kOfCores = "a PMU of the CPU's cores";

bool is_of_cpu(const EventType& event) {
  const uint32_t type = event.codes.front().type;
  return type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE;
}

// Arm's PMUs each answer for their own CPUs when asked for a generic event; Intel's want the PMU named.
bool is_arm(const Pmu& pmu) {
  return pmu.name.starts_with("arm");
}

EventCode generic_code_on(const Pmu& pmu, bool is_only_one, const EventCode& code) {
  EventCode own = code;
  own.cpus = pmu.cpus;
  own.pmu = pmu.name;
  if (!is_only_one && !is_arm(pmu)) {
    own.config |= uint64_t{pmu.type} << kPmuTypeShift;
  }
  return own;
}

// Names of what is measured by other means than events of a PMU.
bool is_reserved(std::string_view name) {
  constexpr std::array<std::string_view, 14> kBeginnings{
      "alloc-", "app-cpu-", "branch-records", "branch-stacks",    "cpu-latency-", "cpu-time",  "energy-",
      "exact-", "heap-",    "lock-",          "kernel-lock-wait", "off-cpu-",     "runnable-", "wall-"};
  return std::ranges::any_of(kBeginnings, [&](std::string_view start) { return name.starts_with(start); });
}

// A name that one event gives itself must not be another's.
Status check_own_name(const std::string& name) {
  const bool is_printable = !name.empty() && name.size() <= kMaxNameBytes && printable(name) == name;
  if (!is_printable) {
    return fail(ErrorCode::kInvalid, "\"{}\" cannot be an event's name", printable(name));
  }
  return find_event(name) || is_alias(name) || is_reserved(name)
             ? fail(ErrorCode::kInvalid, "name={}: {} is another event", name, name)
             : Status();
}

}  // namespace

EventCatalogue EventCatalogue::of_this_machine() {
  return EventCatalogue({.cpuinfo = read_file("/proc/cpuinfo", kMaxCpuInfoBytes).value_or(std::string())});
}

EventCatalogue::EventCatalogue(const EventSources& sources) : sysfs_(sources.sysfs) {
  if (auto pmus = list_pmus(sysfs_)) {
    pmus_are_known_ = true;
    pmus_ = std::move(*pmus);
  }
  generation_ = platform::generation_of(platform::read_cpu_id(sources.cpuinfo, sysfs_));
}

std::vector<const Pmu*> EventCatalogue::core_pmus() const {
  std::vector<const Pmu*> cores;
  for (const Pmu& pmu : pmus_) {
    if (pmu.is_core) {
      cores.push_back(&pmu);
    }
  }
  return cores;
}

bool EventCatalogue::is_hybrid() const {
  return std::ranges::count_if(pmus_, [](const Pmu& pmu) { return pmu.is_core && !is_arm(pmu); }) > 1;
}

Result<EventType> EventCatalogue::find(std::string_view name) const {
  const auto traits = describe_event(name);
  if (!traits) {
    return propagate(traits);
  }
  if (is_wait_event(name)) {
    return fail(ErrorCode::kUnsupported, "event {} is made of switches between threads, no counter has it",
                name);
  }
  if (is_pmu_event(name)) {
    return find_pmu_event(name);
  }
  if (auto generic = find_event(name)) {
    return find_generic(std::move(*generic));
  }
  if (is_alias(name)) {
    return find_alias(name);
  }
  if (const auto tracepoint = tracepoint_name(name)) {
    return find_tracepoint(name, *tracepoint);
  }
  const auto code = raw_code(name);
  return code ? find_raw(name, *code) : fail(ErrorCode::kInvalid, "no such event: \"{}\"", name);
}

Result<EventType> EventCatalogue::find_generic(EventType event) const {
  if (!is_of_cpu(event) || !pmus_are_known_) {
    return event;
  }
  const auto cores = core_pmus();
  if (cores.empty()) {
    return no_pmu(event.name, kOfCores);
  }
  const EventCode code = event.codes.front();
  event.codes.clear();
  for (const Pmu* pmu : cores) {
    event.codes.push_back(generic_code_on(*pmu, cores.size() == 1, code));
  }
  return event;
}

Result<EventType> EventCatalogue::find_pmu_event(std::string_view name) const {
  const size_t open = name.find('/');
  const size_t close = name.find('/', open + 1);
  if (open == 0 || close == std::string_view::npos || close + 1 != name.size()) {
    return with_hint(fail(ErrorCode::kInvalid, "\"{}\" is not PMU/TERMS/", name),
                     "as in cpu/event=0x3c,umask=0x1/; modifiers behind the terms are not supported");
  }
  const std::string_view wanted = name.substr(0, open);
  const auto pmu = std::ranges::find(pmus_, wanted, &Pmu::name);
  if (pmu == pmus_.end()) {
    return no_pmu(name, fmt::format("a PMU called {}", wanted));
  }
  auto event = encode_terms(*pmu, name.substr(open + 1, close - open - 1));
  if (!event) {
    return propagate(event, "event {}", name);
  }
  const EventTraits traits = *describe_event(name);
  if (event->name.empty()) {
    event->name = traits.name;
  } else if (auto checked = check_own_name(event->name); !checked) {
    return propagate(checked, "event {}", name);
  }
  event->nominal_per_second = traits.nominal_per_second;
  event->has_unknown_rate = traits.has_unknown_rate;
  return event;
}

Result<EventType> EventCatalogue::find_alias(std::string_view name) const {
  const auto cores = core_pmus();
  if (cores.empty()) {
    return no_pmu(name, kOfCores);
  }
  EventType event;
  for (const Pmu* pmu : cores) {
    const AliasCode* const code = alias_code(name, generation_, pmu->name);
    if (code == nullptr) {
      return with_hint(fail(ErrorCode::kUnsupported, "no code for {} is known on {} (PMU {})", name,
                            generation_.empty() ? "this processor" : generation_, pmu->name),
                       fmt::format("give it as {}/event=...,umask=.../", pmu->name));
    }
    auto of_pmu = encode_terms(*pmu, code->terms);
    if (!of_pmu) {
      of_pmu.error().code = ErrorCode::kUnsupported;
      return propagate(of_pmu, "event {}", name);
    }
    event.definition = fmt::format("on {} it is {}", generation_, code->definition);
    event.codes.push_back(std::move(of_pmu->codes.front()));
  }
  static_cast<EventTraits&>(event) = *describe_event(name);
  return event;
}

Result<EventType> EventCatalogue::find_raw(std::string_view name, uint64_t code) const {
  const auto cores = core_pmus();
  if (cores.empty()) {
    return no_pmu(name, kOfCores);
  }
  if (cores.size() > 1) {
    return with_hint(
        fail(ErrorCode::kInvalid, "the raw event {} means something else on each kind of core here", name),
        fmt::format("choose one: {}/config={:#x}/", cores.front()->name, code));
  }
  EventType event{*describe_event(name), {}};
  event.codes.push_back(
      {.type = cores.front()->type, .config = code, .cpus = cores.front()->cpus, .pmu = cores.front()->name});
  return event;
}

Result<EventType> EventCatalogue::find_tracepoint(std::string_view name,
                                                  const TracepointName& tracepoint) const {
  const auto tracefs = find_tracefs(sysfs_);
  const auto id = tracefs ? tracepoint_id(*tracefs, tracepoint) : propagate(tracefs);
  if (!id) {
    return propagate(id, "event {}", name);
  }
  EventType event{*describe_event(name), {}};
  event.codes.push_back({.type = PERF_TYPE_TRACEPOINT, .config = *id});
  return event;
}

std::unexpected<Error> EventCatalogue::no_pmu(std::string_view event, std::string_view wanted) const {
  std::vector<std::string_view> names;
  for (const Pmu& pmu : pmus_) {
    names.push_back(pmu.name);
  }
  return with_hint(
      fail(ErrorCode::kUnsupported, "event {} needs {}, and {}/bus/event_source/devices lists none", event,
           wanted, sysfs_),
      fmt::format("there are {}; a virtual machine has the PMUs that its host passes on",
                  names.empty() ? std::string("no PMUs at all") : fmt::format("{}", fmt::join(names, ", "))));
}

}  // namespace plimsoll::perf
