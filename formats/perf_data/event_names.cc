#include "formats/perf_data/event_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include "base/printable.h"
#include "proto/profile_codec.h"

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
struct CacheOperation {
  std::string_view one, many;
};
constexpr std::array<CacheOperation, 3> kCacheOperations{
    {{"load", "loads"}, {"store", "stores"}, {"prefetch", "prefetches"}}};
// Machines with two kinds of cores have the kind's PMU above.
constexpr uint64_t kEventOfConfig = 0xffffffff;

// config: cache | operation << 8 | result << 16.
std::string cache_name(uint64_t config) {
  const uint64_t cache = config & 0xffU;
  const uint64_t operation = config >> 8U & 0xffU;
  if (cache >= kCaches.size() || operation >= kCacheOperations.size()) {
    return fmt::format("cache-event:{:#x}", config);
  }
  const bool is_miss = (config >> 16U & 0xffU) != 0;
  const CacheOperation& named = kCacheOperations[operation];
  return is_miss ? fmt::format("{}-{}-misses", kCaches[cache], named.one)
                 : fmt::format("{}-{}", kCaches[cache], named.many);
}

std::string plain_name(const perf_event_attr& attr) {
  const uint64_t event = attr.config & kEventOfConfig;
  switch (attr.type) {
    case PERF_TYPE_HARDWARE:
      return event < kHardware.size() ? std::string(kHardware[event]) : fmt::format("hardware:{:#x}", event);
    case PERF_TYPE_SOFTWARE:
      return attr.config < kSoftware.size() ? std::string(kSoftware[attr.config])
                                            : fmt::format("software:{:#x}", uint64_t{attr.config});
    case PERF_TYPE_TRACEPOINT:
      return fmt::format("tracepoint:{}", uint64_t{attr.config});
    case PERF_TYPE_HW_CACHE:
      return cache_name(event);
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

// Gives names out, each once.
class NamesInUse {
 public:
  std::string take(const std::string& name) {
    std::string copy = name;
    for (uint32_t& copies = copies_[name]; !taken_.insert(copy).second;) {
      copies = std::max(copies, 1U) + 1;
      copy = fmt::format("{}#{}", name, copies);
    }
    return copy;
  }

 private:
  // Those of branches are the importer's own.
  boost::unordered_flat_set<std::string> taken_{std::string(wire::kBranchRecords),
                                                std::string(wire::kBranchMispredictions),
                                                std::string(wire::kBranchRanges)};
  boost::unordered_flat_map<std::string, uint32_t> copies_;
};

// False where there are no such events, or another group has them.
bool claim_members(const RecordedGroup& group, std::vector<bool>& is_member) {
  const uint64_t end = uint64_t{group.leader} + group.members;
  if (group.members == 0 || end > is_member.size()) {
    return false;
  }
  const auto first = is_member.begin() + group.leader;
  const auto last = is_member.begin() + static_cast<ptrdiff_t>(end);
  if (std::find(first, last, true) != last) {
    return false;
  }
  std::fill(first, last, true);
  return true;
}

std::string text_of(const RecordedGroup& group, const Metadata& metadata) {
  constexpr size_t kMaxTextBytes = 1024;
  std::string text;
  for (uint32_t i = 0; i < group.members; ++i) {
    const std::string& name = metadata.events[group.leader + i].name;
    if (text.size() + name.size() > kMaxTextBytes) {
      return text + fmt::format(",…, and {} more}}", group.members - i);
    }
    text += (text.empty() ? "{" : ",") + name;
  }
  return text + "}";
}

}  // namespace

void name_events(Metadata& metadata) {
  constexpr size_t kMaxNameBytes = 256;
  NamesInUse names;
  for (size_t i = 0; i < metadata.events.size(); ++i) {
    RecordedEvent& event = metadata.events[i];
    const EventDescription* const description = description_of(metadata, i);
    if (event.name.empty()) {
      event.name = description != nullptr && !description->name.empty() ? description->name
                                                                        : derived_name(event.attr, metadata);
    }
    event.name = names.take(printable(event.name.substr(0, kMaxNameBytes)));
  }
}

std::vector<std::string> group_notes(const Metadata& metadata) {
  constexpr size_t kMaxNotes = 32;
  std::vector<std::string> notes;
  std::vector<bool> is_member(metadata.events.size());
  size_t left_out = 0;
  for (const RecordedGroup& group : metadata.groups) {
    if (notes.size() == kMaxNotes - 1 || !claim_members(group, is_member)) {
      ++left_out;
      continue;
    }
    notes.push_back("counted together: " + text_of(group, metadata));
  }
  if (left_out > 0) {
    notes.push_back(fmt::format("{} more groups of events are not shown", left_out));
  }
  return notes;
}

wire::Unit unit_of(const perf_event_attr& attr) {
  const bool is_clock = attr.type == PERF_TYPE_SOFTWARE &&
                        (attr.config == PERF_COUNT_SW_CPU_CLOCK || attr.config == PERF_COUNT_SW_TASK_CLOCK);
  return is_clock ? wire::NANOSECONDS : wire::COUNT;
}

}  // namespace plimsoll::perf_data
