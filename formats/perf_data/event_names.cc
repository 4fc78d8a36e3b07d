#include "formats/perf_data/event_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/printable.h"

namespace plimsoll::perf_data {
namespace {

constexpr std::array<std::string_view, 10> kHardware{
    "cycles",        "instructions", "cache-references",        "cache-misses",           "branches",
    "branch-misses", "bus-cycles",   "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"};
constexpr std::array<std::string_view, 12> kSoftware{
    "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
    "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
    "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};
constexpr std::array<std::string_view, 7> kCaches{"L1-dcache", "L1-icache", "LLC", "dTLB",
                                                  "iTLB",      "branch",    "node"};
constexpr std::array<std::string_view, 3> kCacheOperations{"load", "store", "prefetch"};

// config: cache | operation << 8 | result << 16.
std::string cache_name(uint64_t config) {
  const uint64_t cache = config & 0xffU;
  const uint64_t operation = config >> 8U & 0xffU;
  if (cache >= kCaches.size() || operation >= kCacheOperations.size()) {
    return fmt::format("cache-event:{:#x}", config);
  }
  const bool is_miss = (config >> 16U & 0xffU) != 0;
  return fmt::format("{}-{}{}", kCaches[cache], kCacheOperations[operation], is_miss ? "-misses" : "s");
}

std::string plain_name(const perf_event_attr& attr) {
  switch (attr.type) {
    case PERF_TYPE_HARDWARE:
      return attr.config < kHardware.size() ? std::string(kHardware[attr.config])
                                            : fmt::format("hardware:{:#x}", uint64_t{attr.config});
    case PERF_TYPE_SOFTWARE:
      return attr.config < kSoftware.size() ? std::string(kSoftware[attr.config])
                                            : fmt::format("software:{:#x}", uint64_t{attr.config});
    case PERF_TYPE_TRACEPOINT:
      return fmt::format("tracepoint:{}", uint64_t{attr.config});
    case PERF_TYPE_HW_CACHE:
      return cache_name(attr.config);
    case PERF_TYPE_RAW:
      return fmt::format("r{:x}", uint64_t{attr.config});
    default:
      return fmt::format("type-{}/{:#x}", attr.type, uint64_t{attr.config});
  }
}

std::string modifiers(const perf_event_attr& attr) {
  std::string letters;
  if (attr.exclude_user || attr.exclude_kernel || attr.exclude_hv) {
    letters += attr.exclude_kernel ? "" : "k";
    letters += attr.exclude_user ? "" : "u";
    letters += attr.exclude_hv ? "" : "h";
  }
  letters.append(attr.precise_ip, 'p');
  return letters.empty() ? letters : ":" + letters;
}

// Hardware and software events have small numbers, and one number names several: the list is of no use for them.
bool is_listed_by_number(const perf_event_attr& attr) {
  return attr.type == PERF_TYPE_TRACEPOINT || attr.type == PERF_TYPE_RAW || attr.type > PERF_TYPE_BREAKPOINT;
}

std::string derived_name(const perf_event_attr& attr, const Metadata& metadata) {
  if (is_listed_by_number(attr)) {
    const auto listed = std::ranges::find_if(metadata.event_types,
                                             [&](const auto& entry) { return entry.first == attr.config; });
    if (listed != metadata.event_types.end()) {
      return listed->second;
    }
  }
  return plain_name(attr) + modifiers(attr);
}

const EventDescription* description_of(const Metadata& metadata, size_t index) {
  if (metadata.descriptions.size() == metadata.events.size()) {
    return &metadata.descriptions[index];
  }
  const auto& ids = metadata.events[index].ids;
  const auto found = std::ranges::find_if(metadata.descriptions, [&](const EventDescription& description) {
    return !ids.empty() && !description.ids.empty() && description.ids.front() == ids.front();
  });
  return found == metadata.descriptions.end() ? nullptr : &*found;
}

bool is_taken(const Metadata& metadata, size_t before, std::string_view name) {
  return std::any_of(metadata.events.begin(), metadata.events.begin() + static_cast<ptrdiff_t>(before),
                     [&](const RecordedEvent& event) { return event.name == name; });
}

}  // namespace

void name_events(Metadata& metadata) {
  constexpr size_t kMaxNameBytes = 256;
  for (size_t i = 0; i < metadata.events.size(); ++i) {
    RecordedEvent& event = metadata.events[i];
    const EventDescription* const description = description_of(metadata, i);
    if (event.name.empty()) {
      event.name = description != nullptr && !description->name.empty() ? description->name
                                                                        : derived_name(event.attr, metadata);
    }
    const std::string name = printable(event.name.substr(0, kMaxNameBytes));
    event.name = name;
    for (int copy = 2; is_taken(metadata, i, event.name); ++copy) {
      event.name = fmt::format("{}#{}", name, copy);
    }
  }
}

std::string text_of(const RecordedGroup& group, const Metadata& metadata) {
  std::string text;
  const uint64_t end = std::min<uint64_t>(uint64_t{group.leader} + group.members, metadata.events.size());
  for (uint64_t event = group.leader; event < end; ++event) {
    text += (text.empty() ? "{" : ",") + metadata.events[static_cast<size_t>(event)].name;
  }
  return text + "}";
}

wire::Unit unit_of(const perf_event_attr& attr) {
  const bool is_clock = attr.type == PERF_TYPE_SOFTWARE &&
                        (attr.config == PERF_COUNT_SW_CPU_CLOCK || attr.config == PERF_COUNT_SW_TASK_CLOCK);
  return is_clock ? wire::NANOSECONDS : wire::COUNT;
}

}  // namespace plimsoll::perf_data
