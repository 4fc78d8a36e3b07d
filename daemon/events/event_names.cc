#include "daemon/events/event_names.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "base/suggest.h"
#include "daemon/events/machine_aliases.h"

namespace plimsoll::perf {
namespace {

constexpr double kCpuHz = 3e9;
constexpr double kClockHz = 1e9;
constexpr double kMaxTracepoints = 1e5;
constexpr std::array<std::string_view, 4> kWaitEvents{kOffCpuEvent, kRunnableEvent, kLockWaitEvent,
                                                      kCpuLatencyEvent};

EventType generic(uint32_t type, uint64_t config, const char* name, double per_second) {
  return {{.name = name, .nominal_per_second = per_second}, {{.type = type, .config = config}}};
}

EventType hardware(uint64_t config, const char* name, double per_second) {
  return generic(PERF_TYPE_HARDWARE, config, name, per_second);
}

EventType software(uint64_t config, const char* name, double per_second) {
  return generic(PERF_TYPE_SOFTWARE, config, name, per_second);
}

EventType clock(uint64_t config, const char* name) {
  EventType event = generic(PERF_TYPE_SOFTWARE, config, name, kClockHz);
  event.unit = EventUnit::kNanoseconds;
  event.is_clock = true;
  return event;
}

std::vector<EventType> generic_events() {
  return {
      hardware(PERF_COUNT_HW_CPU_CYCLES, "cycles", kCpuHz),
      hardware(PERF_COUNT_HW_INSTRUCTIONS, "instructions", kCpuHz),
      hardware(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "branches", kCpuHz / 5),
      hardware(PERF_COUNT_HW_BRANCH_MISSES, "branch-misses", kCpuHz / 300),
      hardware(PERF_COUNT_HW_CACHE_REFERENCES, "llc-references", kCpuHz / 100),
      hardware(PERF_COUNT_HW_CACHE_MISSES, "llc-misses", kCpuHz / 1000),
      hardware(PERF_COUNT_HW_REF_CPU_CYCLES, "ref-cycles", kCpuHz),
      hardware(PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, "stalled-cycles-frontend", kCpuHz / 5),
      hardware(PERF_COUNT_HW_STALLED_CYCLES_BACKEND, "stalled-cycles-backend", kCpuHz / 3),
      hardware(PERF_COUNT_HW_BUS_CYCLES, "bus-cycles", kCpuHz / 30),
      clock(PERF_COUNT_SW_CPU_CLOCK, "cpu-clock"),
      clock(PERF_COUNT_SW_TASK_CLOCK, "task-clock"),
      software(PERF_COUNT_SW_PAGE_FAULTS, "page-faults", 1e4),
      software(PERF_COUNT_SW_PAGE_FAULTS_MIN, "minor-faults", 1e4),
      software(PERF_COUNT_SW_PAGE_FAULTS_MAJ, "major-faults", 1e2),
      software(PERF_COUNT_SW_CONTEXT_SWITCHES, "context-switches", 1e4),
      software(PERF_COUNT_SW_CPU_MIGRATIONS, "cpu-migrations", 1e3),
      software(PERF_COUNT_SW_ALIGNMENT_FAULTS, "alignment-faults", 1e2),
  };
}

// The config of a cache event: cache | operation << 8 | result << 16 (perf_event_open(2)).
constexpr std::array<std::string_view, 7> kCaches{"L1-dcache", "L1-icache", "LLC", "dTLB",
                                                  "iTLB",      "branch",    "node"};
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOperations{
    {{"load", "loads"}, {"store", "stores"}, {"prefetch", "prefetches"}}};

EventType cache_event(uint64_t cache, uint64_t operation, bool is_miss) {
  const std::string name = is_miss ? fmt::format("{}-{}-misses", kCaches[cache], kOperations[operation].first)
                                   : fmt::format("{}-{}", kCaches[cache], kOperations[operation].second);
  EventType event = generic(PERF_TYPE_HW_CACHE, cache | operation << 8U | (is_miss ? 1ULL << 16U : 0),
                            name.c_str(), is_miss ? kCpuHz / 30 : kCpuHz / 2);
  event.has_unknown_rate = true;
  return event;
}

std::vector<EventType> all_cache_events() {
  std::vector<EventType> events;
  for (uint64_t cache = 0; cache < kCaches.size(); ++cache) {
    for (uint64_t operation = 0; operation < kOperations.size(); ++operation) {
      events.push_back(cache_event(cache, operation, false));
      events.push_back(cache_event(cache, operation, true));
    }
  }
  return events;
}

const std::vector<EventType>& cache_events() {
  static const std::vector<EventType> events = all_cache_events();
  return events;
}

// perf's other spellings of generic events (perf-list(1)).
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kSpellings{{
    {"cpu-cycles", "cycles"},
    {"branch-instructions", "branches"},
    {"cache-references", "llc-references"},
    {"cache-misses", "llc-misses"},
    {"idle-cycles-frontend", "stalled-cycles-frontend"},
    {"idle-cycles-backend", "stalled-cycles-backend"},
    {"faults", "page-faults"},
    {"cs", "context-switches"},
    {"migrations", "cpu-migrations"},
}};

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

const EventType* generic_or_cache(std::string_view name) {
  const auto spelt =
      std::ranges::find_if(kSpellings, [&](const auto& pair) { return same_letters(pair.first, name); });
  const std::string_view ours = spelt == kSpellings.end() ? name : spelt->second;
  const auto has_name = [&](const EventType& event) { return same_letters(event.name, ours); };
  if (const auto found = std::ranges::find_if(known_events(), has_name); found != known_events().end()) {
    return &*found;
  }
  const auto found = std::ranges::find_if(cache_events(), has_name);
  return found == cache_events().end() ? nullptr : &*found;
}

std::unexpected<Error> unknown_event(std::string_view name) {
  std::vector<std::string_view> names;
  for (const EventType& event : known_events()) {
    names.push_back(event.name);
  }
  const std::vector<std::string_view> generic_names = names;
  for (const EventType& event : cache_events()) {
    names.push_back(event.name);
  }
  std::ranges::copy(alias_names(), std::back_inserter(names));
  std::ranges::copy(kWaitEvents, std::back_inserter(names));
  const auto nearest = nearest_word(name, names);
  return with_hint(fail(ErrorCode::kInvalid, "no event is called \"{}\"", name),
                   nearest ? fmt::format("did you mean {}?", *nearest)
                           : fmt::format("known events: {}; cache events as perf spells them, PMU/TERMS/, "
                                         "SYSTEM:TRACEPOINT and rHEX",
                                         fmt::join(generic_names, ", ")));
}

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
}

}  // namespace

const EventCode* code_on(const EventType& event, int cpu) {
  const auto found = std::ranges::find_if(event.codes, [&](const EventCode& code) {
    return code.cpus.empty() || std::ranges::find(code.cpus, cpu) != code.cpus.end();
  });
  return found == event.codes.end() ? nullptr : &*found;
}

std::span<const EventType> known_events() {
  static const std::vector<EventType> events = generic_events();
  return events;
}

Result<EventType> find_event(std::string_view name) {
  const EventType* const found = generic_or_cache(name);
  return found != nullptr ? Result<EventType>(*found) : unknown_event(name);
}

std::string canonical_name(std::string_view name) {
  const EventType* const found = generic_or_cache(name);
  return found != nullptr ? found->name : std::string(name);
}

bool is_wait_event(std::string_view name) {
  return std::ranges::find(kWaitEvents, name) != kWaitEvents.end();
}

bool is_pmu_event(std::string_view name) {
  return name.find('/') != std::string_view::npos;
}

std::optional<uint64_t> raw_code(std::string_view name) {
  constexpr size_t kMaxDigits = 16;
  if (name.size() < 2 || name.size() > 1 + kMaxDigits || name[0] != 'r') {
    return std::nullopt;
  }
  uint64_t code = 0;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + 1, end, code, 16);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(code) : std::nullopt;
}

std::optional<TracepointName> tracepoint_name(std::string_view name) {
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos || !is_word(name.substr(0, colon)) ||
      !is_word(name.substr(colon + 1))) {
    return std::nullopt;
  }
  return TracepointName{name.substr(0, colon), name.substr(colon + 1)};
}

Result<EventTraits> describe_event(std::string_view name) {
  if (const EventType* const found = generic_or_cache(name)) {
    return *found;
  }
  if (is_wait_event(name)) {
    return EventTraits{
        .name = std::string(name), .unit = EventUnit::kNanoseconds, .nominal_per_second = kClockHz};
  }
  EventTraits traits{.name = std::string(name), .nominal_per_second = kCpuHz, .has_unknown_rate = true};
  if (is_pmu_event(name) || raw_code(name) || is_alias(name)) {
    return traits;
  }
  if (const auto tracepoint = tracepoint_name(name)) {
    if (generic_or_cache(tracepoint->system) != nullptr) {
      return with_hint(fail(ErrorCode::kInvalid, "{} is an event of its own, \"{}\" is no tracepoint of it",
                            tracepoint->system, tracepoint->event),
                       "a period is a number (NAME:PERIOD); modifiers are not supported");
    }
    traits.nominal_per_second = kMaxTracepoints;
    return traits;
  }
  return unknown_event(name);
}

Result<NameAndPeriod> split_period(std::string_view text) {
  const size_t colon = text.rfind(':');
  const bool in_terms = colon != std::string_view::npos && text.find('/', colon) != std::string_view::npos;
  if (colon == std::string_view::npos || in_terms) {
    return NameAndPeriod{std::string(text)};
  }
  const std::string_view digits = text.substr(colon + 1);
  const bool is_number =
      !digits.empty() && std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number && tracepoint_name(text)) {
    return NameAndPeriod{std::string(text)};
  }
  uint64_t period = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), period);
  if (!is_number || parsed.ec != std::errc() || period == 0) {
    return fail(ErrorCode::kInvalid, "\"{}\" is not NAME or NAME:PERIOD", text);
  }
  return NameAndPeriod{std::string(text.substr(0, colon)), period};
}

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  std::string name;
  bool in_terms = false;
  for (const char c : text) {
    in_terms = in_terms != (c == '/');
    if (c == ',' && !in_terms) {
      names.push_back(std::exchange(name, {}));
    } else {
      name += c;
    }
  }
  names.push_back(name);
  std::erase(names, "");
  return names;
}

}  // namespace plimsoll::perf
